"""What the conformance tests are made of: memory, objects, mappings, and what the driver says about a call.

Everything goes through NVIDIA's own `cuda.bindings`; the simulator is asked only which rules it named.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
STEP = 2 * MIB  # the minimum granularity of every machine
PAGE = 512 * MIB  # the recommended granularity of large objects, and what extents are rounded up to
FD, FABRIC = 1, 8
DEVICE, HOST, HOST_NUMA = 1, 2, 3
READ, READWRITE = 1, 3
TAG = re.compile(r"\[E\] (MC\d{3,4}) ")


# ---- what the driver says


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, the rules that refused the call, the rules it only found something under, and what was said."""

    status: int
    refused: tuple[str, ...]
    found: tuple[str, ...]
    value: Any
    text: str


def ask(call: Callable[..., Any], *args: Any) -> Answer:
    """Call a function of either bindings and collect what the driver says about it."""
    log, before, line = sim.current().log, len(sim.findings()), sim.current().log.end
    status, value = _call(call, args)
    lines = log.since(line)
    refused = tuple(match[1] for match in map(TAG.search, lines) if match)
    found = tuple(finding.rule for finding in sim.findings()[before:])
    return Answer(status, refused, found, value, "\n".join(lines))


def _call(call: Callable[..., Any], args: tuple[Any, ...]) -> tuple[int, Any]:
    try:
        value = call(*args)
    except driver.DriverError as error:
        return int(error.status), None
    if isinstance(value, tuple) and value and isinstance(value[0], v1.CUresult):
        return int(value[0]), value[1] if len(value) == 2 else value[1:]
    return 0, value


def refused(call: Callable[..., Any], *args: Any) -> tuple[int, str]:
    """Answer (status, rule) of a call that must be refused for exactly one reason.

    A rule about undefined behaviour that refuses also leaves a finding, under its own code only.
    """
    answer = ask(call, *args)
    assert answer.status, f"{call.__name__}{args} was accepted"
    assert len(answer.refused) == 1, f"refused by {answer.refused}:\n{answer.text}"
    assert set(answer.found) <= set(answer.refused), f"other findings: {answer.found}"
    return answer.status, answer.refused[0]


def accepted(call: Callable[..., Any], *args: Any) -> str:
    """Answer the rules, joined by a blank, under which an accepted call left findings: mostly none."""
    answer = ask(call, *args)
    assert answer.status == 0, answer.text
    return " ".join(answer.found)


# ---- physical memory and objects


def allocation_prop(kind: int = DEVICE, number: int = 0, handle_types: int = 0) -> Any:
    prop = driver.MemAllocationProp_v1()
    prop.type = driver.MemAllocationType.PINNED
    prop.location.type, prop.location.id = kind, number
    prop.requested_handle_types = handle_types
    return prop


def memory(dev: int = 0, size: int = STEP, handle_types: int = 0) -> int:
    """Create memory on a device."""
    return driver.mem_create(size, allocation_prop(DEVICE, dev, handle_types), 0)


def host_memory(node: int, size: int = STEP, kind: int = HOST_NUMA) -> int:
    """Create memory on a NUMA node of the host."""
    return driver.mem_create(size, allocation_prop(kind, node), 0)


def object_prop(devices: int = 2, size: int = STEP, handle_types: int = 0, flags: int = 0) -> Any:
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_, prop.handle_types, prop.flags_ = devices, size, handle_types, flags
    return prop


def bare_object(devices: int = 2, size: int = STEP, handle_types: int = 0) -> int:
    """Create a multicast object without devices."""
    return driver.multicast_create(object_prop(devices, size, handle_types))


def team(devices: int = 2, size: int = STEP, handle_types: int = 0) -> int:
    """Create a multicast object and add the devices 0, 1, … to it."""
    mc = bare_object(devices, size, handle_types)
    for dev in range(devices):
        driver.multicast_add_device(mc, dev)
    return mc


# ---- mappings


def access(*devs: int, flags: int = READWRITE, kind: int = DEVICE) -> Any:
    """Describe access for devices."""
    desc = driver.MemAccessDesc_v1(len(devs))
    for k, dev in enumerate(devs):
        desc[k].location.type, desc[k].location.id, desc[k].flags_ = kind, dev, flags
    return desc


def reserve(size: int = STEP) -> int:
    return driver.mem_address_reserve(size, 0, 0, 0)


def mapped(handle: int, size: int = STEP, devs: Iterable[int] = (0,), flags: int = READWRITE) -> int:
    """Map memory or a multicast object somewhere and give devices access; answer the address."""
    devs = tuple(devs)
    ptr = reserve(size)
    driver.mem_map(ptr, size, 0, handle, 0)
    if devs:
        driver.mem_set_access(ptr, size, access(*devs, flags=flags), len(devs))
    return ptr


def unmapped(ptr: int, size: int = STEP) -> None:
    """Take a mapping and its reservation away."""
    driver.mem_unmap(ptr, size)
    driver.mem_address_free(ptr, size)


def use(dev: int) -> int:
    """Make a device's primary context current."""
    context = driver.device_primary_ctx_retain(dev)
    driver.ctx_set_current(context)
    return context


def write(ptr: int, array: np.ndarray[Any, Any]) -> None:
    """Copy an array to device memory."""
    array = np.ascontiguousarray(array)
    driver.memcpy_htod_v2(ptr, array.ctypes.data, array.nbytes)


def read(ptr: int, shape: int | tuple[int, ...], dtype: Any = np.uint8) -> np.ndarray[Any, Any]:
    """Copy device memory to an array."""
    array = np.empty(shape, dtype)
    driver.memcpy_dtoh_v2(array.ctypes.data, ptr, array.nbytes)
    return array


# ---- the four binds as one


@dataclass(frozen=True, slots=True)
class Piece:
    """Memory that every form of bind can name: its handle, an address it is mapped at, its device."""

    handle: int
    ptr: int
    dev: int


def piece(dev: int = 0, size: int = STEP, handle_types: int = 0) -> Piece:
    """Create and map memory."""
    handle = memory(dev, size, handle_types)
    return Piece(handle, mapped(handle, size, [dev]), dev)


@dataclass(frozen=True, slots=True)
class Bind:
    """One of the four forms: ``bind(mc, mc_offset, piece, offset, size)``; `dev` is for the forms that name one."""

    by_address: bool
    names_device: bool

    @property
    def __name__(self) -> str:
        return "multicast_bind_" + ("addr" if self.by_address else "mem") + ("_v2" if self.names_device else "")

    def __call__(
        self, mc: int, mc_offset: int, memory: Piece, offset: int = 0, size: int = STEP, flags: int = 0, dev: int = -1
    ) -> None:
        where = (memory.ptr + offset,) if self.by_address else (memory.handle, offset)
        device = (memory.dev if dev < 0 else dev,) if self.names_device else ()
        getattr(driver, self.__name__)(mc, *device, mc_offset, *where, size, flags)


BINDS = tuple(Bind(by_address, names) for by_address in (False, True) for names in (False, True))


# ---- the C functions themselves


def raw(name: str) -> Any:
    """Answer a function of libcuda.so.1, to see what it does to memory that the bindings would hide."""
    return ctypes.CDLL(str(sim.library_path()))[name]
