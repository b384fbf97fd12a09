"""cuGetProcAddress: from a name and a version to the entry that a program may call."""

from __future__ import annotations

from cumulticast.libcuda._door import ffi, lib
from cumulticast.libcuda.table import by_symbol, forms, resolve
from cumulticast.rules import Refused, Status, general
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import entry

FOUND, NOT_FOUND, VERSION_NOT_SUFFICIENT = 0, 1, 2  # CUdriverProcAddressQueryResult
LEGACY_STREAM, PER_THREAD_DEFAULT_STREAM = 1, 2  # CUdriverProcAddress_flags
INDICES = {symbol: index for index, symbol in enumerate(by_symbol())}


@entry("cuGetProcAddress_v2")
def get_proc_address(driver: Driver, symbol: bytes, version: int, flags: int) -> tuple[int, int]:
    """Answer the address of the newest form not newer than ``version``, or 0 and why."""
    driver.judge(general.proc_address_version, version, driver.machine.driver_version)
    name = symbol.decode(errors="replace")
    found = resolve(name, version, driver.machine.driver_version, bool(flags & PER_THREAD_DEFAULT_STREAM))
    if found is None:
        return 0, VERSION_NOT_SUFFICIENT if forms(name) else NOT_FOUND
    return int(ffi.cast("uintptr_t", lib.entry(INDICES[found.symbol]))), FOUND


@entry("cuGetProcAddress")
def get_proc_address_11030(driver: Driver, symbol: bytes, version: int, flags: int) -> int:
    """Answer as the later form does; here an unknown name is an error."""
    address, _ = get_proc_address(driver, symbol, version, flags)
    if not address:
        raise Refused(Status.NOT_FOUND, None, f"no entry {symbol.decode(errors='replace')} up to version {version}")
    return address
