"""store and reduce: every replica gets everything, nothing else is touched, and no contribution is lost."""

import errno
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import shared_memory

import numpy as np
import pytest
from multimem_model import NUMPY, bits, combine, edge_rows, random_rows
from replica_rows import Replicas

from cumulticast.sim import native

PAIRS = [(name, op) for name, element in native.DTYPES.items() for op in element.reduce]
STREAMED = 4 << 20  # bytes in all from which store goes past the cache


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 4097, 65_535, 65_537, STREAMED + 13])
def test_store_reaches_every_replica_and_nothing_else(n, nbytes):
    source = np.random.default_rng(nbytes).integers(0, 256, nbytes, dtype=np.uint8)
    for start in (0, 1, 17):
        replicas = Replicas(np.zeros((n, nbytes), dtype=np.uint8), start)
        native.store(replicas.base, replicas.stride, n, source.ctypes.data, nbytes)
        assert all(np.array_equal(row, source) for row in replicas.rows)
        assert replicas.guards_intact()


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize(("dtype", "op"), PAIRS)
def test_reduce_changes_every_replica_as_the_model_does(dtype, op, n):
    rows = random_rows(dtype, n + 1, count=8209, seed=n)
    check_reduce(rows, dtype, op)


@pytest.mark.parametrize(("dtype", "op"), PAIRS)
def test_reduce_of_edge_values(dtype, op):
    check_reduce(edge_rows(dtype, 2), dtype, op)


def check_reduce(rows, dtype, op):
    """The first row is the operand; it lies at an odd address, as a numpy array may."""
    replicas = Replicas(rows[1:], start=1)
    operand = np.zeros(rows[0].nbytes + 1, dtype=np.uint8)
    operand[1:] = rows[0].view(np.uint8)
    native.reduce(replicas.base, replicas.stride, replicas.n, operand.ctypes.data + 1, replicas.count, dtype, op)
    for before, after in zip(rows[1:], replicas.rows, strict=True):
        expected = combine(np.stack([before, rows[0]]), dtype, op)
        if dtype == "f64":
            assert np.array_equal(after, expected, equal_nan=True)
        else:
            assert np.array_equal(bits(after), bits(expected))
    assert replicas.guards_intact()


@pytest.mark.parametrize("dtype", native.DTYPES)
@pytest.mark.parametrize("op", native.OPERATIONS)
def test_illegal_pairs_name_the_legal_ones(dtype, op):
    replicas = Replicas(np.ones((2, 4), dtype=NUMPY[dtype]))
    operand = np.ones(4, dtype=NUMPY[dtype])
    arguments = (replicas.base, replicas.stride, 2, operand.ctypes.data, 4, dtype, op)
    legal = native.DTYPES[dtype].reduce
    if op in legal:
        native.reduce(*arguments)
    else:
        with pytest.raises(ValueError, match=", ".join(legal)):
            native.reduce(*arguments)
        assert (replicas.rows[0] == 1).all()


@pytest.mark.parametrize("wrong", ["base", "stride", "n"])
def test_misalignment_is_refused(wrong):
    replicas = Replicas(np.ones((2, 16), dtype=np.float32))
    operand = np.ones(16, dtype=np.float32)
    values = {"base": replicas.base, "stride": replicas.stride, "n": 2}
    native.reduce(**values, src=operand.ctypes.data, count=16, dtype="f32", op="add")
    values[wrong] = 0 if wrong == "n" else values[wrong] + 2
    with pytest.raises(OSError) as refusal:
        native.reduce(**values, src=operand.ctypes.data, count=16, dtype="f32", op="add")
    assert refusal.value.errno == errno.EINVAL
    assert (replicas.rows[1] == 2).all()


THREADS = 8


def in_threads(work):
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, t) for t in range(THREADS)]:
            done.result(timeout=50)


def contend(dtype, op, initial, operands, times):
    """Every thread applies its own operand to one and the same element, many times in one call.

    With a stride of 0 all replicas are that element, so the threads meet in C, where no GIL keeps them apart.
    """
    element = np.array([initial, initial], dtype=NUMPY[dtype])
    rows = [np.array([value], dtype=NUMPY[dtype]) for value in operands]
    start = threading.Barrier(THREADS)

    def work(thread):
        start.wait(timeout=50)
        native.reduce(element.ctypes.data, 0, times, rows[thread].ctypes.data, 1, dtype, op)

    in_threads(work)
    assert element[1] == NUMPY[dtype].type(initial), "the neighbour must not change"
    return element[0]


@pytest.mark.parametrize("dtype", [d for d, element in native.DTYPES.items() if "add" in element.reduce])
def test_no_sum_loses_a_contribution(dtype):
    """Sums that the type holds exactly: f16 counts to 2048 and bf16 to 256, hence the rounds."""
    times, rounds = {"bf16": (32, 200), "f16": (256, 50)}.get(dtype, (200_000, 1))
    for _ in range(rounds):
        assert contend(dtype, "add", 0, [1] * THREADS, times) == THREADS * times


def test_neighbours_in_a_word_do_not_disturb_each_other():
    """Two 16-bit elements of one 32-bit word, each added to by its own threads."""
    pair = np.zeros(2, dtype=np.float16)
    one = np.ones(1, dtype=np.float16)

    def work(thread):
        native.reduce(pair.ctypes.data + thread % 2 * 2, 0, 500, one.ctypes.data, 1, "f16", "add")

    in_threads(work)
    assert pair.tolist() == [2000, 2000]


@pytest.mark.parametrize("dtype", ["u32", "s32", "u64", "s64"])
def test_no_bit_is_lost(dtype):
    values = [1 << (3 * t) for t in range(THREADS)]
    assert contend(dtype, "or", 0, values, 1000) == sum(values)
    assert contend(dtype, "xor", 0, values, 100_001) == sum(values)
    assert contend(dtype, "and", 0xFFFFFF, [0xFFFFFF - v for v in values], 1000) == 0xFFFFFF - sum(values)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "u32", "s32", "u64", "s64"])
def test_the_extreme_wins(dtype):
    values = list(range(10, 10 + THREADS))
    for _ in range(20):
        assert contend(dtype, "max", 0, values, 500) == values[-1]
        assert contend(dtype, "min", 100, values, 500) == values[0]


def test_no_contribution_is_lost_between_processes():
    script = textwrap.dedent("""
        import sys
        from multiprocessing import shared_memory
        import numpy as np
        from cumulticast.sim import native
        memory = shared_memory.SharedMemory(sys.argv[1], track=False) if sys.version_info >= (3, 13) else None
        if memory is None:
            from multiprocessing import resource_tracker
            memory = shared_memory.SharedMemory(sys.argv[1])
            resource_tracker.unregister(memory._name, "shared_memory")
        total, one = np.ndarray(2, np.float32, memory.buf), np.ones(1, np.float32)
        native.reduce(total.ctypes.data, 0, 2_000_000, one.ctypes.data, 1, "f32", "add")
        del total
        memory.close()
    """)
    memory = shared_memory.SharedMemory(create=True, size=4096)
    try:
        ranks = [subprocess.Popen([sys.executable, "-c", script, memory.name]) for _ in range(3)]
        assert [rank.wait(timeout=50) for rank in ranks] == [0, 0, 0]
        assert np.ndarray(2, np.float32, memory.buf).tolist() == [6_000_000, 0]
    finally:
        memory.close()
        memory.unlink()
