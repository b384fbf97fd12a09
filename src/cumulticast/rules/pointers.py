"""MC930 to MC949: what can be asked about an address."""

from .book import rule
from .source import Document, Transcript
from .status import Status

_ONE = ("cuPointerGetAttribute",)


@rule(
    "MC931",
    "a pointer attribute is one that the driver knows",
    calls=("cuPointerGetAttribute", "cuPointerGetAttributes", "cuPointerSetAttribute"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("pointer_get_attribute", "Return an attribute of a pointer"),
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
        Transcript("pointers", "attribute100", recording="driver"),
    ),
)
def pointer_attribute_known(attribute: int, known: bool) -> str | None:
    """Query a member of PointerAttribute that this driver has.

    No attribute tells that an address is a multicast address.

        pointer_get_attribute(999, va)                       # refused
        pointer_get_attribute(PointerAttribute.MAPPED, va)   # good

    Fix: use a member of the enumeration.
    """
    return None if known else f"attribute {attribute} is not a pointer attribute"


@rule(
    "MC932",
    "a queried pointer belongs to the driver",
    calls=_ONE,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuPointerGetAttribute", "which uses unified virtual addressing then"),
        Transcript("pointers", "wild.MEMORY_TYPE", recording="driver"),
    ),
    spec=("PT3",),
)
def pointer_known(ptr: int, known: bool) -> str | None:
    """Ask for attributes of addresses that were allocated, mapped or registered here.

    The plural form, pointer_get_attributes, does not fail for a foreign address: it answers zeros. Use that
    to find out whether an address is CUDA's.

        pointer_get_attribute(PointerAttribute.MEMORY_TYPE, 0x1234)   # refused
        pointer_get_attribute(PointerAttribute.MEMORY_TYPE, va)       # good

    Fix: use the plural form where the answer may be "none".
    """
    return None if known else f"ptr {ptr:#x} is not an address of this driver"


@rule(
    "MC933",
    "a host pointer is asked for only of memory that the host can reach",
    calls=_ONE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuPointerGetAttribute", "If there exists no host pointer value through which the host program"),
        Transcript("access", "ptrattr.HOST_POINTER"),
    ),
)
def host_reachable(ptr: int, reachable: bool) -> str | None:
    """Ask for HOST_POINTER only of host memory.

    Device memory has no host address.

        pointer_get_attribute(PointerAttribute.HOST_POINTER, device_va)                 # refused
        pointer_get_attribute(PointerAttribute.HOST_POINTER, mem_host_alloc(4096, 0))   # good

    Fix: look at MEMORY_TYPE first.
    """
    return None if reachable else f"the host cannot reach {ptr:#x}"


@rule(
    "MC934",
    "an address whose range is asked for belongs to the driver",
    calls=("cuMemGetAddressRange_v2",),
    status=Status.NOT_FOUND,
    evidence="recorded",
    source=(
        Document("mem_get_address_range_v2", "that contains the input pointer ``dptr``"),
        Transcript("alloc", "range.unknown", recording="driver"),
    ),
)
def range_known(dptr: int, known: bool) -> str | None:
    """Ask for base and size of an address that is allocated or mapped.

    The answer is the mapping for virtual memory, the allocation otherwise; reserved addresses without a
    mapping have none. 500 is in the list of this call, and of no other memory call.

        mem_get_address_range_v2(0x1234)     # refused
        mem_get_address_range_v2(va + 100)   # good

    Fix: map first.
    """
    return None if known else f"dptr {dptr:#x} is in no allocation and no mapping"
