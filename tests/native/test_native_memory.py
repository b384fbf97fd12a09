"""The memory primitives: real mappings, real protection, probes that neither fault nor change anything."""

import ctypes
import errno
import mmap
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

from cumulticast.sim import native

PAGE = mmap.PAGESIZE
MIB = 1 << 20
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE


def errno_of(call, *arguments):
    with pytest.raises(OSError) as refusal:
        call(*arguments)
    return refusal.value.errno


def mappings():
    """The lines of /proc/self/maps as (start, end, permissions)."""
    with open("/proc/self/maps") as maps:
        fields = [line.split() for line in maps]
    return [(int(f[0].split("-")[0], 16), int(f[0].split("-")[1], 16), f[1]) for f in fields]


def reservations():
    return {(start, end) for start, end, access in mappings() if access == "---p"}


def permissions(address):
    return next((p for start, end, p in mappings() if start <= address < end), None)


@pytest.fixture
def file():
    """A sparse file of 16 pages on tmpfs, as a physical allocation is."""
    directory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryFile(dir=directory) as sparse:
        os.ftruncate(sparse.fileno(), 16 * PAGE)
        yield sparse.fileno()


@pytest.fixture
def reservation():
    address = native.map_none(0, 64 * PAGE)
    yield address
    native.unmap(address, 64 * PAGE)


@pytest.mark.parametrize("alignment", [0, 1, PAGE, 64 * PAGE, 2 * MIB, 512 * MIB])
@pytest.mark.parametrize("size", [PAGE, 3 * PAGE, 64 * MIB])
def test_a_reservation_is_aligned_and_gives_no_access(size, alignment):
    before = reservations()
    address = native.map_none(0, size, alignment)
    assert address % max(alignment, PAGE) == 0
    assert permissions(address)[:3] == permissions(address + size - 1)[:3] == "---"
    native.unmap(address, size)
    assert reservations() <= before, "the trimmed ends must have gone back"


def test_half_a_terabyte_can_be_reserved():
    address = native.map_none(0, 1 << 39, 2 * MIB)
    native.unmap(address, 1 << 39)


def test_a_free_hint_is_followed_and_an_occupied_one_is_not():
    address = native.map_none(0, 4 * MIB, 2 * MIB)
    other = native.map_none(address, 2 * MIB, 2 * MIB)
    assert abs(other - address) >= 2 * MIB
    native.unmap(other, 2 * MIB)
    native.unmap(address, 4 * MIB)
    assert native.map_none(address, 4 * MIB, 2 * MIB) == address
    native.unmap(address, 4 * MIB)


@pytest.mark.parametrize(("size", "alignment"), [(0, 0), (PAGE + 1, 0), (PAGE, 3 * PAGE), (PAGE, 3)])
def test_bad_reservations(size, alignment):
    assert errno_of(native.map_none, 0, size, alignment) == errno.EINVAL


def test_more_than_the_address_space():
    assert errno_of(native.map_none, 0, 1 << 62) == errno.ENOMEM


def test_two_mappings_of_a_file_are_one_memory(file, reservation):
    one, two = reservation, reservation + 8 * PAGE
    native.map_file(one, 2 * PAGE, file, PAGE, READ | WRITE)
    native.map_file(two, PAGE, file, 2 * PAGE, READ | WRITE)
    ctypes.memset(one + PAGE, 0x5A, 3)
    assert ctypes.string_at(two, 4) == b"\x5a\x5a\x5a\x00"
    assert os.pread(file, 3, 2 * PAGE) == b"\x5a\x5a\x5a"
    ctypes.memset(two, 0x11, 1)
    assert ctypes.string_at(one + PAGE, 2) == b"\x11\x5a"


def test_a_piece_goes_back_to_its_reservation(file, reservation):
    native.map_file(reservation, 4 * PAGE, file, 0, READ | WRITE)
    native.map_back(reservation + PAGE, 2 * PAGE)
    assert [permissions(reservation + i * PAGE)[:3] for i in range(5)] == ["rw-", "---", "---", "rw-", "---"]


