"""multimem.store, load_reduce and reduce through a mapped object: every type and operation, and every refusal."""

import ml_dtypes
import numpy as np
import pytest
from builders import STEP, accepted, ask, mapped, memory, piece, read, reserve, team, use, write
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = [np.dtype(t) for t in ("f4", "f8", "f2", "u4", "i4", "u8", "i8")] + [BF16]
FLOATS = ("float32", "float64", "float16", "bfloat16")
COUNT = 1000  # elements, not a multiple of any vector


def legal(dtype: np.dtype) -> tuple[str, ...]:
    """Answer the operations that PTX has for a type: no order of f32 and f64, bits of integers only, no add of s64."""
    if dtype.name in ("float32", "float64"):
        return ("add",)
    if dtype.name in FLOATS:
        return ("add", "min", "max")
    return (() if dtype == np.int64 else ("add",)) + ("min", "max", "and", "or", "xor")


OPERATIONS = ("add", "min", "max", "and", "or", "xor")
PAIRS = [(dtype, op) for dtype in TYPES for op in OPERATIONS]
LEGAL = [(dtype, op) for dtype, op in PAIRS if op in legal(dtype)]
ILLEGAL = [(dtype, op) for dtype, op in PAIRS if op not in legal(dtype)]
NUMPY = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
names = dict(ids=lambda value: getattr(value, "name", str(value)))


def combined(op: str, parts: list[np.ndarray]) -> np.ndarray:
    """Combine arrays in order; two-byte floats in f32, rounded once."""
    dtype = parts[0].dtype
    if dtype in (np.float16, BF16):
        parts = [part.astype(np.float32) for part in parts]
    total = parts[0]
    for part in parts[1:]:
        total = NUMPY[op](total, part)
    return total.astype(dtype)


def numbers(dtype: np.dtype, count: int = COUNT, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype.name in FLOATS:
        return random.standard_normal(count).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, count, dtype, endpoint=True)


class Team:
    """Four devices with memory under one multicast address."""

    def __init__(self, size: int = STEP) -> None:
        self.mc = team(4, size)
        self.pieces = [piece(dev, size) for dev in range(4)]
        for one in self.pieces:
            driver.multicast_bind_mem(self.mc, 0, one.handle, 0, size, 0)
        self.ptr = mapped(self.mc, size, range(4))

    def fill(self, dtype: np.dtype, at: int = 0) -> list[np.ndarray]:
        """Give every replica its own numbers, by an ordinary copy, and answer them."""
        parts = [numbers(dtype, seed=dev) for dev in range(4)]
        for one, part in zip(self.pieces, parts, strict=True):
            use(one.dev)
            write(one.ptr + at, part)
        return parts

    def replicas(self, dtype: np.dtype, count: int = COUNT, at: int = 0) -> list[np.ndarray]:
        """Read every replica by an ordinary copy."""
        found = []
        for one in self.pieces:
            use(one.dev)
            found.append(read(one.ptr + at, count * dtype.itemsize).view(dtype))
        return found


@pytest.fixture
def four(start) -> Team:
    start(devices=4, profile="strict")
    return Team()


# ---- what it does


@pytest.mark.parametrize("dtype", TYPES, **names)
def test_a_store_reaches_every_replica(four: Team, dtype: np.dtype) -> None:
    data = numbers(dtype)
    multimem.store(four.ptr + 64, data)
    assert all((replica == data).all() for replica in four.replicas(dtype, at=64))


@pytest.mark.parametrize(("dtype", "op"), LEGAL, **names)
def test_a_load_combines_all_replicas(four: Team, dtype: np.dtype, op: str) -> None:
    parts = four.fill(dtype, at=256)
    found = multimem.load_reduce(four.ptr + 256, COUNT, dtype, op)
    assert found.dtype == dtype
    assert found.tobytes() == combined(op, parts).tobytes()


@pytest.mark.parametrize(("dtype", "op"), LEGAL, **names)
def test_a_reduction_reaches_every_replica(four: Team, dtype: np.dtype, op: str) -> None:
    parts, mine = four.fill(dtype), numbers(dtype, seed=9)
    multimem.reduce(four.ptr, mine, op)
    for replica, part in zip(four.replicas(dtype), parts, strict=True):
        assert replica.tobytes() == combined(op, [part, mine]).tobytes()


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_a_store_takes_arrays_of_any_layout(four: Team, itemsize: int) -> None:
    table = np.arange(40 * 30, dtype=f"u{itemsize}").reshape(40, 30)
    for array in (table.T, table[::2, ::-3], table[5], np.asfortranarray(table)):
        multimem.store(four.ptr, array)
        for replica in four.replicas(table.dtype, array.size):
            assert (replica.reshape(array.shape) == array).all()


