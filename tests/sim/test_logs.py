"""The error log through cuLogs*."""

import ctypes

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE = 1
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)


def fail() -> None:
    """Make a call that logs two messages."""
    assert status(cu.cuDeviceGet(99)) == 101


def dump(size: int, iterator: int | None = None) -> tuple[int, int | None, bytes]:
    """Dump to memory: status, the iterator afterwards, the text."""
    library = ctypes.CDLL("libcuda.so.1")
    buffer, length = ctypes.create_string_buffer(size + 1), ctypes.c_size_t(size)
    at = None if iterator is None else ctypes.c_uint32(iterator)
    answer = library.cuLogsDumpToMemory(None if at is None else ctypes.byref(at), buffer, ctypes.byref(length), 0)
    return answer, None if at is None else at.value, buffer.raw[: length.value] if not answer else b""


def test_callbacks_hear_messages_without_their_stamp(machine):
    heard = []
    function = CALLBACK(lambda *got: heard.append(got))
    address = ctypes.cast(function, ctypes.c_void_p).value
    handle = ok(cu.cuLogsRegisterCallback(cu.CUlogsCallback(address), 42))
    fail()
    ok(cu.cuLogsUnregisterCallback(handle))
    fail()
    assert [(data, level) for data, level, _, _ in heard] == [(42, 0)] * 2
    assert heard[0][2].startswith(b"MC004 device_get: ")
    assert heard[1][2] == b"Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet"
    assert all(length == len(message) for _, _, message, length in heard)
    assert status(cu.cuLogsUnregisterCallback(handle)) == INVALID_VALUE
    assert ctypes.CDLL("libcuda.so.1").cuLogsRegisterCallback(None, None, None) == INVALID_VALUE


def test_an_iterator_goes_on_where_it_stood(machine):
    start = int(ok(cu.cuLogsCurrent(0)))
    assert dump(4096, start) == (0, start, b"")
    fail()
    answer, end, text = dump(4096, start)
    assert (answer, end) == (0, start + 2)
    assert text.count(b"\n") == 2
    assert text.endswith(b"Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet\n")
    assert dump(4096, end) == (0, end, b"")
    assert dump(4096, end + 1)[0] == INVALID_VALUE


def test_a_short_buffer_gets_the_newest_messages_and_a_notice(machine):
    for _ in range(3):
        fail()
    whole = dump(1 << 16)[2].splitlines(keepends=True)
    notice = b"The provided buffer is not large enough to hold all messages. Some messages will be missing\n"
    room = len(notice) + len(whole[-1]) + 1
    assert dump(room)[2] == notice + whole[-1]
    assert dump(room - 1)[0] == INVALID_VALUE


def test_a_dump_replaces_the_file(machine, tmp_path):
    fail()
    path = tmp_path / "log"
    path.write_text("old\n")
    ok(cu.cuLogsDumpToFile(None, str(path).encode(), 0))
    assert "old" not in path.read_text()
    assert path.read_bytes() == dump(1 << 16)[2]
    assert status(cu.cuLogsDumpToFile(None, str(tmp_path / "none" / "log").encode(), 0)) == INVALID_VALUE


@pytest.mark.parametrize("times", [49, 51])
def test_the_oldest_messages_are_lost_and_it_says_so(machine, times):
    from cumulticast.sim.log import CAPACITY

    start = int(ok(cu.cuLogsCurrent(0)))
    for _ in range(CAPACITY * times // 100):
        fail()
    text = dump(1 << 20, start)[2]
    lost = CAPACITY * times // 100 * 2 > CAPACITY
    assert text.startswith(b"Log buffer has rolled over since the previous dump.") == lost
    assert text.count(b"\n") == (CAPACITY + 1 if lost else CAPACITY * times // 50)
