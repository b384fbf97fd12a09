"""Errors of `cumulticast.driver` on a faulty machine say what to check first, and `explain` reads what they leave."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from cuda.bindings._v2 import driver as nvidia

from cumulticast import driver, explain, sim
from cumulticast.why.causes import causes

SIZE = 2 << 20


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "cuda.log"
    monkeypatch.setenv("CUDA_LOG_FILE", str(path))
    yield path
    sim.stop()


def refused_bind() -> nvidia.DriverError:
    """Bind memory of device 0 to an object of its own and answer the refusal."""
    driver.init(0)
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 1, SIZE
    mc = driver.multicast_create(prop)
    driver.multicast_add_device(mc, 0)
    memory = driver.MemAllocationProp_v1()
    memory.type, memory.location.type = driver.MemAllocationType.PINNED, driver.MemLocationType.DEVICE
    handle = driver.mem_create(SIZE, memory, 0)
    with pytest.raises(nvidia.DriverError) as caught:
        driver.multicast_bind_mem(mc, 0, handle, 0, SIZE, 0)
    return caught.value


@pytest.mark.parametrize(
    ("fault", "slug", "read"),
    [
        ("fm=stopped", "fm-not-running", "fm-not-running"),
        ("fm=restarted", "fm-stale-registration", "fm-stale-registration"),
        ("fm=restarted:1", "fm-stale-registration", "fm-stale-registration"),
        ("fm=stalled:9", "fm-not-running", "fm-transient-stall"),
        ("state=illegal", "fm-stale-registration", "fabric-bad-state"),
        ("slots=128", "multicast-slots-exhausted", "multicast-slots-exhausted"),
    ],
)
def test_a_refused_bind(fault: str, slug: str, read: str, log: Path) -> None:
    """The note knows only call and status; the log has the reason, so reading it finds the cause itself."""
    sim.start("hgx-h100-8", 2, faults=[fault])
    error = refused_bind()
    note = error.__notes__[-1]
    assert note.startswith("likely cause: ")
    assert f"({slug})" in note
    assert causes()[slug].checks[0] in note
    for text in (log.read_text(), "".join(traceback.format_exception(error))):
        answer = explain(text)
        assert (answer.verdict, answer.cause) == ("fault", read)
        assert (answer.call, answer.code) == ("cuMulticastBindMem", error.status)


def test_a_machine_whose_fabric_manager_never_ran(log: Path) -> None:
    sim.start("hgx-h100-8", 2, faults=["fm=never"])
    with pytest.raises(nvidia.DriverError) as caught:
        driver.init(0)
    assert "(fm-not-running)" in caught.value.__notes__[-1]
    assert explain(log.read_text()).code == 802
