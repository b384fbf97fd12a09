"""MC220 to MC239: multicast_add_device and what a multicast handle must be."""

from .book import rule
from .groups import BINDS
from .source import Document, Note
from .status import Status
from .text import listed

_ADD = ("cuMulticastAddDevice",)


@rule(
    "MC220",
    "mc_handle is a multicast object",
    calls=(*_ADD, *BINDS, "cuMulticastUnbind"),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_add_device", "Handle representing a multicast object"),
    spec=("MA9",),
)
def multicast_handle(mc_handle: int, is_multicast: bool) -> str | None:
    """Pass a handle from multicast_create (or an imported one) as mc_handle.

    Memory and multicast objects have handles of one type, and importing gives no hint which of the two came
    out of a descriptor: two descriptors that change places end here.

        multicast_add_device(mem, dev)   # refused
        multicast_add_device(mc, dev)    # good

    Fix: keep the two kinds of handle apart, and label descriptors when sending them.
    """
    return None if is_multicast else f"mc_handle {mc_handle:#x} is memory; it must be a multicast object"


@rule(
    "MC221",
    "a device that is added supports multicast",
    calls=_ADD,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Document("CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED", "Device supports switch multicast"),
    spec=("MA5",),
)
def device_supports_multicast(dev: int, supported: bool) -> str | None:
    """Add only devices whose attribute MULTICAST_SUPPORTED is 1.

    The attribute belongs to a device, not to the machine: a workstation may hold several kinds of GPU, and a
    GPU in MIG mode loses the ability.

        device_get_attribute(DeviceAttribute.MULTICAST_SUPPORTED, dev) == 0   # add_device is refused
        device_get_attribute(DeviceAttribute.MULTICAST_SUPPORTED, dev) == 1   # good

    Fix: let all ranks agree on the attribute before one of them creates the object.
    """
    return None if supported else f"device {dev} does not support multicast"


@rule(
    "MC223",
    "no more devices are added than the team has places",
    calls=_ADD,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_add_device", "multicast team of size specified by ``CUmulticastObjectProp.numDevices``"),
        Note(
            "kernel driver",
            "a GPU beyond the number of the object is an invalid operation, checked before duplicates",
        ),
    ),
    spec=("MA7",),
)
def team_has_room(dev: int, num_devices: int, team: tuple[int, ...]) -> str | None:
    """Add exactly num_devices devices.

    When the team is full its layout is fixed. This is checked before MC224, so adding the last device a
    second time reports a full team.

        prop.num_devices = 2; add 0; add 1; add 2   # the third: refused
        prop.num_devices = 3; add 0; add 1; add 2   # good

    Fix: set num_devices to the size of the team.
    """
    if len(team) < num_devices:
        return None
    return f"device {dev} is one too many; the team of {num_devices} is complete: {listed(team)}"


@rule(
    "MC224",
    "a device is added once",
    calls=_ADD,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=Note("kernel driver", "attaching a GPU a second time is refused as a duplicate name"),
    spec=("MA6",),
)
def added_once(dev: int, team: tuple[int, ...]) -> str | None:
    """Add each device to an object once.

    Membership is permanent for the life of the object; there is no call that removes a device. Two ranks that
    share a device (a wrong CUDA_VISIBLE_DEVICES, or ranks modulo devices) show up here.

        multicast_add_device(mc, 0); multicast_add_device(mc, 0)   # the second: refused
        multicast_add_device(mc, 0); multicast_add_device(mc, 1)   # good

    Fix: give each rank a device of its own.
    """
    return f"device {dev} is already in the team: {listed(team)}" if dev in team else None
