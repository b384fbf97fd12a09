"""The Python side of the door: one function answers every call that reaches libcuda.so.1."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from cumulticast.libcuda import lookup as _lookup  # noqa: F401 (registers cuGetProcAddress)
from cumulticast.libcuda._door import ffi, lib
from cumulticast.libcuda.glue import Run, broken, make
from cumulticast.libcuda.table import Entry, by_symbol
from cumulticast.rules import Refused, Status, general
from cumulticast.sim import calls
from cumulticast.sim.driver import Driver, Options
from cumulticast.sim.entry import HANDLERS, Wait

WAIT = -1
CLOSING = -1  # the entry "number" with which a C program says that it ends
FAULTS = {1: "null", 2: "unreadable", 3: "unwritable"}
INTERRUPTED = 4

ENTRIES: tuple[Entry, ...] = tuple(by_symbol().values())
calls.load_all()


def stopped(thread: int, u: Any, i: Any, out: Any) -> None:
    """Answer every call after the simulated machine was stopped."""
    raise Refused(Status.NOT_INITIALIZED, general.initialized, "the simulated machine was stopped; sim.start() another")


class Server:
    """The driver in service, and the function for each entry."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        self.runs: list[Run | None] = []

    def serve(self, driver: Driver) -> None:
        """Answer calls from this driver."""
        self.driver = driver
        self.runs = [make(entry, driver) if entry.plain in HANDLERS else None for entry in ENTRIES]


SERVER = Server()


def library_path() -> Path:
    """Answer where libcuda.so.1 lies."""
    return Path(__file__).with_name("libcuda.so.1")


def loaded_libcuda() -> str | None:
    """Answer the path of a libcuda that this process has loaded."""
    found = lib.loaded_libcuda()
    return ffi.string(found).decode() if found != ffi.NULL else None


def open_door(driver: Driver) -> None:
    """Put ``driver`` behind libcuda.so.1 in this process.

    Raises
    ------
    RuntimeError
        Another libcuda is loaded, or ours was not built.
    """
    loaded = loaded_libcuda()
    path = loaded if loaded and is_ours(loaded) else str(library_path())
    if loaded and not is_ours(loaded):
        raise RuntimeError(
            f"another libcuda is loaded in this process ({loaded}); start the simulator before the first CUDA call, "
            "or run the program under `cumulticast run`"
        )
    SERVER.serve(driver)
    problem = lib.attach(path.encode())
    if problem != ffi.NULL:
        raise RuntimeError(f"{path}: {ffi.string(problem).decode()}; is cumulticast installed (pip install .)?")


def is_ours(path: str) -> bool:
    """Tell whether a loaded libcuda is the one beside this file (perhaps through a link)."""
    return os.path.exists(path) and os.path.samefile(path, library_path())


def start_from_host() -> None:
    """Start the driver that the environment asks for: a program called into libcuda.so.1 before anybody else."""
    open_door(Driver(Options.from_environment()))


def close_driver() -> None:
    """Close the driver in service; later calls find no initialised driver."""
    if SERVER.driver is not None:
        SERVER.runs = [stopped] * len(ENTRIES)
        SERVER.driver.close()
        lib.forget()


def _at_exit() -> None:
    """Answer 4 from now on: destructors that call later must not reach into a dying interpreter."""
    lib.close_door()
    close_driver()


atexit.register(_at_exit)


@ffi.def_extern(error=int(Status.UNKNOWN))
def dispatch(index: int, fault: int, thread: int, u: Any, i: Any, out: Any) -> int:
    """Answer one call. What door.c expects is written in door.h."""
    try:
        if fault or index < 0:
            return _unusual(index, fault, thread)
        run = SERVER.runs[index]
        if run is None:
            return _unanswered(index)
        driver = SERVER.driver
        assert driver is not None
        waiting = driver.waiting
        if not waiting.knows(thread):
            waiting.entered(thread, threading.get_native_id())
        if not driver.closed and driver.world.faults:
            return _with_faults(driver, run, index, thread, u, i, out)
        run(thread, u, i, out)
        if waiting.waits(thread):
            waiting.over(thread)
        return 0
    except Refused as refused:
        return _refused(index, thread, refused)
    except Wait as wait:
        out[0], out[1], out[2] = wait.word, wait.value, int(wait.seconds * 1e9)
        return WAIT
    except Exception:
        return _broken(index)


def _with_faults(driver: Driver, run: Run, index: int, thread: int, u: Any, i: Any, out: Any) -> int:
    """Run a call under injected faults, which befall it before or after; a call that waits is one call."""
    if not driver.waiting.waits(thread):
        driver.faults.before(ENTRIES[index].symbol)
    run(thread, u, i, out)
    driver.waiting.over(thread)
    driver.faults.after(ENTRIES[index].symbol)
    return 0


def _refused(index: int, thread: int, refused: Refused) -> int:
    driver = SERVER.driver
    assert driver is not None
    driver.waiting.over(thread)
    return int(driver.refuse(ENTRIES[index].symbol, refused))


def _unusual(index: int, fault: int, thread: int) -> int:
    """Answer what is no ordinary call: the program's end, a bad pointer, a wait that a signal ended."""
    driver = SERVER.driver
    assert driver is not None
    if index == CLOSING:
        close_driver()
        return 0
    kind, position = fault & 0xFF, fault >> 8
    entry = ENTRIES[index]
    if kind == INTERRUPTED:
        driver.waiting.over(thread)
        driver.log.write("W", f"{entry.symbol}: a signal handler raised while the call waited; it was given up")
        return int(Status.UNKNOWN)
    if entry.plain not in HANDLERS:
        return _unanswered(index)
    name = entry.params[position].name
    if driver.process is None and {"process", "context"} & set(HANDLERS[entry.plain].injected):
        return _refused(index, thread, broken(general.initialized, False))
    if FAULTS[kind] == "null":
        return _refused(index, thread, broken(general.pointer_given, name, 0))
    reason = f"{name} points to memory that is {FAULTS[kind]}"
    return _refused(index, thread, Refused(Status.INVALID_VALUE, general.pointer_given, reason))


def _unanswered(index: int) -> int:
    """Answer an entry that is not simulated: 801, and the log names it."""
    driver = SERVER.driver
    assert driver is not None
    symbol = ENTRIES[index].symbol
    return int(driver.refuse(symbol, broken(general.simulated, symbol, False)))


def _broken(index: int) -> int:
    """Answer 999 for a bug of ours, with the traceback where people look."""
    print(f"cumulticast: {ENTRIES[index].symbol} failed inside the simulator (please report):", file=sys.stderr)
    traceback.print_exc()
    return int(Status.UNKNOWN)
