"""What a test of the comm must not leave behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

PATIENCE = 10.0  # seconds for hubs to see that all have left


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fail a test that leaves a thread or a descriptor."""
    threads, descriptors = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))
    yield
    deadline = time.monotonic() + PATIENCE
    while left := [one.name for one in set(threading.enumerate()) - threads]:
        assert time.monotonic() < deadline, f"threads left: {left}"
        time.sleep(0.005)
    gone = len(os.listdir("/proc/self/fd")) - len(descriptors)
    assert gone <= 0, f"{gone} descriptors left"
