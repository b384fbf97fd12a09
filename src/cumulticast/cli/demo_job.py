"""The demonstration itself: ordinary code on the driver API, as a program on a real machine would have it.

``cumulticast.driver`` hands every call to NVIDIA's own ``cuda.bindings._v2.driver``; nothing here knows that
the devices are simulated.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cumulticast import driver, multimem
from cumulticast.cli.demo_memory import (
    map_everywhere,
    memory_on,
    multicast_object,
    replica_address,
    use_device,
)
from cumulticast.cli.demo_refusals import Refusal, three_wrong_binds, why

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the job: what it did, how many calls of which function, and how long they took together."""

    name: str
    call: str
    calls: int
    seconds: float


class Demonstration:
    """Bind memory of all devices under one multicast address; broadcast and all-reduce through it.

    Attributes
    ----------
    steps
        What was done, in order.
    verified
        How many replicas were read back and found to be what numpy says, in both rounds.
    refusals
        What the driver answered to wrong binds.
    failure
        None, or the call, status, rule and message that ended the job.
    """

    def __init__(self, devices: int, size: int) -> None:
        self.devices = range(devices)
        self.size = size
        self.steps: list[Step] = []
        self.verified = 0
        self.refusals: list[Refusal] = []
        self.failure: Refusal | None = None
        self._running = ""
        self._random = np.random.default_rng(20251105)

    @property
    def ok(self) -> bool:
        """Whether every replica was right both times and every wrong bind was refused."""
        replicas = self.verified == 2 * len(self.devices)
        return replicas and len(self.refusals) == 3 and all(refusal.status for refusal in self.refusals)

    def run(self) -> None:
        """Do everything; a call that the driver refuses ends the job."""
        try:
            with ExitStack() as held:
                self._prepare(held)
                self._broadcast()
                self._all_reduce()
            self.refusals = three_wrong_binds(len(self.devices))
        except driver.DriverError as error:
            self.failure = why(self._running, error)

    @contextmanager
    def _step(self, name: str, call: str, calls: int = 1) -> Generator[None]:
        self._running = call
        start = time.perf_counter()
        yield
        self.steps.append(Step(name, call, calls, time.perf_counter() - start))

    # ---- memory under one address

    def _prepare(self, held: ExitStack) -> None:
        count = len(self.devices)
        with self._step("start the driver, make contexts", "init"):
            driver.init(0)
            self._contexts = [use_device(held, device) for device in self.devices]
        with self._step("create one multicast object", "multicast_create"):
            mc = multicast_object(held, count, self.size)
        with self._step("add every device to its team", "multicast_add_device", count):
            for device in self.devices:
                driver.multicast_add_device(mc, device)
        with self._step("create memory on every device", "mem_create", count):
            memory = [memory_on(held, device, self.size) for device in self.devices]
        with self._step("bind it to the object", "multicast_bind_mem", count):
            for device, handle in zip(self.devices, memory, strict=True):
                driver.multicast_bind_mem(mc, 0, handle, 0, self.size, 0)
                held.callback(driver.multicast_unbind, mc, device, 0, self.size)
        with self._step("map the object and each replica", "mem_map", count + 1):
            self._address = map_everywhere(held, mc, self.size, self.devices)
            self._replicas = [replica_address(held, h, self.size, d) for d, h in zip(self.devices, memory, strict=True)]

    # ---- the two uses of it

    def _broadcast(self) -> None:
        data = self._numbers()
        with self._step("broadcast: one store, every replica", "multimem.store"):
            multimem.store(self._address, data)
        self._verify(data)

    def _all_reduce(self) -> None:
        parts = [self._numbers() for _ in self.devices]
        with self._step("give every replica its own numbers", "memcpy_htod_v2", len(parts)):
            for context, replica, part in zip(self._contexts, self._replicas, parts, strict=True):
                driver.ctx_set_current(context)
                driver.memcpy_htod_v2(replica, part.ctypes.data, part.nbytes)
        with self._step("all-reduce: load the sum of all", "multimem.load_reduce"):
            total = multimem.load_reduce(self._address, parts[0].shape, "float32", op="add")
        with self._step("all-reduce: store it everywhere", "multimem.store"):
            multimem.store(self._address, total)
        expected = parts[0].copy()
        for part in parts[1:]:  # in ascending device order and in float32, as the replicas are summed
            expected += part
        self._verify(expected)

    def _numbers(self) -> Floats:
        return self._random.standard_normal(self.size // 4, dtype=np.float32)

    def _verify(self, expected: Floats) -> None:
        """Read every replica back by its own device and compare it with numpy's, bit for bit."""
        found = np.empty_like(expected)
        right = 0
        with self._step("read back, compare with numpy", "memcpy_dtoh_v2", len(self.devices)):
            for context, replica in zip(self._contexts, self._replicas, strict=True):
                driver.ctx_set_current(context)
                found.fill(np.nan)
                driver.memcpy_dtoh_v2(found.ctypes.data, replica, found.nbytes)
                right += np.array_equal(found.view(np.uint32), expected.view(np.uint32))
        self.verified += right
