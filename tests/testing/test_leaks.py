"""The fixture `cuda_machine` names what a test leaves behind, and lets everything else pass."""

from __future__ import annotations

import re

import pytest
from inner import SAMPLES, Inner, run_inner

SOURCE = (SAMPLES / "leaking.py").read_text().splitlines()
#: What is said of each: words, and the call that made it.
SAID = {
    "handle": (r"handle 0x\w+ of memory on device 0, 2097152 bytes", "cuMemCreate"),
    "multicast": (r"handle 0x\w+ of multicast object, 2097152 bytes", "cuMulticastCreate"),
    "imported": (r"handle 0x\w+ of memory on device 0, 2097152 bytes", "cuMemImportFromShareableHandle"),
    "reservation": (r"reservation 0x\w+, 2097152 bytes", "cuMemAddressReserve"),
    "mapping": (r"mapping 0x\w+, 2097152 bytes", "cuMemMap"),
    "allocation": (r"allocation 0x\w+ of cuMemAlloc, 4096 bytes", "cuMemAlloc_v2"),
    "host": (r"allocation 0x\w+ of cuMemAllocHost, 4096 bytes", "cuMemHostAlloc"),
    "pool": (r"pool 0x\w+, 0 bytes in use", "cuMemPoolCreate"),
    "stream": (r"stream 0x\w+", "cuStreamCreate"),
    "event": (r"event 0x\w+", "cuEventCreate"),
    "context": (r"context 0x\w+ of device 0", "cuCtxCreate_v4"),
    "descriptor": (r"descriptor \d+ of memory \d+", "cuMemExportToShareableHandle"),
    "bound": (r"multicast object \d+, 2097152 bytes, which only memory bound to it keeps", None),
    "sent": (r"memory \d+, 2097152 bytes, which only a descriptor that was sent away keeps", None),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Inner:
    """Run all samples once."""
    return run_inner(SAMPLES / "leaking.py", directory=tmp_path_factory.mktemp("leaks"))


def line_of(name: str) -> int:
    """Return where the sample makes a thing."""
    return next(number for number, line in enumerate(SOURCE, 1) if line.endswith(f"# <- {name}"))


@pytest.mark.parametrize("name", SAID)
def test_what_is_left_fails_the_test_and_names_its_maker(run: Inner, name: str) -> None:
    ended, (words, call) = run.tests[f"test_left[{name}]"], SAID[name]
    made = rf", by {call} at .*leaking\.py:{line_of(name)}" if call else ""
    assert ended.how == "error"
    assert re.search(rf"(?m)^  {words}{made}$", ended.text), ended.text
    assert len(re.findall(r"(?m)^  \w", ended.text)) == (2 if name in ("mapping", "bound") else 1)


@pytest.mark.parametrize("name", SAID)
def test_what_is_given_back_does_not(run: Inner, name: str) -> None:
    assert run.tests[f"test_given_back[{name}]"].how == "passed"


@pytest.mark.parametrize("name", SAID)
def test_a_marker_allows_leaks(run: Inner, name: str) -> None:
    assert run.tests[f"test_ignored[{name}]"].how == "passed"


def test_a_test_that_fails_is_not_told_of_its_leaks_too(run: Inner) -> None:
    ended = run.tests["test_failed"]
    assert ended.how == "failed"
    assert "for a reason of its own" in ended.text
    assert "left" not in ended.text


def test_a_test_may_stop_the_machine_itself(run: Inner) -> None:
    assert run.tests["test_stopped"].how == "passed"


def test_what_waits_for_the_garbage_collector_is_no_leak(run: Inner) -> None:
    assert run.tests["test_collected"].how == "passed"


def test_every_sample_has_its_words(run: Inner) -> None:
    assert {name for name in run.tests if name.startswith("test_left")} == {f"test_left[{name}]" for name in SAID}
