"""What a rank of the model does when it is told to (run in ranks)."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from both_bindings import Answer
from data_calls import Calls, begin

from cumulticast import sim
from cumulticast.libcuda import serve
from cumulticast.sim.driver import Driver, Options


def come(environment: dict[str, str]) -> int:
    """Come to the world that the environment names and answer this process's number in it.

    The first call of a fresh process starts the driver. One that was in another world before is given a new driver.
    """
    os.environ.update(environment)
    if serve.SERVER.driver is not None:
        serve.open_door(Driver(Options.from_environment()))
    begin()
    process = sim.current().process
    assert process is not None
    return process.number


def go() -> None:
    """Leave the world, with everything that is held there."""
    sim.stop()


def call(v2: bool, name: str, *arguments: Any) -> Any:
    """Make one of the calls of the model; what it answers can be sent."""
    answer = getattr(Calls(v2=v2), name)(*arguments)
    return plain(answer) if isinstance(answer, tuple) else answer


def plain(answer: Answer) -> Answer:
    """Turn handles and addresses of the first interface into numbers."""
    status, value = answer
    return status, value if value is None or isinstance(value, bytes | np.ndarray) else int(value)


def wait_at_most(seconds: float) -> None:
    """Change after how many seconds a call that waits for a team answers 909."""
    driver = sim.current()
    driver.options = replace(driver.options, block_limit=seconds)


def copy_of(descriptor: int) -> int:
    """Answer a descriptor to be sent away; this process keeps its own."""
    return os.dup(descriptor)


def keep(descriptor: int) -> int:
    """Keep a descriptor that was sent here, and answer its number."""
    return descriptor
