"""MC880 to MC889: dma-buf handles of address ranges."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import listed, not_multiple

_HANDLE = ("cuMemGetHandleForAddressRange",)


@rule(
    "MC881",
    "a range handle is a dma-buf descriptor",
    calls=_HANDLE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuMemGetHandleForAddressRange", "Get a handle of the specified type to an address range"),
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
        Transcript("dma_buf", "type0", recording="driver"),
    ),
    spec=("DB1",),
)
def range_handle_type(handle_type: int) -> str | None:
    """Ask for MemRangeHandleType.DMA_BUF_FD (1), the only type there is.

        mem_get_handle_for_address_range(va, size, 0, 0)   # refused
        mem_get_handle_for_address_range(va, size, 1, 0)   # good

    The types of mem_export_to_shareable_handle are another enumeration: 1 means a descriptor there, too,
    but of another kind.

    Fix: pass 1.
    """
    return None if handle_type == 1 else f"handle_type {handle_type} must be 1 (DMA_BUF_FD)"


@rule(
    "MC882",
    "address and size of a range handle are multiples of the host page size",
    calls=_HANDLE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuMemGetHandleForAddressRange", "are aligned to the host page size"),
        Transcript("dma_buf", "vmm.misaligned", recording="driver"),
        Transcript("dma_buf", "vmm.odd_size", recording="driver"),
    ),
    spec=("DB3",),
)
def range_aligned(dptr: int, size: int, page: int) -> str | None:
    """Export ranges of whole host pages.

    A dma-buf is imported by another driver, which works with host pages.

        mem_get_handle_for_address_range(va, 100, 1, 0)    # refused
        mem_get_handle_for_address_range(va, 4096, 1, 0)   # good

    Fix: round the address down and the size up to the page size.
    """
    return not_multiple("dptr", dptr, page, shown="#x") or not_multiple("size", size, page, least=1)


@rule(
    "MC883",
    "the range of a range handle is fully mapped",
    calls=_HANDLE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuMemGetHandleForAddressRange", "must ensure the entire address range is backed and mapped"),
        Transcript("dma_buf", "vmm.hole", recording="driver"),
        Transcript("dma_buf", "vmm.past", recording="driver"),
    ),
    spec=("DB4",),
)
def range_mapped(dptr: int, size: int, gap: int | None) -> str | None:
    """Map the whole range before asking for its handle.

    `gap` is the first address that is not mapped, None when there is none. The handle stands for the memory
    behind the range at this moment: after a new mapping ask again.

        mem_get_handle_for_address_range(va, 8 << 20, 1, 0)   # 4 MiB mapped: refused
        mem_get_handle_for_address_range(va, 4 << 20, 1, 0)   # good

    Fix: pass the mapped size.
    """
    return None if gap is None else f"[{dptr:#x}, {dptr + size:#x}) is not fully mapped; nothing is mapped at {gap:#x}"


@rule(
    "MC884",
    "the memory behind a range handle is alike",
    calls=_HANDLE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "cuMemGetHandleForAddressRange",
        "must be resident on the same device and have identical allocation properties",
    ),
    spec=("DB4",),
)
def range_alike(devices: tuple[int, ...], same_properties: bool) -> str | None:
    """Ask for the handle of a range whose allocations lie on one device, with the same properties.

    One dma-buf belongs to one device.

        a range with memory of devices 0 and 1: refused
        a range with two allocations of device 0, alike: good

    Fix: one handle per device.
    """
    if len(set(devices)) > 1:
        return f"the range holds memory of devices {listed(tuple(sorted(set(devices))))}; one is allowed"
    return None if same_properties else "the range holds allocations of different properties"


@rule(
    "MC885",
    "the device supports dma-buf",
    calls=_HANDLE,
    status=Status.NOT_SUPPORTED,
    evidence="documented",
    source=(
        Document("cuMemGetHandleForAddressRange", "is supported if the"),
        Document("CUresult.CUDA_ERROR_NOT_SUPPORTED", "not supported on the current system or device"),
    ),
    spec=("DB2",),
)
def dma_buf_supported(attribute: str, supported: bool) -> str | None:
    """Check DMA_BUF_SUPPORTED (124) first.

    For memory of cuMemAllocHost the attribute is HOST_ALLOC_DMA_BUF_SUPPORTED (146). A machine whose data say
    0 has no such handles to give.

        device_get_attribute(DeviceAttribute.DMA_BUF_SUPPORTED, dev) == 0   # refused
        device_get_attribute(DeviceAttribute.DMA_BUF_SUPPORTED, dev) == 1   # good

    Fix: register the memory with nvidia-peermem, or stage through the host.
    """
    return None if supported else f"{attribute} is 0"


@rule(
    "MC886",
    "the flags of a range handle are known",
    calls=_HANDLE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("dma_buf", "vmm.flags2", recording="driver"),
    spec=("DB6",),
)
def range_flags(flags: int) -> str | None:
    """Pass 0, or 1 (DMA_BUF_MAPPING_TYPE_PCIE) where the platform supports it (MC888).

        mem_get_handle_for_address_range(va, size, 1, 2)   # refused
        mem_get_handle_for_address_range(va, size, 1, 0)   # good

    No other flag is defined.

    Fix: pass 0.
    """
    return None if flags in (0, 1) else f"flags {flags:#x} must be 0, or 1 for a mapping through PCIe"


@rule(
    "MC887",
    "a range handle is not made of a multicast range",
    calls=_HANDLE,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=(
        Document("cuMemGetHandleForAddressRange", "must be resident on the same device"),
        Note("settled here", "a multicast object is memory of no device"),
    ),
    spec=("MP17",),
)
def range_not_multicast(dptr: int, is_multicast: bool) -> str | None:
    """Ask for the dma-buf of a replica, not of the multicast address.

    The other driver would issue ordinary accesses, which are undefined on a multicast address.

        mem_get_handle_for_address_range(mc_va, size, 1, 0)   # refused
        mem_get_handle_for_address_range(uc_va, size, 1, 0)   # good

    Fix: use the address of one replica.
    """
    return f"{dptr:#x} is a multicast address, which has no memory of its own" if is_multicast else None


@rule(
    "MC888",
    "the platform offers the PCIe mapping of a range handle",
    calls=_HANDLE,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Document("cuMemGetHandleForAddressRange", "BAR1 or will return an error otherwise"),
        Transcript("dma_buf", "vmm.flags1", recording="driver"),
    ),
    spec=("DB6",),
)
def pcie_mapping(flags: int, supported: bool) -> str | None:
    """Ask for the mapping through PCIe (flag 1) only on platforms that have one beside their own link.

        mem_get_handle_for_address_range(va, size, 1, 1)   # refused on an x86 machine
        mem_get_handle_for_address_range(va, size, 1, 0)   # good

    The flag is for coherent platforms, where the default is another path.

    Fix: pass 0.
    """
    return "flags 1 (PCIe mapping) are not supported on this platform" if flags == 1 and not supported else None
