"""load_reduce against an independent model: every type and operation, edges, counts, all 16-bit values."""

import errno
import platform

import numpy as np
import pytest
from multimem_model import NUMPY, bits, canonical, combine, edge_rows, random_rows
from replica_rows import Replicas

from cumulticast.sim import native

PAIRS = [(name, op) for name, element in native.DTYPES.items() for op in element.load_reduce]
INSTRUCTION_SETS = ["baseline", "avx2", "avx512"] if platform.machine() == "x86_64" else ["baseline"]


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    """Use one instruction set, where this CPU has it, and the widest again afterwards."""
    widest, wanted = INSTRUCTION_SETS.index(native.kernels()), INSTRUCTION_SETS.index(request.param)
    if wanted > widest:
        with pytest.raises(OSError, match="this CPU lacks"):
            native.use_kernels(wanted)
        pytest.skip(f"this CPU lacks {request.param}")
    assert native.use_kernels(wanted)
    assert native.kernels() == request.param
    yield
    native.use_kernels(widest)


def load_reduce(rows, dtype, op, start=0, pages=1):
    replicas = Replicas(rows, start, pages)
    result = np.zeros(replicas.count + 2, dtype=NUMPY[dtype])
    bits(result)[[0, -1]] = 0x1234
    dst = result.ctypes.data + result.itemsize
    native.load_reduce(dst, replicas.base, replicas.stride, replicas.n, replicas.count, dtype, op)
    assert bits(result)[[0, -1]].tolist() == [0x1234, 0x1234]
    return result[1:-1]


def assert_same(got, expected, dtype):
    if dtype == "f64":  # any NaN will do
        assert np.array_equal(np.isnan(got), np.isnan(expected))
        got, expected = got[~np.isnan(got)], expected[~np.isnan(expected)]
    different = np.flatnonzero(bits(got) != bits(expected))
    assert different.size == 0, [(int(i), got[i], expected[i]) for i in different[:5]]


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize(("dtype", "op"), PAIRS)
def test_agrees_with_the_model(dtype, op, n):
    rows = random_rows(dtype, n, count=1031 + n, seed=n)
    assert_same(load_reduce(rows, dtype, op, start=n % 3, pages=2 * n - 1), combine(rows, dtype, op), dtype)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize(("dtype", "op"), PAIRS)
def test_edge_values(dtype, op, n):
    rows = edge_rows(dtype, n)
    assert_same(load_reduce(rows, dtype, op), combine(rows, dtype, op), dtype)


@pytest.mark.parametrize(("dtype", "op"), [(d, o) for d, o in PAIRS if d in ("f32", "bf16", "f16", "s64")])
def test_many_blocks_with_an_odd_end(dtype, op):
    rows = random_rows(dtype, 5, count=1)
    rows = np.repeat(rows, 100_003, axis=1)
    rows[:, 77_777:] = random_rows(dtype, 5, count=100_003 - 77_777)
    if op == "add":
        assert_same(load_reduce(rows, dtype, op), combine(rows, dtype, op), dtype)
    else:
        got = load_reduce(rows, dtype, op)
        assert_same(got[77_000:78_500], combine(rows[:, 77_000:78_500], dtype, op), dtype)
        assert_same(got[-3:], combine(rows[:, -3:], dtype, op), dtype)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 15, 16, 17, 31, 33, 63, 65])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "u64"])
def test_short_counts(dtype, count):
    rows = random_rows(dtype, 8, count=max(count, 1))[:, :count]
    assert_same(load_reduce(rows, dtype, "add", start=1), combine(rows, dtype, "add"), dtype)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_all_16_bit_values_widen_and_narrow_exactly(dtype):
    every = np.arange(1 << 16, dtype=np.uint16).view(NUMPY[dtype])[None, :]
    assert_same(load_reduce(every, dtype, "add"), canonical(every[0], dtype), dtype)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_all_16_bit_values_round_to_nearest_even(dtype):
    """Value plus a fraction of about its last place: below, on and above each tie."""
    every = np.arange(1 << 16, dtype=np.uint16).view(NUMPY[dtype])
    with np.errstate(all="ignore"):
        place = every.astype(np.float32) * (2.0**-10 if dtype == "f16" else 2.0**-7)
        for fraction in (0.25, 0.5, 0.75):
            other = (place * fraction).astype(every.dtype)
            rows = np.stack([every, other])
            assert_same(load_reduce(rows, dtype, "add"), combine(rows, dtype, "add"), dtype)


