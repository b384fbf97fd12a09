"""A signal handler that raises anywhere in an NVML call: the caller gets it, and nothing stays open."""

from __future__ import annotations

import signal
import sys
from types import FrameType, ModuleType

import pytest
from nvml_here import handles, initialised

from cumulticast.libnvml import books
from cumulticast.sim import lives, rights
from cumulticast.testing import CudaMachine
from cumulticast.testing.leaks import open_files

OURS = {str(module.__file__) for module in (books, lives, rights)}


class Struck(Exception):
    pass


def strike(*_: object) -> None:
    raise Struck


def struck_at(number: int, nvml: ModuleType, handle: int) -> bool:
    """Ask NVML, and be struck at one of the places where handlers run: functions begin there, or calls have ended.

    False when what reads the books has fewer such places.
    """
    left = number

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if frame.f_code.co_filename in OURS and event in ("call", "c_return"):
            left -= 1
            if not left:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    sys.setprofile(look)
    try:
        nvml.device_get_memory_info_v2(handle)
        return False
    except Struck:
        return True
    finally:
        sys.setprofile(None)


def opened(world: str) -> list[str]:
    return sorted(path for _, path in open_files() if path.startswith(world))


def test_nothing_stays_open(cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGUSR1, strike)
    world = str(cuda_machine.driver.world.path)
    try:
        with initialised() as nvml:
            handle = handles(nvml)[0]
            nvml.device_get_memory_info_v2(handle)
            kept, number = opened(world), 1
            while struck_at(number, nvml, handle):
                assert opened(world) == kept, number
                number += 1
            assert number > 20
            assert nvml.device_get_memory_info_v2(handle).total
    finally:
        signal.signal(signal.SIGUSR1, before)
