"""The same tests with each rank in a process of its own: what device k does, process k does.

With ``--ranks-apart`` the calls that a rank makes for its own device (add_device, bind_mem in both forms, unbind) are
carried out by a process per device, on the world of the test. The objects reach it beside the driver's own ways of
sharing, so that objects that are not shareable can be tested as well; a process keeps nothing beyond a call. What the
driver says there (status, log, findings) is told here as if it had been said here.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cuda.bindings._v2 import driver

from cumulticast import sim
from cumulticast.sim.driver import Driver, Finding, Options
from cumulticast.sim.handles import Handle

#: Call → (where a device stands, or -1: the owner of the memory; where handles stand).
CALLS = {
    "multicast_add_device": (1, (0,)),
    "multicast_bind_mem": (-1, (0, 2)),
    "multicast_bind_mem_v2": (1, (0, 3)),
    "multicast_unbind": (1, (0,)),
}
MEMORY = 2
ORIGINALS: dict[str, Callable[..., Any]] = {name: getattr(driver, name) for name in CALLS}


# ---- in the test's process


class Ranks:
    """One process for each device but the first, which is the test's own; each is started when it is first needed.

    They serve one test after the other: each enters the world of a test when it is asked something there.
    """

    def __init__(self) -> None:
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._here: dict[int, str] = {}  # ranks that are in a world, and in which

    def install(self) -> None:
        """Send the calls of other devices to their processes from now on."""
        for name in CALLS:
            setattr(driver, name, functools.wraps(ORIGINALS[name])(functools.partial(self._call, name)))

    def leave(self) -> None:
        """Let all ranks leave the world, and call directly again."""
        for name, original in ORIGINALS.items():
            setattr(driver, name, original)
        for rank in tuple(self._here):
            self._leave(rank)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            assert process.stdin is not None
            with process:
                process.stdin.close()
        self._processes.clear()

    def _call(self, name: str, *args: Any) -> None:
        handles = self._handles(name, args)
        rank = self._rank(name, args, handles)
        if handles is None or not rank:
            return ORIGINALS[name](*args)
        self._enter(rank)
        said = self._ask(rank, {"call": name, "args": [int(arg) for arg in args], "handles": handles})
        here = sim.current()
        for level, message in said["log"]:
            here.log.write(level, message)
        here.findings.extend(Finding(**finding) for finding in said["findings"])
        if said["status"]:
            raise error_of(said["status"])
        return None

    @staticmethod
    def _handles(name: str, args: tuple[Any, ...]) -> dict[int, list[Any]] | None:
        """Answer what each handle argument stands for; None when one stands for nothing."""
        found: dict[int, list[Any]] = {}
        process = sim.current().process
        for at in CALLS[name][1]:
            handle = process.handles.find(int(args[at])) if process and 0 <= int(args[at]) < 1 << 64 else None
            if handle is None:
                return None
            found[at] = [handle.kind, handle.obj, handle.imported]
        return found

    def _rank(self, name: str, args: tuple[Any, ...], handles: dict[int, list[Any]] | None) -> int:
        place = CALLS[name][0]
        if handles is None:
            return 0
        if place >= 0:
            rank = int(args[place])
        else:
            process = sim.current().process
            assert process is not None
            owner = process.handles.find(int(args[MEMORY]))
            rank = owner.device or 0 if owner is not None and owner.kind == "memory" else 0
        return rank if 0 < rank < len(sim.current().process.devices) else 0

    def _enter(self, rank: int) -> None:
        world, options = str(sim.current().world.path), sim.current().options
        if self._here.get(rank) == world:
            return
        if rank in self._here:  # the test has begun another
            self._leave(rank)
        self._ask(rank, {"world": world, "block_limit": options.block_limit, "hopeless": options.hopeless})
        self._here[rank] = world

    def _leave(self, rank: int) -> None:
        del self._here[rank]
        self._ask(rank, {})

    def _ask(self, rank: int, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process(rank)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            del self._processes[rank]
            raise AssertionError(f"rank {rank} has ended with {process.wait(10)}: {question}")
        return json.loads(answer)

    def _process(self, rank: int) -> subprocess.Popen[str]:
        if rank not in self._processes:
            command = [sys.executable, __file__]
            self._processes[rank] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._processes[rank]


def error_of(status: int) -> driver.DriverError:
    """Make NVIDIA's exception for a status, as the bindings do."""
    words = driver.Result(status).name.removeprefix("ERROR_").split("_")
    kind = getattr(driver, "".join(word.capitalize() for word in words) + "Error", driver.DriverError)
    return kind(status)


# ---- in the process of one rank


def serve() -> None:
    """Do what each line asks for until the input ends: enter a world, make a call there, or leave it."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "world" in asked:
            enter(asked)
        answer = carry_out(sim.current(), asked) if "call" in asked else {}
        if not asked:
            sim.stop()
        print(json.dumps(answer), flush=True)


def enter(options: dict[str, Any]) -> None:
    """Begin a driver in the world of a test."""
    from cumulticast.libcuda import serve as door

    door.open_door(Driver(Options(**{**options, "world": Path(options["world"])})))
    driver.init(0)


def carry_out(here: Driver, asked: dict[str, Any]) -> dict[str, Any]:
    """Make one call with handles of our own, give them back, and tell what the driver said."""
    line, before, args = here.log.end, len(here.findings), list(asked["args"])
    adopted = [adopt(here, *facts) for facts in asked["handles"].values()]
    for at, handle in zip(asked["handles"], adopted, strict=True):
        args[int(at)] = handle.value
    try:
        ORIGINALS[asked["call"]](*args)
        status = 0
    except driver.DriverError as error:
        status = int(error.status)
    for handle in adopted:
        handle.references = 0
        here.process.let_go(handle)
    log = [split(said) for said in here.log.since(line)]
    return {"status": status, "log": log, "findings": [asdict(finding) for finding in here.findings[before:]]}


def adopt(here: Driver, kind: str, obj: int, imported: bool) -> Handle:
    """Make a handle for an object of the world, as if this process had made it itself."""
    from cumulticast.sim.calls.sharing import import_object

    assert here.process is not None
    handle = import_object(here.process, kind, obj, 0)
    handle.imported = imported
    here.process.adopt(handle)
    return handle


def split(line: str) -> tuple[str, str]:
    """Answer level and message of a line of the error log."""
    head, _, message = line.partition("] ")
    return head[-1], message


if __name__ == "__main__":
    serve()
