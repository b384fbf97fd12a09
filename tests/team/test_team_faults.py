"""One process: every driver call that a team makes fails in turn; nothing is left, and what comes next comes up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from driver_calls import noted

from cumulticast import SymmetricArray, Team, TeamError, driver, multimem, sim
from cumulticast.rules.text import python_name
from cumulticast.testing import CudaMachine
from cumulticast.testing.leaks import left_behind

RANKS = 3
MIB = 1 << 20
STATUSES = (1, 2, 401, 719, 800, 909, 999)

Work = Callable[[], Any]

pytestmark = pytest.mark.usefixtures("cuda_machine")


def up(**options: Any) -> Team:
    return Team.local(range(RANKS), **{"retries": 0, **options})


def uses(made: list[str]) -> Iterator[tuple[str, int]]:
    """Answer each call with the number of its use."""
    count: Counter[str] = Counter()
    for name in made:
        count[name] += 1
        yield name, count[name]


def whole(team: Team) -> bool:
    """Store through the team's multicast address and look at all replicas."""
    with team.empty(8) as array:
        multimem.store(array.multicast_ptr, np.arange(8, dtype=np.float32))
        return all((array.numpy(rank) == np.arange(8)).all() for rank in range(team.size))


def each_failing(work: Work) -> Iterator[tuple[str, int, TeamError]]:
    """Do something as often as it makes calls, with one more of them failing each time; answer what that gave."""
    with noted() as made:
        good = work()
        calls = list(made)
    good.close()
    for number, (name, nth) in enumerate(uses(calls)):
        status = STATUSES[number % len(STATUSES)]
        sim.faults.set(f"fail:{name}:nth={nth}:status={status}")
        with pytest.raises(TeamError) as caught:
            work()
        sim.faults.clear()
        yield name, status, caught.value


def check(error: TeamError, name: str, status: int) -> None:
    """Hold an error to what a TeamError tells."""
    assert error.call is not None and name.removesuffix("_v2") == error.call.removesuffix("_v2"), error
    assert (error.status, error.rule) == (status, None)
    assert "injected fault" in error.reason and error.call in str(error) and str(status) in str(error)
    assert error.ranks[error.rank] == (error.stage, error.call, status)


@pytest.mark.parametrize("multicast", [True, False])
def test_every_call_of_a_bring_up_fails_in_turn(cuda_machine: CudaMachine, multicast: bool) -> None:
    devices = range(RANKS) if multicast else [0, 0, 1]

    def bring_up() -> Team:
        return Team.local(devices, retries=0, require_multicast=multicast)

    bring_up().close()  # the first one alone makes calls of the bindings' own
    stages = set[str]()
    for name, status, error in each_failing(bring_up):
        check(error, name, status)
        stages.add(error.stage)
        assert cuda_machine.leaks() == [], error
        with bring_up() as team:
            assert whole(team) if multicast else team.why_not
    steps = {"agree", "create", "import", "add_device", "bind", "map"}
    assert stages == steps - {"import"} if multicast else {"agree", "create", "map"}


def test_the_culprit_is_the_rank_whose_call_failed(cuda_machine: CudaMachine) -> None:
    for call in ("cuMemCreate", "cuMulticastAddDevice", "cuMulticastBindMem", "cuMemsetD8Async"):
        for rank in range(RANKS):
            cuda_machine.faults.set(f"fail:{call}:nth={rank + 1}:status=2")
            with pytest.raises(TeamError) as caught:
                up()
            cuda_machine.faults.clear()
            assert caught.value.rank == rank


def test_every_call_of_a_growth_fails_in_turn_and_the_team_is_as_before(cuda_machine: CudaMachine) -> None:
    with up() as team, team.empty(100) as kept:
        before, left = team.usage, len(left_behind(cuda_machine.driver))
        kept.numpy(1)[:] = 7
        for name, status, error in _of_growth(team):
            check(error, name, status)
            assert (team.usage, len(left_behind(cuda_machine.driver))) == (before, left)
        assert (kept.numpy(1) == 7).all()
        with team.empty(2 * MIB) as array:
            assert array.multicast_ptr and team.usage.blocks == 2
        assert whole(team)


def _of_growth(team: Team) -> Iterator[tuple[str, int, TeamError]]:
    """Fail each call of a growth; another team shows which there are, since a block stays."""
    with up() as other, noted() as made:
        other.empty(2 * MIB)
        calls = list(made)
    for number, (name, nth) in enumerate(uses(calls)):
        status = STATUSES[number % len(STATUSES)]
        sim.faults.set(f"fail:{name}:nth={nth}:status={status}")
        with pytest.raises(TeamError) as caught:
            team.empty(2 * MIB)
        sim.faults.clear()
        yield name, status, caught.value


