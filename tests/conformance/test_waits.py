"""Binds and maps wait until all devices of the team have been added; how such a wait ends otherwise."""

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from builders import STEP, Answer, Bind, allocation_prop, ask, bare_object, mapped, memory, piece, reserve
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

pytestmark = [pytest.mark.timeout(20), pytest.mark.one_process]


def in_thread(call: Callable[..., Any], *args: Any) -> Future[Answer]:
    """Make a call in a thread of its own, and go on once it waits."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(ask, call, *args)
    pool.shutdown(wait=False)
    waiting = sim.current().waiting
    deadline = time.monotonic() + 5
    while not waiting.waiters and time.monotonic() < deadline:
        time.sleep(0.005)
    assert waiting.waiters, f"{call.__name__} does not wait"
    return future


def ends_with_the_last_device(mc: int, call: Callable[..., Any], *args: Any) -> None:
    """Check that a call waits, through the first device, and ends promptly after the last."""
    future = in_thread(call, *args)
    driver.multicast_add_device(mc, 0)
    time.sleep(0.05)
    assert not future.done()
    start = time.monotonic()
    driver.multicast_add_device(mc, 1)
    assert future.result(5).status == 0
    assert time.monotonic() - start < 0.1


# ---- waiting


@pytest.mark.usefixtures("either")
def test_a_bind_waits_for_the_team(bind: Bind) -> None:
    mc, mem = bare_object(2), piece()
    ends_with_the_last_device(mc, bind, mc, 0, mem)


@pytest.mark.usefixtures("strict")
def test_a_bind_of_the_first_bindings_waits() -> None:
    mc, mem = bare_object(2), memory()
    ends_with_the_last_device(mc, v1.cuMulticastBindMem, mc, 0, mem, 0, STEP, 0)


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("map_", [driver.mem_map, v1.cuMemMap], ids=["_v2", "v1"])
def test_a_map_waits_for_the_team(map_: Callable[..., Any]) -> None:
    mc, ptr = bare_object(2), reserve()
    ends_with_the_last_device(mc, map_, ptr, STEP, 0, mc, 0)


@pytest.mark.usefixtures("strict")
def test_what_is_wrong_is_said_at_once_not_after_the_wait() -> None:
    mc = bare_object(2)
    assert ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP - 1, 0).refused == ("MC304",)


@pytest.mark.usefixtures("strict")
def test_other_calls_go_on_while_one_waits() -> None:
    mc = bare_object(2)
    future = in_thread(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0)
    start = time.monotonic()
    for _ in range(50):
        driver.mem_release(memory(1))
    assert time.monotonic() - start < 1
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    assert future.result(5).status == 0


@pytest.mark.usefixtures("strict")
def test_several_waits_end_together() -> None:
    mc = bare_object(2)
    futures = [in_thread(driver.multicast_bind_mem, mc, 0, memory(dev), 0, STEP, 0) for dev in (0, 1)]
    futures.append(in_thread(driver.mem_map, reserve(), STEP, 0, mc, 0))
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    assert [future.result(5).status for future in futures] == [0, 0, 0]


@pytest.mark.usefixtures("strict")
def test_the_object_can_be_released_while_a_bind_of_it_waits() -> None:
    mc = bare_object(2)
    future = in_thread(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0)
    driver.mem_release(mc)
    assert future.result(5).refused == ("MC007",)


@pytest.mark.usefixtures("strict")
def test_the_memory_can_be_released_while_its_bind_waits() -> None:
    mc, mem = bare_object(2), memory()
    future = in_thread(driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0)
    driver.mem_release(mem)
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    assert future.result(5).refused == ("MC007",)


# ---- waits that cannot end


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    "waits",
    [
        lambda mc: ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0),
        lambda mc: ask(v1.cuMulticastBindMem, mc, 0, memory(), 0, STEP, 0),
        lambda mc: ask(driver.mem_map, reserve(), STEP, 0, mc, 0),
        lambda mc: ask(v1.cuMemMap, reserve(), STEP, 0, mc, 0),
    ],
    ids=["bind", "bind v1", "map", "map v1"],
)
def test_a_hopeless_wait_ends_after_a_second(waits: Callable[[int], Answer]) -> None:
    mc = bare_object(2)
    driver.multicast_add_device(mc, 1)
    start = time.monotonic()
    answer = waits(mc)
    assert 0.9 < time.monotonic() - start < 2
    assert (answer.status, answer.refused, answer.found) == (909, ("MC341",), ("MC341",))
    obj = sim.world().multicast[0].id
    assert f"multicast object {obj} waits for 1 of 2 devices; added so far: 1" in answer.text


@pytest.mark.usefixtures("strict")
def test_a_thread_that_may_yet_add_a_device_is_hope() -> None:
    mc = bare_object(2)
    future = in_thread(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0)  # this thread uses the driver, too
    time.sleep(1.5)
    assert not future.done()
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    answer = future.result(5)
    assert answer.status == 0
    assert "MC340 multicast_bind_mem: multicast object" in answer.text  # after a second it said what it waits for


@pytest.mark.usefixtures("strict")
def test_a_wait_of_a_map_is_spoken_of_under_its_own_rule() -> None:
    mc = bare_object(2)
    future = in_thread(driver.mem_map, reserve(), STEP, 0, mc, 0)
    time.sleep(1.5)
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    assert "MC504 mem_map: multicast object" in future.result(5).text


@pytest.mark.usefixtures("strict")
def test_two_threads_that_wait_for_each_other_are_hopeless() -> None:
    mc, other = bare_object(2), bare_object(2)
    future = in_thread(driver.multicast_bind_mem, other, 0, memory(), 0, STEP, 0)
    assert ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0).status == 909
    for dev in (0, 1):  # this thread is back: the other may hope again, or has been told the same
        driver.multicast_add_device(other, dev)
    assert future.result(5).status in (0, 909)


def test_a_thread_that_has_ended_is_no_hope(start) -> None:
    start(devices=2)
    mc = bare_object(2)
    helper = threading.Thread(target=driver.multicast_add_device, args=(mc, 0))
    helper.start()
    helper.join()
    assert ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0).refused == ("MC341",)


@pytest.mark.parametrize("hopeless", ["fail", "wait"])
def test_a_block_limit_ends_a_wait(start, hopeless: str) -> None:
    start(devices=2, block_limit=0.3, hopeless=hopeless)
    mc = bare_object(2)
    begun = time.monotonic()
    answer = ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0)
    assert 0.3 <= time.monotonic() - begun < 0.8
    assert (answer.status, answer.refused) == (909, ("MC342",))


def test_hopeless_waits_go_on_where_that_is_asked_for(start) -> None:
    start(devices=2, block_limit=1.8, hopeless="wait")
    mc = bare_object(2)
    begun = time.monotonic()
    assert ask(driver.multicast_bind_mem, mc, 0, memory(), 0, STEP, 0).refused == ("MC342",)
    assert time.monotonic() - begun >= 1.8


@pytest.mark.usefixtures("strict")
def test_a_wait_that_was_given_up_left_nothing() -> None:
    mc, mem = bare_object(2), memory()
    assert ask(driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0).status == 909
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(mc, 1)
    driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    assert mapped(mc, STEP, [0, 1])


# ---- signals


class Late(Exception):
    """What a handler of the tests raises."""


@pytest.fixture
def alarm(monkeypatch: pytest.MonkeyPatch):
    """Give a function that sends SIGALRM once, later, to a handler of its caller's."""
    before = signal.getsignal(signal.SIGALRM)

    def later(seconds: float, handler: Callable[..., Any]) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield later
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


