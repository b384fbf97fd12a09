"""MC200 to MC219: multicast_create."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import not_multiple

_CREATE = ("cuMulticastCreate",)
_NO_NUMBER = 0xFFFFFFFF


@rule(
    "MC201",
    "the size of a multicast object is a multiple of the minimum granularity",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_create", "This size must be a multiple of the value"),
        Note("kernel driver", "a size that is not a multiple of the page is an invalid argument"),
    ),
    spec=("MC2",),
)
def object_size_granularity(size: int, granularity: int) -> str | None:
    """Make prop.size a multiple of the minimum multicast granularity.

    prop.size is the most that each device can bind, and binds are made of granules. It is a size per device:
    eight devices with 1 GiB each need an object of 1 GiB.

        prop.size_ = 3 << 20   # refused
        prop.size_ = 4 << 20   # good

    Fix: `prop.size_ = -(-nbytes // granularity) * granularity` with multicast_get_granularity(prop, MINIMUM).
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC202",
    "the size of a multicast object is not 0",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=(
        Document(
            "CUmulticastObjectProp",
            "The maximum amount of memory that can be bound to this multicast object per device",
        ),
        Note("settled here", "a real driver answers size 0 with 1 wherever it was recorded"),
    ),
    spec=("MC4",),
)
def object_size_positive(size: int) -> str | None:
    """Give the object room for at least one granule.

    A fresh MulticastObjectProp_v1 has size 0. The granularity query accepts it; creation does not.

        prop = MulticastObjectProp_v1(); prop.num_devices = 2; multicast_create(prop)   # refused
        prop.size_ = 2 << 20; multicast_create(prop)                                    # good

    Fix: set size_ (with the underscore: size is taken) after asking for the granularity.
    """
    return None if size > 0 else "size is 0; the smallest object has one granule"


@rule(
    "MC203",
    "the size of a multicast object is a multiple of the recommended granularity",
    calls=_CREATE,
    kind="advice",
    evidence="documented",
    source=Document("multicast_create", "For best performance however, the size should be aligned to the value"),
    spec=("MC3",),
)
def object_size_recommended(size: int, recommended: int) -> str | None:
    """Prefer a size that is a multiple of the recommended granularity.

    Any multiple of the minimum is legal. Large objects on the recommended granularity use the largest pages
    of the fabric. The object itself takes no memory; what you bind does.

        prop.size_ = 514 << 20    # legal, with this advice
        prop.size_ = 1024 << 20   # no advice

    Fix: round a large object up; the memory bound to it may stay smaller.
    """
    slow = not_multiple("size", size, recommended, least=1)
    return slow and f"legal but may be slow: {slow}"


@rule(
    "MC204",
    "a team has at least one device",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document(
            "CUmulticastObjectProp",
            "The number of devices in the multicast team that will bind memory to this object",
        ),
        Note("kernel driver", "0 and 0xffffffff GPUs are invalid arguments"),
    ),
    spec=("MC5",),
)
def team_size(num_devices: int) -> str | None:
    """Set num_devices to the number of devices that will be added, 1 or more.

    The object waits for exactly that many. It counts devices, not processes, and cannot be changed later. The
    documents give no limits; the kernel driver refuses 0 and 4294967295.

        prop.num_devices = 0   # refused
        prop.num_devices = 8   # good

    Fix: set num_devices to the world size (one device per rank).
    """
    if 0 < num_devices < _NO_NUMBER:
        return None
    return f"num_devices {num_devices} is not a number of devices; it must be 1 to {_NO_NUMBER - 1}"


@rule(
    "MC205",
    "the flags of a multicast object are 0",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("CUmulticastObjectProp", "Flags for future use, must be zero now"),
    spec=("MC8",),
)
def object_flags(flags: int) -> str | None:
    """Leave prop.flags at 0.

    No flag is defined. Handle types go into handle_types.

        prop.flags_ = 8; multicast_create(prop)         # refused
        prop.handle_types = 8; multicast_create(prop)   # good (fabric handles)

    Fix: set flags_ to 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC206",
    "the handle types of a multicast object are supported",
    calls=_CREATE,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Document("multicast_create", "must be specified in the bitmask ``CUmulticastObjectProp.handleTypes``"),
    spec=("MC7", "MC11"),
)
def object_handle_types(handle_types: int, supported: int) -> str | None:
    """Request only handle types that this system has, all that you will export to.

    handle_types is a bit mask: 1 POSIX file descriptor, 8 fabric; 2 and 4 are Windows'. 0 makes an object
    that stays in its process, and may then be bound to memory of any kind.

        prop.handle_types = 2        # on Linux: refused
        prop.handle_types = 1 | 8    # good where both are supported

    Fix: query HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED and HANDLE_TYPE_FABRIC_SUPPORTED.
    """
    extra = handle_types & ~supported
    return (
        f"handle_types {handle_types:#x} has {extra:#x}, which is not supported; {supported:#x} is" if extra else None
    )


@rule(
    "MC208",
    "the machine supports multicast",
    calls=("cuMulticastCreate", "cuMulticastGetGranularity"),
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Document(
            "CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED",
            "Device supports switch multicast and reduction operations",
        ),
        Transcript("attrs", "mcgran.n2.s2097152.ht1.f0"),
    ),
    spec=("AT4",),
)
def multicast_supported(machine: str, supported: bool) -> str | None:
    """Use multicast only where the attribute MULTICAST_SUPPORTED (132) is 1.

    Multicast is done by NVSwitches of the third generation and later: HGX H100, H200, B200, GB200 NVL72. A100
    machines, cards in PCIe slots, NVLink bridges, MIG and most virtual machines have none. A real H200 in a
    virtual machine answered already the granularity query with 801.

        hgx-a100-8: multicast_create(prop)   # refused
        hgx-h100-8: multicast_create(prop)   # good

    Fix: check the attribute on every device first and fall back to peer access.
    """
    return None if supported else f"{machine} has no multicast; MULTICAST_SUPPORTED is 0"


@rule(
    "MC209",
    "a team is not larger than its fabric",
    calls=_CREATE,
    kind="advice",
    evidence="documented",
    source=(
        Document("multicast_add_device", "will block until all devices have been added"),
        Note(
            "settled here",
            "more devices than this process sees are legal, more than the fabric has can never come",
        ),
    ),
    spec=("MC6",),
)
def team_fits_fabric(num_devices: int, devices: int) -> str | None:
    """Ask for no more devices than the fabric has.

    num_devices may well exceed what this process sees: other processes and nodes add theirs. But a team
    larger than the whole fabric will never be complete, and its binds would wait for ever.

        hgx-h100-8: prop.num_devices = 9   # legal, but binds can never succeed
        hgx-h100-8: prop.num_devices = 8   # good

    Fix: count devices, not processes or replicas.
    """
    if num_devices <= devices:
        return None
    return f"num_devices {num_devices} is more than the {devices} of this fabric; binds would wait for ever"
