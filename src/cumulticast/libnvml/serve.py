"""The Python side of libnvidia-ml.so.1: what libcuda/serve.py is to libcuda.so.1, without a driver behind it."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from cumulticast.libcuda.signals import raised_by_signal
from cumulticast.libcuda.table import Entry
from cumulticast.libnvml import books, calls
from cumulticast.libnvml._door import ffi, lib
from cumulticast.libnvml.entry import HANDLERS, Function, bind, entries
from cumulticast.libnvml.service import Service
from cumulticast.libnvml.status import Refused, Status
from cumulticast.sim.driver import Driver, Options
from cumulticast.sim.machine import load

FAULT = 2  # door.h: ASK_FAULT; the others ask nothing of NVML
FAULTS = {1: "null", 2: "unreadable", 3: "unwritable"}
SONAME = "libnvidia-ml.so.1"

ENTRIES: tuple[Entry, ...] = entries()
calls.load_all()


def library_path() -> Path:
    """Answer where libnvidia-ml.so.1 lies."""
    return Path(__file__).with_name(SONAME)


class Server:
    """NVML in service, and the function for each entry; the door holds no references of its own."""

    def __init__(self) -> None:
        self.service: Service | None = None
        self.functions: list[Function] = [_closed] * len(ENTRIES)
        self._asked = (otherwise, failed)
        lib.serve(id(self.functions), id(otherwise), id(failed))

    def serve(self, service: Service) -> None:
        """Answer calls about this service's machine."""
        self.service = service
        self.functions[:] = [bind(entry, service) for entry in ENTRIES]


def start_from_host() -> None:
    """Tell of the machine that the environment names: a program called into libnvidia-ml.so.1."""
    options = Options.from_environment()
    if options.world is not None:
        service = Service.of_world(options.world, options.node)
    else:
        machine = load(options.machine, devices=options.devices, nodes=options.nodes)
        service = Service(machine, options.node, None)
    open_door(service)


def open_door(service: Service) -> None:
    """Put ``service`` behind libnvidia-ml.so.1 in this process.

    Raises
    ------
    RuntimeError
        Another libnvidia-ml is loaded, or ours was not built.
    """
    loaded = loaded_library()
    if loaded and not _is_ours(loaded):
        raise RuntimeError(f"another libnvidia-ml is loaded in this process ({loaded})")
    SERVER.serve(service)
    problem = lib.attach((loaded or str(library_path())).encode(), 0, 0)
    if problem != ffi.NULL:
        raise RuntimeError(f"{SONAME}: {ffi.string(problem).decode()}; is cumulticast installed (pip install .)?")


def loaded_library() -> str | None:
    """Answer the path of a libnvidia-ml that this process has loaded."""
    found = lib.loaded_library()
    return ffi.string(found).decode() if found != ffi.NULL else None


def _is_ours(path: str) -> bool:
    return os.path.exists(path) and os.path.samefile(path, library_path())


def tell_of(driver: Driver) -> None:
    """Tell of the machine of a driver in this process, unless the program has loaded another libnvidia-ml before."""
    loaded = loaded_library()
    if loaded is None or _is_ours(loaded):
        open_door(Service(driver.machine, driver.options.node, driver.world.path))


def otherwise(ask: int, index: int, thread: int, fault: int) -> int:
    """Answer what door.c asks beside ordinary calls: only a bad argument means something here."""
    del thread
    if ask != FAULT:
        return 0
    entry = ENTRIES[index]
    if entry.symbol not in HANDLERS:
        raise Refused(Status.NOT_SUPPORTED, "the simulator does not answer this entry")
    if not _service().users:
        raise Refused(Status.UNINITIALIZED, "nvmlInit was not called, or nvmlShutdown was")
    name = entry.params[fault >> 8].name
    raise Refused(Status.INVALID_ARGUMENT, f"{name} is {FAULTS[fault & 0xFF]}")


def failed(error: BaseException, index: int, thread: int) -> int | tuple[int, Any]:
    """Turn what a handler raised into a status, with outputs if there are any."""
    del thread
    call = ENTRIES[index].symbol
    if not isinstance(error, Refused) and raised_by_signal(error):
        books.recover()
        lib.redeliver(id(error))
        return int(Status.UNKNOWN)
    if not isinstance(error, Refused):
        print(f"cumulticast: {call} failed inside the simulator (please report):", file=sys.stderr)
        traceback.print_exception(error)
        return int(Status.UNKNOWN)
    status = int(_service().refuse(call, error))
    return status if error.outputs is None else (status, error.outputs)


def _service() -> Service:
    assert SERVER.service is not None
    return SERVER.service


def _closed(*arguments: Any) -> None:
    raise Refused(Status.UNINITIALIZED, "no machine is in service")


SERVER = Server()
atexit.register(lib.close_door)
