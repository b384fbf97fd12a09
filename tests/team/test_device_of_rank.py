"""Which device a rank takes: the one it names, the only one, or the one of its local rank."""

from __future__ import annotations

import pytest

from cumulticast import Team
from cumulticast.team.foundation import LOCAL_RANKS
from cumulticast.testing import CudaMachine


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LOCAL_RANKS:
        monkeypatch.delenv(name, raising=False)


def devices_of(**options: int) -> tuple[int, ...]:
    with Team.join("tcp://127.0.0.1:1", rank=0, size=1, **options) as team:
        return team.devices


@pytest.mark.parametrize("name", LOCAL_RANKS)
def test_launchers_tell_the_local_rank(cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "3")
    assert devices_of() == (3,)
    assert devices_of(device=5) == (5,)


def test_the_nearest_launcher_counts(cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torchrun on a node of a Slurm job: Slurm sees one task there."""
    monkeypatch.setenv("SLURM_LOCALID", "0")
    monkeypatch.setenv("LOCAL_RANK", "6")
    assert devices_of() == (6,)


@pytest.mark.cuda_machine(devices=1)
def test_the_only_device_needs_no_name(cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert devices_of() == (0,)
    monkeypatch.setenv("LOCAL_RANK", "3")  # of a process that was shown one device of several
    assert devices_of() == (0,)


@pytest.mark.parametrize("told", ["", "two"])
def test_a_rank_that_nobody_gave_a_device_is_told_how(
    cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("LOCAL_RANK", told)
    with pytest.raises(ValueError, match="Give device=, 0 to 7, or set LOCAL_RANK; none of LOCAL_RANK, OMPI_"):
        devices_of()