def test_half_sums_round_once():
    """2048 + 1 + 1 in f16: 2050 by one rounding, 2048 if each step were rounded."""
    rows = np.array([[2048], [1], [1]], dtype=np.float16)
    assert load_reduce(rows, "f16", "add")[0] == 2050


def test_f32_adds_in_ascending_order():
    """In the other order, or in a wider type, the small one would survive."""
    rows = np.array([[1.0], [1e20], [-1e20], [1.0]], dtype=np.float32)
    assert load_reduce(rows, "f32", "add")[0] == 1.0
    assert load_reduce(rows[::-1].copy(), "f32", "add")[0] == 1.0
    assert load_reduce(rows[[1, 2, 0, 3]], "f32", "add")[0] == 2.0


def test_the_result_may_be_a_replica():
    rows = random_rows("u32", 8, count=50_001)
    replicas = Replicas(rows)
    dst = replicas.rows[3]
    native.load_reduce(dst.ctypes.data, replicas.base, replicas.stride, 8, 50_001, "u32", "add")
    assert np.array_equal(dst, rows.sum(axis=0, dtype=np.uint32))
    assert np.array_equal(replicas.rows[4], rows[4])


@pytest.mark.parametrize("dtype", native.DTYPES)
@pytest.mark.parametrize("op", native.OPERATIONS)
def test_illegal_pairs_name_the_legal_ones(dtype, op):
    legal = native.DTYPES[dtype].load_reduce
    rows = np.ones((2, 3), dtype=NUMPY[dtype])
    if op in legal:
        load_reduce(rows, dtype, op)
    else:
        with pytest.raises(ValueError, match=", ".join(legal)):
            load_reduce(rows, dtype, op)


def test_there_is_no_instruction_set_beyond_the_last():
    assert not native.use_kernels(len(INSTRUCTION_SETS))
    assert native.kernels() in INSTRUCTION_SETS


def test_unknown_type():
    with pytest.raises(ValueError, match="its types are f32, f64"):
        native.load_reduce(0, 0, 0, 1, 0, "f8", "add")


@pytest.mark.parametrize("wrong", ["dst", "base", "stride", "n"])
def test_misalignment_is_refused(wrong):
    replicas = Replicas(np.ones((2, 16), dtype=np.float32))
    result = np.zeros(17, dtype=np.float32)
    values = {"dst": result.ctypes.data, "base": replicas.base, "stride": replicas.stride, "n": 2}
    native.load_reduce(**values, count=16, dtype="f32", op="add")
    values[wrong] = 0 if wrong == "n" else values[wrong] + 2
    with pytest.raises(OSError) as refusal:
        native.load_reduce(**values, count=16, dtype="f32", op="add")
    assert refusal.value.errno == errno.EINVAL


def test_a_single_replica_needs_no_stride():
    row = np.arange(5, dtype=np.float32)
    result = np.zeros(5, dtype=np.float32)
    native.load_reduce(result.ctypes.data, row.ctypes.data, 1, 1, 5, "f32", "add")
    assert np.array_equal(result, row)


def test_the_table_follows_ptx():
    """Rules X9 to X14, written out."""
    bits_too = {"add", "min", "max", "and", "or", "xor"}
    expected = {
        "f32": {"add"},
        "f64": {"add"},
        "f16": {"add", "min", "max"},
        "bf16": {"add", "min", "max"},
        "u32": bits_too,
        "s32": bits_too,
        "u64": bits_too,
        "s64": bits_too - {"add"},
    }
    assert {name: set(element.load_reduce) for name, element in native.DTYPES.items()} == expected
    assert {name: set(element.reduce) for name, element in native.DTYPES.items()} == expected
    sizes = {name: kind.itemsize for name, kind in NUMPY.items()}
    assert {name: element.size for name, element in native.DTYPES.items()} == sizes
