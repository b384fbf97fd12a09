"""What NVML refuses, and what it says about it."""

from __future__ import annotations

import ctypes
import signal

import pytest
from nvml_here import handles, initialised

from cumulticast.libnvml import serve
from cumulticast.testing import CudaMachine

UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, INSUFFICIENT_SIZE = 1, 2, 3, 7


@pytest.fixture
def library(cuda_machine: CudaMachine) -> ctypes.CDLL:
    return ctypes.CDLL(str(serve.library_path()))


def log() -> list[str]:
    assert serve.SERVER.service is not None
    return serve.SERVER.service.log.since(None)


def test_init_and_shutdown_are_counted(library: ctypes.CDLL) -> None:
    count = ctypes.c_uint()
    asked = lambda: library.nvmlDeviceGetCount_v2(ctypes.byref(count))  # noqa: E731
    assert asked() == UNINITIALIZED
    assert library.nvmlShutdown() == UNINITIALIZED
    assert library.nvmlInit_v2() == library.nvmlInitWithFlags(0) == 0
    assert library.nvmlShutdown() == 0
    assert (asked(), count.value) == (0, 8)
    assert library.nvmlShutdown() == 0
    assert asked() == UNINITIALIZED
    assert library.nvmlInitWithFlags(8) == INVALID_ARGUMENT


def test_bad_pointers_and_handles_are_answers(library: ctypes.CDLL) -> None:
    with initialised() as nvml:
        device, index = ctypes.c_void_p(handles(nvml)[0]), ctypes.c_uint(77)
        assert library.nvmlDeviceGetIndex(device, None) == INVALID_ARGUMENT
        assert "nvmlDeviceGetIndex: index is null; returning 2 (NVML_ERROR_INVALID_ARGUMENT)" in log()[-1]
        assert library.nvmlDeviceGetIndex(device, ctypes.c_void_p(0x10)) == INVALID_ARGUMENT
        assert library.nvmlDeviceGetIndex(ctypes.c_void_p(0x1234), ctypes.byref(index)) == INVALID_ARGUMENT
        assert index.value == 77
        assert library.nvmlDeviceGetIndex(device, ctypes.byref(index)) == 0
        assert index.value == 0


def test_a_buffer_that_is_too_short_is_left_alone(library: ctypes.CDLL) -> None:
    with initialised() as nvml:
        device = ctypes.c_void_p(handles(nvml)[0])
        for length in (0, 21):
            buffer = ctypes.create_string_buffer(b"untouched", 64)
            assert library.nvmlDeviceGetName(device, buffer, length) == INSUFFICIENT_SIZE
            assert buffer.value == b"untouched"
        buffer = ctypes.create_string_buffer(64)
        assert library.nvmlDeviceGetName(device, buffer, 22) == 0
        assert buffer.value == b"NVIDIA H100 80GB HBM3"


def test_an_entry_that_nobody_wrote_says_so(library: ctypes.CDLL) -> None:
    assert library.nvmlDeviceSetPersistenceMode(None, 1) == UNINITIALIZED
    with initialised() as nvml:
        assert library.nvmlDeviceSetPersistenceMode(None, 1) == NOT_SUPPORTED
        assert "nvmlDeviceSetPersistenceMode: the simulator does not answer this entry" in log()[-1]
        with pytest.raises(nvml.NotSupportedError):
            nvml.device_get_board_part_number(handles(nvml)[0])


def test_each_field_has_a_status_of_its_own(cuda_machine: CudaMachine) -> None:
    import pynvml

    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        found = pynvml.nvmlDeviceGetFieldValues(handle, [91, (164, 17), (164, 18), 9999])
        assert [one.nvmlReturn for one in found] == [0, 0, NOT_SUPPORTED, INVALID_ARGUMENT]
        assert [one.value.uiVal for one in found[:2]] == [18, 26562]
    finally:
        pynvml.nvmlShutdown()


def test_what_a_signal_handler_raises_reaches_the_caller(
    cuda_machine: CudaMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    def ask_until_stopped() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        while True:
            nvml.device_get_memory_info_v2(handle)

    before = signal.signal(signal.SIGALRM, stop)
    with initialised() as nvml:
        handle = handles(nvml)[0]
        try:
            for _ in range(20):
                with pytest.raises(Stop):
                    ask_until_stopped()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert nvml.device_get_memory_info_v2(handle).total
    assert capfd.readouterr().err == ""
