"""User objects, and the references that graphs hold."""

from .book import rule
from .source import Document
from .status import Status


@rule(
    "MC1224",
    "a user object's handle is valid",
    calls=("cuUserObjectRetain", "cuUserObjectRelease", "cuGraphRetainUserObject", "cuGraphReleaseUserObject"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectRetain", "CUDA_ERROR_INVALID_VALUE"),
)
def object_valid(handle: int, known: bool) -> str | None:
    """Use a user object while somebody has a reference: it ends with the last.

        user_object_release(o, 1); user_object_retain(o, 1)   # refused
        user_object_retain(o, 1); user_object_release(o, 1)   # good

    Fix: forget the handle after the last release.
    """
    return None if known else f"user object {handle:#x} does not exist"


@rule(
    "MC1225",
    "references of user objects are counted in positive numbers",
    calls=(
        "cuUserObjectCreate", "cuUserObjectRetain", "cuUserObjectRelease", "cuGraphRetainUserObject",
        "cuGraphReleaseUserObject",
    ),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectRetain", "not larger than INT_MAX"),
)  # fmt: skip
def reference_count(count: int) -> str | None:
    """Count at least one reference, and at most 2147483647.

        user_object_retain(o, 0)   # refused
        user_object_retain(o, 1)   # good

    Fix: leave the call out where there is nothing to count.
    """
    return None if 0 < count < 1 << 31 else f"{count} references are not between 1 and 2147483647; nearest 1"


@rule(
    "MC1226",
    "nobody releases more references than he has",
    calls=("cuUserObjectRelease", "cuGraphRetainUserObject", "cuGraphReleaseUserObject"),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("cuUserObjectCreate", "initial references are owned by the"),
)
def references_held(count: int, held: int) -> str | None:
    """Release what was retained: callers their references, each graph its own.

        user_object_create(p, f, 1, 1); user_object_release(o, 2)   # refused
        user_object_create(p, f, 1, 1); user_object_release(o, 1)   # good

    Moving references into a graph takes them from the caller.

    Fix: pair retain and release.
    """
    return None if count <= held else f"{count} references are released, {held} are held; nearest {held}"


@rule(
    "MC1227",
    "a user object is made with NO_DESTRUCTOR_SYNC",
    calls=("cuUserObjectCreate",),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectCreate", "Currently it is required to pass"),
)
def user_object_flags(flags: int) -> str | None:
    """Pass the one flag that there is: no call waits for the destructor.

        user_object_create(p, f, 1, 0)   # refused
        user_object_create(p, f, 1, 1)   # good

    Fix: UserObject_flags.NO_DESTRUCTOR_SYNC.
    """
    return None if flags == 1 else f"flags {flags:#x} is not 1 (NO_DESTRUCTOR_SYNC)"