@pytest.mark.parametrize("what", ["split", "share"])
def test_every_call_of_a_second_team_fails_in_turn(cuda_machine: CudaMachine, what: str) -> None:
    with up() as team, team.empty(10) as array, team.split([2, 0]) as part:
        array.numpy(0)[:] = 3

        def work() -> Team | SymmetricArray:
            return team.split([1, 2]) if what == "split" else part.share(array)

        left = len(left_behind(cuda_machine.driver))
        for name, status, error in each_failing(work):
            check(error, name, status)
            assert len(left_behind(cuda_machine.driver)) == left, error
        with part.share(array) as shared:
            multimem.store(shared.multicast_ptr, np.full(10, 5, np.float32))
            assert [array.numpy(rank)[0] == 5 for rank in range(RANKS)] == [True, False, True]
        assert whole(team) and whole(part)


@pytest.mark.cuda_machine(leaks="ignore")  # what the driver does not take back stays
def test_every_call_of_an_end_fails_in_turn_and_all_others_are_made() -> None:
    team = up()
    with noted() as good:
        team.close()
    for name, nth in uses(good):
        team = up()
        sim.faults.set(f"fail:{name}:nth={nth}:status=999")
        with noted() as made, pytest.raises(driver.DriverError) as caught:
            team.close()
        sim.faults.clear()
        assert caught.value.status == 999 and team.closed
        gives_back = "Release", "Unbind", "Unmap", "Free"
        missing = Counter(one for one in good if one.endswith(gives_back)) - Counter(made)
        assert sum(missing.values()) <= 1, (name, missing)  # the one that failed is not noted
        team.close()
    with up() as team:
        assert whole(team)


# ---- states of the machine

STATES = [
    ("fm=stopped", "bind", "cuMulticastBindMem", 802, "MC343"),
    ("fm=restarted", "bind", "cuMulticastBindMem", 401, "MC344"),
    ("fm=restarted:1", "bind", "cuMulticastBindMem", 1, "MC344"),
    ("state=illegal", "bind", "cuMulticastBindMem", 401, "MC344"),
    ("slots=128", "bind", "cuMulticastBindMem", 2, "MC345"),
    ("memory=1048576", "create", "cuMemCreate", 2, None),
]


@pytest.mark.parametrize(("fault", "stage", "call", "status", "rule"), STATES)
def test_what_the_machine_does_not_give_is_told_with_the_rule(
    cuda_machine: CudaMachine, fault: str, stage: str, call: str, status: int, rule: str | None
) -> None:
    cuda_machine.faults.set(fault)
    with pytest.raises(TeamError) as caught:
        up()
    error = caught.value
    assert (error.rank, error.stage, error.call, error.status) == (0, stage, call, status)
    assert rule is None or (error.rule == rule and rule in str(error))
    assert cuda_machine.leaks() == []
    cuda_machine.faults.clear()
    with up() as team:
        assert whole(team)


@pytest.mark.cuda_machine(machine="gb200-nvl72", faults=["imex=none"])
def test_one_process_needs_no_imex_channel() -> None:
    with up() as team:
        assert whole(team)


@pytest.mark.parametrize("fault", ["fm=stopped", "slots=128"])
def test_where_multicast_is_not_required_the_team_goes_on_without(cuda_machine: CudaMachine, fault: str) -> None:
    cuda_machine.faults.set(fault)
    with up(require_multicast=False) as team, team.empty(4) as array:
        assert not team.has_multicast and team.why_not and "cuMulticastBindMem" in team.why_not
        assert array.multicast_ptr == 0 and len({array.peer(rank) for rank in range(RANKS)}) == RANKS


def attempts(cuda_machine: CudaMachine, fault: str, **options: Any) -> int:
    """Count how often a bring-up begins that fails."""
    cuda_machine.faults.set(fault)
    with noted() as made, pytest.raises(TeamError):
        Team.local(range(2), backoff=0.001, **options)
    cuda_machine.faults.clear()
    return made.count("cuMulticastCreate")


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_802_is_tried_again_so_often(cuda_machine: CudaMachine, retries: int) -> None:
    assert attempts(cuda_machine, "fm=stopped", retries=retries) == retries + 1
    assert cuda_machine.leaks() == []


@pytest.mark.parametrize("fault", ["fm=restarted", "fail:cuMulticastBindMem:status=909", "slots=128"])
def test_other_statuses_are_not_tried_again(cuda_machine: CudaMachine, fault: str) -> None:
    assert attempts(cuda_machine, fault, retries=3) == 1


