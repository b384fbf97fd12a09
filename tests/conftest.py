"""Simulated machines for tests, by the package's own pytest plugin; what a test leaves behind on one fails it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from answers import ok
from cumulticast.sim.driver import Driver
from cumulticast.testing import CudaMachine


def pytest_configure() -> None:
    """Let Ctrl-C arrive, as at a terminal: a shell starts what runs in its background with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file's tests in one process, which makes what they share once; slow ones are few, and go where room is."""
    from xdist.scheduler import LoadFileScheduling

    usual = config.option.dist == "load" and config.option.markexpr != "slow"
    return LoadFileScheduling(config, log) if usual else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option under which the conformance tests run with a process for each rank."""
    parser.addoption("--ranks-apart", action="store_true", help="conformance tests: each rank in a process of its own")


@pytest.fixture
def machine(cuda_machine: CudaMachine) -> Driver:
    """Run a fresh hgx-h100-8 with eight devices, initialised."""
    from cuda.bindings import driver as cu

    ok(cu.cuInit(0))
    return cuda_machine.driver


@pytest.fixture
def context(machine: Driver, cuda_machine: CudaMachine) -> Iterator[int]:
    """Make the primary context of device 0 current; its end would give back what a test left in it."""
    from cuda.bindings import driver as cu

    handle = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(handle))
    yield int(handle)
    left = cuda_machine.leaks()
    ok(cu.cuCtxSetCurrent(0))
    ok(cu.cuDevicePrimaryCtxRelease(0))
    assert not left, f"the test left {', '.join(map(str, left))}"