def test_protection_changes(file, reservation):
    native.map_file(reservation, 2 * PAGE, file, 0, 0)
    assert not native.readable(reservation, 1)
    native.protect(reservation, PAGE, READ)
    assert (native.readable(reservation, PAGE), native.writable(reservation, PAGE)) == (True, False)
    native.protect(reservation, PAGE, READ | WRITE)
    assert native.writable(reservation, PAGE)
    assert not native.readable(reservation, PAGE + 1)


def test_failed_mappings_say_why(file, reservation):
    assert errno_of(native.map_file, reservation + 1, PAGE, file, 0, READ) == errno.EINVAL
    assert errno_of(native.map_file, reservation, PAGE, file, 1, READ) == errno.EINVAL
    assert errno_of(native.map_file, reservation, PAGE, -1, 0, READ) == errno.EBADF
    assert errno_of(native.map_back, reservation + 1, PAGE) == errno.EINVAL
    assert errno_of(native.unmap, reservation + 1, PAGE) == errno.EINVAL
    assert permissions(reservation)[:3] == "---"


def test_protecting_nothing_fails():
    address = native.map_none(0, PAGE)
    native.unmap(address, PAGE)
    assert errno_of(native.protect, address, PAGE, READ) == errno.ENOMEM


def test_allocate_backs_a_piece_and_keeps_the_size(file):
    assert os.fstat(file).st_blocks == 0
    native.allocate(file, 4 * PAGE, 2 * PAGE)
    assert os.fstat(file).st_blocks * 512 == 2 * PAGE
    native.allocate(file, 16 * PAGE, PAGE)
    assert os.fstat(file).st_size == 16 * PAGE
    assert os.pread(file, 4, 4 * PAGE) == b"\x00" * 4


def test_allocate_fails_by_errno(file):
    assert errno_of(native.allocate, file, 0, 0) == errno.EINVAL
    assert errno_of(native.allocate, -1, 0, PAGE) == errno.EBADF


WILD = [0, 1, 8, 2**64 - 1, 2**64 - PAGE, 1 << 63, 0xDEAD << 48, 0xFFFF_8000_0000_0000]


@pytest.mark.parametrize("address", WILD)
@pytest.mark.parametrize("length", [1, 8, 64 * PAGE, 2**64 - 2 * PAGE, 2**64 - 1])
def test_wild_pointers(address, length):
    assert not native.readable(address, length)
    assert not native.writable(address, length)


@pytest.mark.parametrize("address", [0, 0xDEAD << 48])
def test_an_empty_range_is_fine(address):
    assert native.readable(address, 0)
    assert native.writable(address, 0)


def test_good_memory_of_any_alignment_is_not_changed():
    memory = np.arange(3 * PAGE, dtype=np.uint32).view(np.uint8)
    before = memory.copy()
    for start in range(9):
        for length in (1, 2, 3, 7, PAGE, 2 * PAGE + 5):
            assert native.readable(memory.ctypes.data + start, length)
            assert native.writable(memory.ctypes.data + start, length)
    assert np.array_equal(memory, before)


