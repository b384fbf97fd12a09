"""What a test left behind on a simulated machine."""

from __future__ import annotations

import os

from cumulticast.sim.driver import Driver


def left_behind(driver: Driver) -> list[str]:
    """Name what the process still owns: each one is a leak of the test, or of the driver."""
    process = driver.process
    if process is None:
        return []
    found = {
        "handles": len(process.handles.held()),
        "reservations": len(process.space.reservations),
        "mappings": len(process.space.mappings),
        "allocations": len(process.heap.blocks),
        "pools": len(process.pools.created()),
        "streams and events": len(process.streams.held()),
    }
    return [f"{count} {name}" for name, count in found.items() if count]


def open_files_of(directory: str) -> list[str]:
    """Return the descriptors of this process that lead into a directory."""
    links = (os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
    targets = (os.readlink(link) for link in links if os.path.islink(link))
    return [target for target in targets if target.startswith(directory)]
