"""Memory of the host: allocated and registered."""

from .book import rule
from .source import Document, Transcript
from .status import Status
from .text import overlap


@rule(
    "MC911",
    "host memory that is freed was allocated by the driver",
    calls=("cuMemFreeHost",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_host_alloc", "The memory allocated by this function must be freed with"),
        Transcript("host", "free.interior", recording="driver"),
        Transcript("host", "plain.free", recording="driver"),
    ),
)
def host_allocated(pointer: int, known: bool) -> str | None:
    """Free with cuMemFreeHost what cuMemHostAlloc or cuMemAllocHost returned, at its beginning.

    Memory of malloc or numpy is not the driver's to free.

        mem_free_host(array.ctypes.data)            # refused
        mem_free_host(mem_host_alloc(4096, 0))      # good

    Fix: keep the pointer that the allocation returned.
    """
    return None if known else f"pointer {pointer:#x} is no host memory of this driver"


@rule(
    "MC914",
    "host memory that is unregistered was registered",
    calls=("cuMemHostUnregister",),
    status=Status.HOST_MEMORY_NOT_REGISTERED,
    evidence="recorded",
    source=(
        Transcript("host", "plain.unregister", recording="driver"),
        Transcript("host", "unregister.twice", recording="driver"),
    ),
)
def host_registered(pointer: int, registered: bool) -> str | None:
    """Unregister what cuMemHostRegister registered, once.

        mem_host_unregister(plain)                                        # refused
        mem_host_register_v2(plain, n, 0); mem_host_unregister(plain)     # good

    Memory that the driver allocated itself (mem_host_alloc) is freed instead.

    Fix: pair the calls.
    """
    return None if registered else f"pointer {pointer:#x} is not registered"


@rule(
    "MC915",
    "host memory is registered once",
    calls=("cuMemHostRegister_v2",),
    status=Status.HOST_MEMORY_ALREADY_REGISTERED,
    evidence="recorded",
    source=(
        Transcript("host", "register.twice", recording="driver"),
        Transcript("host", "register.overlap", recording="driver"),
    ),
)
def host_registered_once(pointer: int, size: int, registered: int, registered_size: int) -> str | None:
    """Register no byte twice; neighbours are fine.

        mem_host_register_v2(p, 8192, 0); mem_host_register_v2(p + 4096, 8192, 0)   # overlaps: refused
        mem_host_register_v2(p, 4096, 0); mem_host_register_v2(p + 4096, 8192, 0)   # good

    Two tensors of one array may share a page without sharing a byte.

    Fix: register the whole array once.
    """
    if not overlap(pointer, size, registered, registered_size):
        return None
    return f"[{pointer:#x}, {pointer + size:#x}) overlaps {registered_size} bytes registered at {registered:#x}"