def test_the_stack_and_constants():
    assert native.writable(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    code = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
    assert native.readable(code, 16)
    assert not native.writable(code, 16)


def test_every_page_counts(file, reservation):
    native.map_file(reservation, 4 * PAGE, file, 0, READ | WRITE)
    native.protect(reservation + 2 * PAGE, PAGE, READ)
    assert native.writable(reservation, 2 * PAGE)
    assert not native.writable(reservation, 2 * PAGE + 1)
    assert not native.writable(reservation + 2 * PAGE - 1, 2 * PAGE)
    assert native.readable(reservation, 4 * PAGE)
    assert not native.readable(reservation, 4 * PAGE + 1)
    assert not native.readable(reservation + 4 * PAGE - 1, 2)
    native.map_back(reservation + PAGE, PAGE)
    assert not native.readable(reservation, 4 * PAGE)


@pytest.mark.parametrize("pages", [8, 30])
def test_long_ranges_are_judged_as_short_ones(reservation, pages):
    """From eight pages on one system call asks for all; its answer must not differ."""
    anonymous = os.memfd_create("anonymous")
    os.ftruncate(anonymous, 64 * PAGE)
    native.map_file(reservation, 40 * PAGE, anonymous, 0, READ | WRITE)
    os.close(anonymous)
    start, length = reservation + 3, pages * PAGE
    ctypes.memset(start, 0x77, length)
    assert (native.readable(start, length), native.writable(start, length)) == (True, True)
    native.protect(reservation + 5 * PAGE, PAGE, READ)
    assert (native.readable(start, length), native.writable(start, length)) == (True, False)
    assert native.writable(reservation + 6 * PAGE, length)
    native.protect(reservation + 5 * PAGE, PAGE, 0)
    assert (native.readable(start, length), native.writable(start, length)) == (False, False)
    native.protect(reservation, 40 * PAGE, READ)
    assert ctypes.string_at(start, length) == b"\x77" * length
    assert not native.readable(reservation + 30 * PAGE, 11 * PAGE)


def test_beyond_the_end_of_a_file_there_is_nothing(file, reservation):
    """A plain access would be SIGBUS."""
    native.map_file(reservation, 2 * PAGE, file, 15 * PAGE, READ | WRITE)
    assert native.readable(reservation, PAGE)
    assert not native.readable(reservation, PAGE + 1)
    assert not native.writable(reservation + PAGE, 4)


def test_probing_does_not_disturb_a_writer():
    """OR with 0 is atomic: a counter that another thread raises meanwhile loses nothing."""
    counter, one = np.zeros(1, dtype=np.uint32), np.ones(1, dtype=np.uint32)

    def count():
        for _ in range(100_000):
            native.reduce(counter.ctypes.data, 4, 1, one.ctypes.data, 1, "u32", "add")

    writer = threading.Thread(target=count)
    writer.start()
    while writer.is_alive():
        assert native.writable(counter.ctypes.data, 4)
        assert native.readable(counter.ctypes.data, 4)
    writer.join()
    assert counter[0] == 100_000


def test_copy_allows_overlap():
    memory = np.arange(100, dtype=np.uint8)
    native.copy(memory.ctypes.data + 10, memory.ctypes.data, 80)
    assert memory.tolist() == [*range(10), *range(80), *range(90, 100)]
    native.copy(memory.ctypes.data, memory.ctypes.data + 10, 80)
    assert memory[:80].tolist() == list(range(80))


def test_copy_2d_moves_the_rectangle_alone():
    source, target = np.arange(60, dtype=np.uint8).reshape(5, 12), np.zeros((5, 20), dtype=np.uint8)
    native.copy_2d(target.ctypes.data + 3, 20, source.ctypes.data + 1, 12, 7, 4)
    expected = np.zeros_like(target)
    expected[:4, 3:10] = source[:4, 1:8]
    assert np.array_equal(target, expected)


FILLS = [(native.fill8, "u1"), (native.fill16, "u2"), (native.fill32, "u4")]


@pytest.mark.parametrize(("fill", "dtype"), FILLS)
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_fill_writes_the_low_bytes(fill, dtype, count):
    memory = np.zeros(4 * 1000 + 9, dtype=np.uint8)
    fill(memory.ctypes.data + 1, 0x89ABCDEF, count)
    value = np.array([0x89ABCDEF & (256 ** np.dtype(dtype).itemsize - 1)], dtype=dtype)
    expected = np.zeros_like(memory)
    expected[1 : 1 + count * value.itemsize] = np.repeat(value, count).view(np.uint8)
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_fill_2d_fills_the_rectangle_alone(size):
    memory = np.zeros((5, 32), dtype=f"u{size}")
    native.fill_2d(memory.ctypes.data + size, 32 * size, 0x41424344, size, 9, 3)
    expected = np.zeros_like(memory)
    expected[:3, 1:10] = 0x41424344 & (256**size - 1)
    assert np.array_equal(memory, expected)


def test_fill_2d_knows_three_sizes():
    with pytest.raises(ValueError, match="none of 1, 2, 4"):
        native.fill_2d(0, 0, 0, 8, 0, 0)


def test_numpy_is_not_imported():
    """The driver runs in any program, also where numpy is not."""
    script = "import sys, cumulticast.sim.native; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=50, check=False).returncode == 0


def test_other_threads_run_during_a_call():
    """With the GIL held the ticker would stand still while the store runs."""
    memory = np.ones(64 * MIB, dtype=np.uint8)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            stop.wait(0.0005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = len(ticks)
    native.store(memory.ctypes.data, 0, 64, memory.ctypes.data, 64 * MIB)
    during = len(ticks) - before
    stop.set()
    ticker.join()
    assert during > 1
