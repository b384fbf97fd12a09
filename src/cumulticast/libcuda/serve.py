"""The Python side of the door: one function answers every call that reaches libcuda.so.1."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cumulticast.libcuda import glue, lookup
from cumulticast.libcuda._door import ffi, lib
from cumulticast.libcuda.glue import Function
from cumulticast.libcuda.signals import raised_by_signal
from cumulticast.libcuda.table import Entry, by_symbol
from cumulticast.rules import Refused, Status, broken, general
from cumulticast.sim import calls, trouble
from cumulticast.sim.driver import Driver, Options
from cumulticast.sim.entry import HANDLERS, NotReady, RefusedWith, Wait
from cumulticast.sim.trace_file import VARIABLE, TraceFile

if TYPE_CHECKING:
    from cumulticast.libcuda.tracing import Failed, Otherwise, Tracer

# door.h
AFTER, CALL, WATCHED, FAULT, GIVE_UP, NEW_THREAD, CLOSE = range(-1, 6)
FAULTS = {1: "null", 2: "unreadable", 3: "unwritable"}

ENTRIES: tuple[Entry, ...] = tuple(by_symbol().values())
calls.load_all()
assert "cuGetProcAddress_v2" in HANDLERS, lookup


def library_path() -> Path:
    """Answer where libcuda.so.1 lies."""
    return Path(__file__).with_name("libcuda.so.1")


def loaded_libcuda() -> str | None:
    """Answer the path of a libcuda that this process has loaded."""
    found = lib.loaded_library()
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
    problem = lib.attach(path.encode(), driver.world.fault_address, driver.world.calm)
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
        SERVER.stop()
        lib.forget()
        SERVER.driver.close()


def _at_exit() -> None:
    """Answer 4 from now on: destructors that call later must not reach into a dying interpreter."""
    lib.close_door()
    SERVER.at_exit = True
    close_driver()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=lib.collect_again)


# ---- what is no ordinary call


def otherwise(ask: int, index: int, thread: int, fault: int) -> int:
    """Answer what door.c asks beside ordinary calls; 0 lets a watched call go on."""
    driver = in_service()
    if ask == WATCHED:
        if not driver.waiting.waits(thread):
            driver.faults.before(*fault_names(ENTRIES[index]))
    elif ask == AFTER:
        driver.waiting.over(thread)
        driver.faults.after(*fault_names(ENTRIES[index]))
    elif ask == NEW_THREAD:
        driver.waiting.entered(thread, threading.get_native_id())
    elif ask == FAULT:
        raise bad_argument(driver, ENTRIES[index], fault)
    elif ask == GIVE_UP:
        driver.waiting.over(thread)
        call = ENTRIES[index].symbol
        driver.log.write("W", f"{call}: a signal handler raised while the call waited; it was given up")
        return int(Status.UNKNOWN)
    elif ask == CLOSE:
        close_driver()
    return 0


def fault_names(entry: Entry) -> tuple[str, ...]:
    """Answer what a fault specification may call an entry: cuMemcpyHtoD is cuda.h's name for cuMemcpyHtoD_v2."""
    is_another = entry.base in by_symbol()  # such as cuMulticastBindMem, beside its _v2
    return (entry.plain,) if is_another else (entry.plain, entry.base)


def failed(error: BaseException, index: int, thread: int) -> int | tuple[int, Any] | tuple[int, int, int]:
    """Turn what a handler raised into a status, with outputs if there are any, or into what to wait for."""
    if isinstance(error, Wait):
        return error.word, error.value, int(error.seconds * 1e9)
    if SERVER.at_exit:  # a thread's call was under way when its driver went
        return int(Status.DEINITIALIZED)
    driver, entry = in_service(), ENTRIES[index]
    driver.waiting.over(thread)
    if isinstance(error, NotReady):
        return int(Status.NOT_READY)
    if not isinstance(error, Refused) and not driver.closed:
        driver.world.recover()
    if not isinstance(error, Refused) and raised_by_signal(error):
        lib.redeliver(id(error))
        return int(Status.UNKNOWN)
    refused = error if isinstance(error, Refused) else trouble.refusal(error, driver.world.path)
    if refused is not None:
        status = int(driver.refuse(entry.symbol, refused))
        return (status, refused.outputs) if isinstance(refused, RefusedWith) else status
    print(f"cumulticast: {entry.symbol} failed inside the simulator (please report):", file=sys.stderr)
    traceback.print_exception(error)
    return int(Status.UNKNOWN)


def bad_argument(driver: Driver, entry: Entry, fault: int) -> Refused:
    """Say what is wrong with an argument, unless the call could not be answered anyway."""
    kind, position = FAULTS[fault & 0xFF], fault >> 8
    if entry.plain not in HANDLERS and not driver.closed:
        return broken(general.simulated, entry.symbol, False)
    if driver.closed or (driver.process is None and {"process", "context"} & set(HANDLERS[entry.plain].injected)):
        return broken(general.initialized, False)
    name = entry.params[position].name
    if kind == "null":
        return broken(general.pointer_given, name, 0)
    return Refused(Status.INVALID_VALUE, general.pointer_given, f"{name} points to memory that is {kind}")


def stopped(*arguments: Any) -> NoReturn:
    """Answer every call after the simulated machine was stopped."""
    reason = "the simulated machine was stopped; sim.start() another"
    raise Refused(Status.NOT_INITIALIZED, general.initialized, reason)


class Collector:
    """Holds the collector back while work of streams is done, as the door does while it answers calls."""

    def __enter__(self) -> None:
        lib.hold_back_collector()

    def __exit__(self, *what: object) -> None:
        lib.let_collector_go()


COLLECTOR = Collector()


class Server:
    """The driver in service, and the function for each entry."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        self.at_exit = False
        self.functions: list[Function] = [stopped] * len(ENTRIES)
        self._tracer: Tracer | None = None
        self._answer_by(otherwise, failed)

    def _answer_by(self, otherwise: Otherwise, failed: Failed) -> None:
        """Let the door ask these functions; it holds no references of its own."""
        self._asked = otherwise, failed
        lib.serve(id(self.functions), id(otherwise), id(failed))

    def serve(self, driver: Driver) -> None:
        """Answer calls from this driver."""
        self.driver = driver
        driver.collector = COLLECTOR
        glue.serve(ENTRIES, driver, self.functions)
        if os.environ.get(VARIABLE):
            self._trace(driver, TraceFile.join(os.environ[VARIABLE], driver.world))

    def _trace(self, driver: Driver, file: TraceFile) -> None:
        """Record all calls from now on."""
        from cumulticast.libcuda.tracing import Tracer

        self._tracer = tracer = Tracer(driver, file, ENTRIES)
        self.functions[:] = [tracer.wrap(k, function, otherwise) for k, function in enumerate(self.functions)]
        self._answer_by(tracer.otherwise(otherwise, lib.given), tracer.failed(failed))

    def stop(self) -> None:
        """Answer no more calls."""
        self.functions[:] = [stopped] * len(ENTRIES)
        if self._tracer is not None:
            self._answer_by(otherwise, failed)
            self._tracer.close()
            self._tracer = None


SERVER = Server()


def in_service() -> Driver:
    """Answer the driver that serves, or served last."""
    assert SERVER.driver is not None
    return SERVER.driver
