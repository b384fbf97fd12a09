"""What a test left behind on the simulated machine of its process, each with the call that made it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cumulticast.sim.driver import Driver
from cumulticast.sim.graphs import Graph
from cumulticast.sim.handles import Handle
from cumulticast.sim.picture import MulticastPicture, take
from cumulticast.sim.process import Process
from cumulticast.sim.schema import KINDS
from cumulticast.sim.streams import Stream
from cumulticast.testing.births import Birth, Births


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that nobody gave back.

    Attributes
    ----------
    what
        What it is, with its value and size.
    birth
        The call that made it, where that is known.
    """

    what: str
    birth: Birth | None = None

    def __str__(self) -> str:
        if self.birth is None:
            return self.what
        return f"{self.what}, by {self.birth.call} at {_shown(self.birth.file)}:{self.birth.line}"


def _shown(file: str) -> str:
    """Shorten a path below the working directory."""
    short = os.path.relpath(file)
    return file if short.startswith("..") else short


def left_behind(driver: Driver, births: Births | None = None) -> list[Leak]:
    """Name what the process still owns, and what its descriptors keep alive.

    Primary contexts do not count: libraries retain them for good. Nor do modules: programs keep them with the context.
    """
    process, births = driver.process, births or Births()
    if process is None:
        return []
    driver.world.sweep()
    descriptors = descriptors_into(str(driver.world.path))
    return [
        *(Leak(_handle(handle), births.of("handle", handle.value)) for handle in process.handles.held()),
        *_addresses(process, births),
        *_contexts(process, births),
        *(Leak(f"descriptor {fd} of {_object(path)}", births.of("descriptor", fd)) for fd, path in descriptors),
        *_unheld(driver, {path for _, path in descriptors}),
    ]


def _handle(handle: Handle) -> str:
    where = "" if handle.device is None else f" on device {handle.device}"
    kind = "multicast object" if handle.kind == "multicast" else "memory"
    more = f", {handle.references} references" if handle.references > 1 else ""
    return f"handle {handle.value:#x} of {kind}{where}, {handle.size} bytes{more}"


def _addresses(process: Process, births: Births) -> Iterator[Leak]:
    for mapping in process.space.mappings:
        yield Leak(f"mapping {mapping.base:#x}, {mapping.size} bytes", births.of("mapping", mapping.base))
    for reservation in process.space.reservations:
        what = f"reservation {reservation.base:#x}, {reservation.size} bytes"
        yield Leak(what, births.of("reservation", reservation.base))
    for block in process.heap.blocks:
        if block.in_module:
            continue
        what = f"allocation {block.base:#x} of {block.origin}, {block.size} bytes"
        yield Leak(what, births.of("allocation", block.base))


def _contexts(process: Process, births: Births) -> Iterator[Leak]:
    for pool in process.pools.created():
        yield Leak(f"pool {pool.value:#x}, {pool.used} bytes in use", births.of("pool", pool.value))
    for thing in process.streams.held():
        kind = "stream" if isinstance(thing, Stream) else "event"
        yield Leak(f"{kind} {thing.value:#x}", births.of(kind, thing.value))
    for thing in process.graphs.held():
        kind = "graph" if isinstance(thing, Graph) else "executable graph"
        yield Leak(f"{kind} {thing.value:#x}", births.of(kind, thing.value))
    for context in process.contexts.created():
        what = f"context {context.value:#x} of device {context.ordinal}"
        yield Leak(what, births.of("context", context.value))


def _object(path: str) -> str:
    """Name the object of a file in the world."""
    kind, number = path.split("/")
    return f"{'multicast object' if kind == 'multicast' else kind} {number}"


def _unheld(driver: Driver, seen: Iterable[str]) -> Iterator[Leak]:
    """Find the objects that no handle and no mapping holds; those of our own descriptors are named already."""
    picture, seen = take(driver.world), set(seen)
    for kind, objects in (("memory", picture.allocations), ("multicast", picture.multicast)):
        for obj in objects:
            if not obj.holders and f"{kind}/{obj.id}" not in seen:
                bound = isinstance(obj, MulticastPicture) and obj.bindings
                why = "memory bound to it" if bound else "a descriptor that was sent away"
                yield Leak(f"{_object(f'{kind}/{obj.id}')}, {obj.size} bytes, which only {why} keeps")


def descriptors_into(world: str) -> list[tuple[int, str]]:
    """Answer the descriptors of this process that are open on objects of a world: (number, KIND/ID)."""
    found = [(int(fd), path) for fd, path in open_files() if path.startswith(world)]
    names = [(fd, path.removeprefix(f"{world}/").removesuffix(" (deleted)")) for fd, path in found]
    return sorted((fd, name) for fd, name in names if name.partition("/")[0] in KINDS)


def open_files() -> Iterator[tuple[str, str]]:
    """Answer the open descriptors of this process and what each leads to."""
    for fd in os.listdir("/proc/self/fd"):
        try:
            yield fd, os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:  # the one that listed the directory
            continue


def remains(world: str, known: Iterable[int] = ()) -> list[str]:
    """Name what is left of a world that was removed: the simulator's own leak.

    But for the futex words: they stay mapped as long as the driver object, since a thread may still wake up on one.

    Parameters
    ----------
    known
        Descriptors that are the test's.
    """
    found = [path for fd, path in open_files() if path.startswith(world) and int(fd) not in set(known)]
    files = [path for path in found if "/words" not in path]
    return [f"{path} is still open" for path in files] + [f"{world} was not removed"] * os.path.exists(world)
