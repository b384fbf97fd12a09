"""A team without the Team: multicast memory of several devices of one process, set up call by call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cumulticast import driver
from cumulticast.team import collectives
from cumulticast.team.collectives.engine import engine_of
from cumulticast.team.collectives.protocol import PAD_BYTES, SCRATCH_BYTES

STEP = 2 << 20
READWRITE = driver.MemAccessFlags.READWRITE


@dataclass
class Part:
    """A stretch of what all ranks have."""

    nbytes: int
    bases: Sequence[int]
    multicast_ptr: int
    shape: tuple[int, ...] = ()
    dtype: Any = None

    def peer(self, rank: int) -> int:
        return self.bases[rank]

    def put(self, rank: int, values: np.ndarray) -> None:
        data = np.ascontiguousarray(values)
        if data.nbytes:
            driver.memcpy_htod_v2(self.bases[rank], data.ctypes.data, data.nbytes)

    def get(self, rank: int) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        if found.nbytes:
            driver.memcpy_dtoh_v2(found.ctypes.data, self.bases[rank], found.nbytes)
        return found


@dataclass(eq=False)
class LocalSeats:
    """All ranks of a team in this process; `devices` may name one several times, without multicast."""

    devices: tuple[int, ...]
    has_multicast: bool
    room: int = 4 << 20
    timeout: float = 20.0
    at: int = 0
    held: ExitStack = field(default_factory=ExitStack)
    others: list[Seat] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size, self.mine = len(self.devices), tuple(range(len(self.devices)))
        for device in dict.fromkeys(self.devices):
            driver.device_primary_ctx_retain(device)
            self.held.callback(driver.device_primary_ctx_release_v2, device)
        driver.ctx_push_current_v2(driver.device_primary_ctx_retain(self.devices[0]))
        self.held.callback(driver.device_primary_ctx_release_v2, self.devices[0])
        self.held.callback(driver.ctx_pop_current_v2)
        self.bytes = -(-(self.room + PAD_BYTES + SCRATCH_BYTES) // STEP) * STEP
        self.handles = [self._memory(device) for device in self.devices]
        self.bases = [self._mapped(handle) for handle in self.handles]
        self.multicast = self._object() if self.has_multicast else 0
        for base in self.bases:
            driver.memset_d8_v2(base, 0, self.bytes)
        self.pad, self.scratch = self._part(PAD_BYTES), self._part(SCRATCH_BYTES)

    def _memory(self, device: int) -> int:
        kind = driver.MemAllocationProp_v1()
        kind.type, kind.location.type = driver.MemAllocationType.PINNED, driver.MemLocationType.DEVICE
        kind.location.id = device
        handle = driver.mem_create(self.bytes, kind, 0)
        self.held.callback(driver.mem_release, handle)
        return handle

    def _mapped(self, handle: int) -> int:
        ptr = driver.mem_address_reserve(self.bytes, 0, 0, 0)
        self.held.callback(driver.mem_address_free, ptr, self.bytes)
        driver.mem_map(ptr, self.bytes, 0, handle, 0)
        self.held.callback(driver.mem_unmap, ptr, self.bytes)
        devices = sorted(set(self.devices))
        access = driver.MemAccessDesc_v1(len(devices))
        for k, device in enumerate(devices):
            access[k].location.type, access[k].location.id = driver.MemLocationType.DEVICE, device
            access[k].flags_ = READWRITE
        driver.mem_set_access(ptr, self.bytes, access, len(devices))
        return ptr

    def _object(self) -> int:
        prop = driver.MulticastObjectProp_v1()
        prop.num_devices, prop.size_ = self.size, self.bytes
        mc = driver.multicast_create(prop)
        self.held.callback(driver.mem_release, mc)
        for device in self.devices:
            driver.multicast_add_device(mc, device)
        for device, handle in zip(self.devices, self.handles, strict=True):
            driver.multicast_bind_mem(mc, 0, handle, 0, self.bytes, 0)
            self.held.callback(driver.multicast_unbind, mc, device, 0, self.bytes)
        return self._mapped(mc)

    def _part(self, nbytes: int) -> Part:
        at, self.at = self.at, self.at + -(-nbytes // 256) * 256
        assert self.at <= self.bytes
        return Part(nbytes, [base + at for base in self.bases], self.multicast and self.multicast + at)

    def array(self, shape: int | tuple[int, ...], dtype: Any) -> Part:
        shape = (shape,) if isinstance(shape, int) else shape
        part = self._part(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        part.shape, part.dtype = shape, np.dtype(dtype)
        return part

    def only(self, *ranks: int) -> Seat:
        """Answer the same team as a process sees it that drives some of the ranks."""
        self.others.append(Seat(self, ranks))
        return self.others[-1]

    def streams(self) -> list[int]:
        return engine_of(self).streams()

    def synchronize(self) -> None:
        for stream in self.streams():
            driver.stream_synchronize(stream)

    def close(self) -> None:
        for one in (self, *self.others):
            collectives.close(one)
        self.held.close()


class Seat:
    """A part of a team."""

    def __init__(self, whole: LocalSeats, ranks: tuple[int, ...]) -> None:
        self.whole, self.mine, self.devices = whole, ranks, tuple(whole.devices[rank] for rank in ranks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    streams, synchronize = LocalSeats.streams, LocalSeats.synchronize


#: Makes a team on the devices 0, 1, … of this process: see conftest.py.
Seated = Callable[..., LocalSeats]