WAITING_BINDS = pytest.mark.parametrize("call", [driver.multicast_bind_mem, v1.cuMulticastBindMem], ids=["_v2", "v1"])
by_signal = pytest.mark.timeout(20, method="thread")  # the other method needs SIGALRM for itself


@by_signal
@WAITING_BINDS
def test_ctrl_c_ends_a_wait(start, call: Callable[..., Any]) -> None:
    start(devices=2, hopeless="wait")
    mc, mem = bare_object(2), memory()
    main = threading.main_thread().ident
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call(mc, 0, mem, 0, STEP, 0)
    assert time.monotonic() - begun < 1
    assert driver.device_get_count() == 2  # the driver goes on


@by_signal
@WAITING_BINDS
def test_what_a_handler_raises_arrives(start, alarm, call: Callable[..., Any]) -> None:
    def handler(*_: Any) -> None:
        raise Late("after 0.2 s")

    start(devices=2, hopeless="wait")
    mc, mem = bare_object(2), memory()
    alarm(0.2, handler)
    with pytest.raises(Late, match=r"^after 0.2 s$"):
        call(mc, 0, mem, 0, STEP, 0)


@by_signal
@WAITING_BINDS
def test_a_handler_that_returns_lets_the_wait_go_on(start, alarm, call: Callable[..., Any]) -> None:
    start(devices=2, hopeless="wait")
    mc, mem, heard = bare_object(2), memory(), []
    alarm(0.2, lambda *_: heard.append(time.monotonic()))

    def add_all() -> None:
        driver.multicast_add_device(mc, 0)
        driver.multicast_add_device(mc, 1)

    begun = time.monotonic()
    threading.Timer(0.5, add_all).start()
    assert ask(call, mc, 0, mem, 0, STEP, 0).status == 0
    assert time.monotonic() - begun >= 0.5
    assert len(heard) == 1


@by_signal
@pytest.mark.parametrize("create", [driver.mem_create, v1.cuMemCreate], ids=["_v2", "v1"])
def test_what_a_handler_raises_in_the_middle_of_a_call_arrives(start, alarm, create: Callable[..., Any]) -> None:
    def handler(*_: Any) -> None:
        raise Late("in the middle")

    start(devices=1, faults=["delay:cuMemCreate:seconds=2"])
    prop = v1.CUmemAllocationProp() if create is v1.cuMemCreate else allocation_prop()
    if create is v1.cuMemCreate:
        prop.type = v1.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = v1.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    alarm(0.2, handler)
    begun = time.monotonic()
    with pytest.raises(Late, match=r"^in the middle$"):
        create(STEP, prop, 0)
    assert time.monotonic() - begun < 1
    assert sim.world().allocations == ()
    assert memory()


@by_signal
def test_ctrl_c_between_many_calls_is_never_lost(start) -> None:
    """A signal strikes anywhere: in the caller's code, in the bindings, or in the middle of a handler of ours."""
    start(devices=1)
    main = threading.main_thread().ident
    for k in range(20):
        timer = threading.Timer(0.05 + 0.0007 * k, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work_for_two_seconds()
        timer.join()
    assert memory()


def work_for_two_seconds() -> None:
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        driver.mem_release(memory())