def test_a_reduction_takes_arrays_of_any_layout(four: Team) -> None:
    table = np.arange(12, dtype=np.uint32).reshape(3, 4)
    multimem.reduce(four.ptr, table.T)
    assert all((replica == table.T.ravel()).all() for replica in four.replicas(table.dtype, 12))


@pytest.mark.parametrize("shape", [(), 6, (2, 3), [1, 2, 3]])
def test_a_load_has_the_shape_that_was_asked_for(four: Team, shape) -> None:
    multimem.store(four.ptr, np.arange(6, dtype=np.float32))
    found = multimem.load_reduce(four.ptr, shape)
    assert found.shape == np.empty(shape).shape
    assert (found.ravel() == 4 * np.arange(found.size)).all()


def test_nothing_is_stored_and_loaded_without_looking(four: Team) -> None:
    multimem.store(four.ptr, np.empty(0))
    multimem.reduce(four.ptr, np.empty((3, 0), np.float32))
    assert multimem.load_reduce(four.ptr, (0, 5)).shape == (0, 5)


def test_the_ends_of_the_range_and_nothing_else(four: Team) -> None:
    multimem.store(four.ptr + STEP - 4, np.full(1, 7, np.uint32))
    multimem.store(four.ptr, np.full(1, 5, np.uint32))
    for replica in four.replicas(np.dtype(np.uint32), STEP // 4):
        assert (replica[[0, -1]] == [5, 7]).all()
        assert not replica[1:-1].any()


def test_several_pieces_of_a_device_are_one_range(start) -> None:
    start(devices=2, profile="strict")
    mc, whole, parts = team(2, 4 * STEP), piece(0, 4 * STEP), [piece(1, STEP) for _ in range(4)]
    driver.multicast_bind_mem(mc, 0, whole.handle, 0, 4 * STEP, 0)
    for k in (2, 0, 3, 1):
        driver.multicast_bind_mem(mc, k * STEP, parts[k].handle, 0, STEP, 0)
    ptr, data = mapped(mc, 4 * STEP, [0, 1]), numbers(np.dtype(np.uint64), STEP // 4)
    multimem.store(ptr + STEP, data)  # over two borders of device 1, 2 MiB in all
    use(0)
    assert (read(whole.ptr + STEP, data.size, np.uint64) == data).all()
    use(1)
    half = data.size // 2
    assert (read(parts[1].ptr, half, np.uint64) == data[:half]).all()
    assert (read(parts[2].ptr, half, np.uint64) == data[half:]).all()
    assert (multimem.load_reduce(ptr + STEP, data.size, np.uint64) == data + data).all()


# ---- what it refuses


@pytest.mark.parametrize(("dtype", "op"), ILLEGAL, **names)
def test_operations_that_a_type_lacks(four: Team, dtype: np.dtype, op: str) -> None:
    pattern = rf"of {dtype.name} has no '{op}'; it has {', '.join(legal(dtype))}$"
    with pytest.raises(ValueError, match="ld_reduce " + pattern):
        multimem.load_reduce(four.ptr, 4, dtype, op)
    with pytest.raises(ValueError, match="red " + pattern):
        multimem.reduce(four.ptr, np.zeros(4, dtype), op)


def test_operations_that_do_not_exist(four: Team) -> None:
    with pytest.raises(ValueError, match="has no 'sum'; it has add"):
        multimem.load_reduce(four.ptr, 4, "float32", "sum")


@pytest.mark.parametrize("dtype", ["i1", "u2", "c8", "?", ml_dtypes.float8_e4m3fn])
def test_types_that_do_not_exist(four: Team, dtype) -> None:
    name = np.dtype(dtype).name
    with pytest.raises(ValueError, match=f"multimem has no type {name}; it has float32, float64, float16, bfloat16"):
        multimem.load_reduce(four.ptr, 4, dtype)
    with pytest.raises(ValueError, match=f"multimem has no type {name}"):
        multimem.reduce(four.ptr, np.zeros(4, dtype))


@pytest.mark.parametrize("dtype", TYPES, **names)
def test_addresses_off_the_alignment_of_the_type(four: Team, dtype: np.dtype) -> None:
    below, above = four.ptr, four.ptr + dtype.itemsize
    pattern = rf"not aligned to {dtype.itemsize} bytes \({dtype.name}\); nearest {below:#x} or {above:#x}$"
    op = legal(dtype)[0]
    with pytest.raises(ValueError, match=pattern):
        multimem.load_reduce(four.ptr + 1, 4, dtype, op)
    with pytest.raises(ValueError, match=pattern):
        multimem.reduce(four.ptr + dtype.itemsize - 1, np.zeros(4, dtype), op)
    multimem.reduce(four.ptr + dtype.itemsize, np.zeros(4, dtype), op)


def test_ranges_beyond_the_mapping(four: Team) -> None:
    for use_it in (
        lambda: multimem.store(four.ptr + STEP - 8, np.zeros(3, np.float32)),
        lambda: multimem.load_reduce(four.ptr + STEP - 8, 3),
        lambda: multimem.reduce(four.ptr + STEP - 8, np.zeros(3, np.float32)),
    ):
        with pytest.raises(
            ValueError, match=r"12 bytes at 0x[0-9a-f]+ end beyond the mapping; at most 8 lie from there"
        ):
            use_it()
    multimem.store(four.ptr + STEP - 8, np.zeros(2, np.float32))


def test_addresses_that_are_no_multicast_addresses(four: Team) -> None:
    kinds = [
        (four.pieces[0].ptr, "ordinary memory"),
        (reserve(), "nothing mapped"),
        (0, "nothing mapped"),
        (64, "nothing"),
    ]
    for ptr, what in kinds:
        with pytest.raises(ValueError, match=f"is {what}.*multimem works on a mapped multicast object only"):
            multimem.store(ptr, np.zeros(4))
    with pytest.raises(ValueError, match="nothing mapped"):
        multimem.load_reduce(four.ptr + STEP, 4)


@pytest.mark.parametrize("start_at", [0, STEP // 2, STEP])
def test_ranges_that_a_device_has_not_bound(start, start_at: int) -> None:
    start(devices=2, profile="strict")
    mc = team(2, 4 * STEP)
    driver.multicast_bind_mem(mc, 0, memory(0, 4 * STEP), 0, 4 * STEP, 0)
    driver.multicast_bind_mem(mc, 0, memory(1), 0, STEP, 0)
    driver.multicast_bind_mem(mc, 3 * STEP, memory(1), 0, STEP, 0)
    ptr = mapped(mc, 4 * STEP, [0, 1])
    pattern = rf"MC532 multimem: 0x[0-9a-f]+: device 1 has nothing bound at bytes \[{STEP}, {3 * STEP}\) of the object"
    for use_it in (
        lambda: multimem.store(ptr + start_at, np.zeros(4 * STEP - start_at, np.uint8)),
        lambda: multimem.load_reduce(ptr + start_at, (4 * STEP - start_at) // 4),
        lambda: multimem.reduce(ptr + start_at, np.zeros((4 * STEP - start_at) // 4, np.float32)),
    ):
        with pytest.raises(ValueError, match=pattern):
            use_it()
    multimem.store(ptr, np.zeros(STEP, np.uint8))
    multimem.store(ptr + 3 * STEP, np.zeros(STEP, np.uint8))


def test_a_store_that_is_refused_writes_nothing(start) -> None:
    start(devices=2, profile="strict")
    mc, first = team(2, 2 * STEP), piece(0, 2 * STEP)
    driver.multicast_bind_mem(mc, 0, first.handle, 0, 2 * STEP, 0)
    driver.multicast_bind_mem(mc, 0, memory(1), 0, STEP, 0)
    ptr = mapped(mc, 2 * STEP, [0, 1])
    with pytest.raises(ValueError, match="MC532"):
        multimem.store(ptr, np.ones(2 * STEP, np.uint8))
    use(0)
    assert not read(first.ptr, 2 * STEP).any()


def test_without_a_machine_or_before_init() -> None:
    with pytest.raises(RuntimeError, match="no simulated machine runs in this process"):
        multimem.store(STEP, np.zeros(4))
    sim.start(devices=2)
    try:
        with pytest.raises(RuntimeError, match="cuInit has not been called"):
            multimem.store(STEP, np.zeros(4))
    finally:
        sim.stop()


# ---- ordinary access


@pytest.mark.usefixtures("either")
def test_copies_and_memsets_do_not_touch_a_multicast_address() -> None:
    use(0)
    mc, mem = team(1), piece()
    driver.multicast_bind_mem(mc, 0, mem.handle, 0, STEP, 0)
    ptr, host = mapped(mc), np.zeros(64, np.uint8)
    stream = 0
    calls = [
        (driver.memcpy_htod_v2, ptr, host.ctypes.data, 64),
        (driver.memcpy_dtoh_v2, host.ctypes.data, ptr, 64),
        (driver.memcpy_dtod_v2, ptr, mem.ptr, 64),
        (driver.memcpy_dtod_v2, mem.ptr, ptr, 64),
        (driver.memcpy, ptr, mem.ptr, 64),
        (driver.memcpy_htod_async_v2, ptr, host.ctypes.data, 64, stream),
        (driver.memset_d8_v2, ptr, 1, 64),
        (driver.memset_d32_v2, ptr, 1, 16),
        (driver.memset_d8_async, ptr, 1, 64, stream),
    ]
    for call, *args in calls:
        answer = ask(call, *args)
        assert (answer.status, answer.refused, answer.found) == (1, ("MC531",), ("MC531",)), call.__name__
    assert accepted(driver.memset_d8_v2, mem.ptr, 1, 64) == ""
    assert (multimem.load_reduce(ptr, 16, np.uint32) == 0x01010101).all()
