"""The pytest plugin: ``cuda_machine`` and ``run_ranks``. What they need is imported when a test asks for them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cumulticast.testing.machine import CudaMachine
    from cumulticast.testing.ranks import RunRanks

MARKER = """cuda_machine(machine="hgx-h100-8", devices=None, nodes=1, profile="hardware", faults=(), block_limit=None, \
kernel_limit=None, hopeless="fail", memory="plain", leaks="fail"): the simulated machine of the fixture cuda_machine."""
FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Remember a test that has failed: what it did not get to giving back is no news."""
    report = yield
    if call.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture
def cuda_machine(request: pytest.FixtureRequest) -> Generator[CudaMachine]:
    """Give a fresh simulated machine in this process; what the test leaves behind on it fails the test."""
    from cumulticast.testing.choices import chosen
    from cumulticast.testing.machine import CudaMachine

    try:
        machine = CudaMachine(chosen(request.node))
    except (RuntimeError, ValueError, TypeError) as error:
        raise pytest.fail.Exception(f"cuda_machine: {error}", pytrace=False) from None
    yield machine
    problem = machine.close(check=FAILED not in request.node.stash)
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.fixture
def run_ranks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunRanks:
    """Give a function that runs another one in many processes on one simulated machine."""
    from cumulticast.testing.ranks import RunRanks

    return RunRanks(lambda: tmp_path_factory.mktemp("ranks"))
