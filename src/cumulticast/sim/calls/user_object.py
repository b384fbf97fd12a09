"""User objects: made, retained and released by callers and graphs."""

from __future__ import annotations

from cumulticast.rules import general, graphs, user_objects
from cumulticast.sim.calls.graph import graph_of
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.user_objects import Held, UserObject

NO_DESTRUCTOR_SYNC = 1  # CUuserObject_flags
MOVE = 1  # CUuserObjectRetain_flags


def object_of(process: Process, value: int, count: int) -> UserObject:
    """Answer the object behind a handle, and hold the number of references to the rules (1)."""
    made = process.user_objects.find(value)
    process.driver.judge(user_objects.object_valid, value, made is not None)
    process.driver.judge(user_objects.reference_count, count)
    assert made is not None
    return made


@entry("cuUserObjectCreate")
def user_object_create(process: Process, data: int, destroy: int, references: int, flags: int) -> int:
    """Make an object with a destructor."""
    process.driver.judge(general.pointer_given, "destroy", destroy)
    process.driver.judge(user_objects.reference_count, references)
    process.driver.judge(user_objects.user_object_flags, flags)
    return process.user_objects.create(data, destroy, references).value


@entry("cuUserObjectRetain")
def user_object_retain(process: Process, value: int, count: int) -> None:
    """Add references of the caller's."""
    made = object_of(process, value, count)
    made.own += count
    process.user_objects.retain(Held({made: count}))


@entry("cuUserObjectRelease")
def user_object_release(process: Process, value: int, count: int) -> None:
    """Take references of the caller's."""
    made = object_of(process, value, count)
    process.driver.judge(user_objects.references_held, count, made.own)
    made.own -= count
    process.user_objects.release(Held({made: count}))


@entry("cuGraphRetainUserObject")
def graph_retain_user_object(process: Process, graph: int, value: int, count: int, flags: int) -> None:
    """Give a graph references: new ones, or the caller's."""
    found, made = graph_of(process, graph), object_of(process, value, count)
    process.driver.judge(graphs.graph_flags, flags, MOVE)
    if flags & MOVE:
        process.driver.judge(user_objects.references_held, count, made.own)
        made.own -= count
    else:
        process.user_objects.retain(Held({made: count}))
    found.objects[made] += count


@entry("cuGraphReleaseUserObject")
def graph_release_user_object(process: Process, graph: int, value: int, count: int) -> None:
    """Take references of a graph."""
    found, made = graph_of(process, graph), object_of(process, value, count)
    process.driver.judge(user_objects.references_held, count, found.objects[made])
    found.objects -= Held({made: count})
    process.user_objects.release(Held({made: count}))
