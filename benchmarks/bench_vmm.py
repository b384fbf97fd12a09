"""A whole VMM cycle, and bind + unbind beside few and many live binds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import cumulticast.sim as sim

SIZE = 2 << 20
FEW, MANY = 10, 10_000


def median(act: Callable[[], None], times: int) -> float:
    """Answer the median of so many runs, in seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


class Bench:
    """One device's memory on a fresh machine."""

    def __init__(self) -> None:
        sim.start("hgx-h100-8")
        from cuda.bindings._v2 import driver

        driver.init(0)
        self.driver = driver
        self.prop = driver.MemAllocationProp_v1()
        self.prop.type, self.prop.location.type = 1, 1
        self.access = driver.MemAccessDesc_v1(1)
        self.access.location = self.prop.location
        self.access.flags_ = 3

    def cycle(self) -> None:
        """Create, reserve, map, set access, unmap, free, release."""
        d = self.driver
        memory = d.mem_create(SIZE, self.prop, 0)
        address = d.mem_address_reserve(SIZE, 0, 0, 0)
        d.mem_map(address, SIZE, 0, memory, 0)
        d.mem_set_access(address, SIZE, self.access, 1)
        d.mem_unmap(address, SIZE)
        d.mem_address_free(address, SIZE)
        d.mem_release(memory)

    def objects(self) -> int:
        """Make an object with room for MANY binds and one more."""
        prop = self.driver.MulticastObjectProp_v1()
        prop.num_devices, prop.size_ = 8, SIZE * (MANY + 1)
        multicast = self.driver.multicast_create(prop)
        for device in range(8):
            self.driver.multicast_add_device(multicast, device)
        return multicast

    def fill(self, multicast: int, first: int, last: int) -> None:
        """Bind an allocation of its own at each place."""
        for place in range(first, last):
            memory = self.driver.mem_create(SIZE, self.prop, 0)
            self.driver.multicast_bind_mem(multicast, place * SIZE, memory, 0, SIZE, 0)


def run() -> list[dict]:
    """Measure on one machine, the few before the many."""
    bench = Bench()
    d = bench.driver
    cycle = median(bench.cycle, 500)
    multicast, memory = bench.objects(), d.mem_create(SIZE, bench.prop, 0)

    def bind_unbind() -> None:
        d.multicast_bind_mem(multicast, MANY * SIZE, memory, 0, SIZE, 0)
        d.multicast_unbind(multicast, 0, MANY * SIZE, SIZE)

    bench.fill(multicast, 0, FEW)
    few = median(bind_unbind, 500)
    bench.fill(multicast, FEW, MANY)
    many = median(bind_unbind, 500)
    sim.stop()
    return [
        {"name": "VMM cycle of 2 MiB", "value": cycle * 1e6, "unit": "us", "bound": "<= 200", "holds": cycle <= 200e-6},
        {"name": "bind + unbind, 10 live", "value": few * 1e6, "unit": "us", "bound": "<= 250", "holds": few <= 250e-6},
        {"name": "bind + unbind, 10 000 live against 10", "value": many / few, "unit": "x", "bound": "<= 1.5",
         "holds": many <= 1.5 * few},
    ]  # fmt: skip