@pytest.mark.parametrize("nth", [1, 2, 3, 5])
def test_802_that_passes_is_passed_over(cuda_machine: CudaMachine, nth: int) -> None:
    """It strikes one rank at one use; the ranks before it have bound already, and bind to a new object."""
    cuda_machine.faults.set(f"fail:cuMulticastBindMem:nth={nth}:status=802")
    with noted() as made, up(retries=1, backoff=0) as team:
        assert whole(team)
        assert made.count("cuMulticastCreate") == (2 if nth <= RANKS else 1)


def test_a_fabric_manager_that_is_starting_is_waited_for(cuda_machine: CudaMachine) -> None:
    driver.init(0)  # a process that begins later would meet 919 here
    cuda_machine.faults.set("fm=starting:0.3")
    with up(retries=6, backoff=0.02) as team:
        assert whole(team)


def test_the_wait_doubles(monkeypatch: pytest.MonkeyPatch, cuda_machine: CudaMachine) -> None:
    waits: list[float] = []
    monkeypatch.setattr("cumulticast.team.bringup.time.sleep", waits.append)
    cuda_machine.faults.set("fm=stopped")
    with pytest.raises(TeamError):
        Team.local(range(2), retries=4, backoff=0.5)
    assert waits == [0.5, 1, 2, 4]


def test_a_status_that_does_not_pass_counts_more_than_802(cuda_machine: CudaMachine) -> None:
    """Rank 0 answers 802, rank 1 something final: to try again would be in vain."""
    cuda_machine.faults.set("fail:cuMulticastBindMem:nth=1:status=802", "fail:cuMemCreate:nth=5:status=2")
    with pytest.raises(TeamError) as caught:
        up(retries=5, backoff=0)
    assert (caught.value.status, caught.value.call, caught.value.rank) == (2, "cuMemCreate", 1)


@pytest.mark.parametrize("state", ["fm=never", "fm=starting:30"])
def test_a_process_that_has_begun_may_begin_again_whatever_has_stopped_since(
    cuda_machine: CudaMachine, state: str
) -> None:
    driver.init(0)
    cuda_machine.faults.set(state)
    driver.init(0)
    with pytest.raises(TeamError) as caught:
        up()
    assert (caught.value.stage, caught.value.status) == ("bind", 802)


# ---- interrupts


class Interrupts:
    """Ctrl-C before the n-th call of the driver."""

    def __init__(self, patch: pytest.MonkeyPatch, names: set[str]) -> None:
        self.left = 0
        for name in names:
            patch.setattr(driver, name, partial(self._call, getattr(driver, name)))

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return function(*arguments)


def interrupted_everywhere(work: Work, cuda_machine: CudaMachine, patch: pytest.MonkeyPatch, made: list[str]) -> None:
    """Interrupt some work at each of its calls in turn, and see that each time nothing is left of it."""
    names = {python_name(name) for name in made} & set(dir(driver))
    interrupts, left = Interrupts(patch, names), len(left_behind(cuda_machine.driver))
    for number in range(1, len(made) + 1):
        interrupts.left = number
        with pytest.raises(KeyboardInterrupt):
            work()
        assert len(left_behind(cuda_machine.driver)) == left, number


@pytest.mark.parametrize("what", ["team", "split", "share"])
def test_an_interrupt_at_any_call_leaves_nothing(
    cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with up() as team, team.empty(10) as array, team.split([2, 0]) as part:
        works: dict[str, Work] = {
            "team": up,
            "split": lambda: team.split([1, 2]),
            "share": lambda: part.share(array),
        }
        with noted() as made:
            good = works[what]()
            calls = list(made)
        good.close()
        with monkeypatch.context() as patch:
            interrupted_everywhere(works[what], cuda_machine, patch, calls)
        assert whole(team) and whole(part)


def test_an_interrupt_at_any_call_of_a_growth_leaves_the_team_as_it_was(
    cuda_machine: CudaMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with up() as other, noted() as made:
        other.empty(2 * MIB)
        calls = list(made)
    with up() as team:
        before = team.usage
        with monkeypatch.context() as patch:
            interrupted_everywhere(lambda: team.empty(2 * MIB), cuda_machine, patch, calls)
        assert team.usage == before and whole(team)


def test_primary_contexts_are_given_back(cuda_machine: CudaMachine) -> None:
    def active() -> list[int]:
        return [driver.device_primary_ctx_get_state(device)[1] for device in range(RANKS + 1)]

    with up() as team:
        assert active() == [1] * RANKS + [0]
        team.empty(2 * MIB)
    assert active() == [0] * (RANKS + 1)
    for call in ("cuMulticastCreate", "cuMemSetAccess"):
        cuda_machine.faults.set(f"fail:{call}:status=999")
        with pytest.raises(TeamError):
            up()
        cuda_machine.faults.clear()
        assert active() == [0] * (RANKS + 1)
