"""MC600 to MC699: export to and import from descriptors and fabric handles."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status

_EXPORT = ("cuMemExportToShareableHandle",)
_EXPORTS = (*_EXPORT, "cuMemPoolExportToShareableHandle")
_IMPORT = ("cuMemImportFromShareableHandle",)
_TYPES = {1: "POSIX_FILE_DESCRIPTOR", 2: "WIN32", 4: "WIN32_KMT", 8: "FABRIC"}


@rule(
    "MC601",
    "an export uses a handle type that was requested at creation",
    calls=_EXPORTS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("multicast_create", "must be specified in the bitmask ``CUmulticastObjectProp.handleTypes``"),
        Transcript("share", "export.none_as_fd"),
        Transcript("share", "export.fd_as_fabric"),
    ),
    spec=("EX1",),
)
def export_requested(handle_type: int, handle_types: int) -> str | None:
    """Request each handle type when the memory or object is created.

    Sharing decides how memory is allocated, so it cannot be added later. For memory the field is
    requested_handle_types, for a multicast object handle_types; several bits may be set.

        prop.requested_handle_types = 0; mem_export_to_shareable_handle(mem, 1, 0)   # refused
        prop.requested_handle_types = 1; mem_export_to_shareable_handle(mem, 1, 0)   # good

    Fix: create it again with the type, or export as one of the types it has.
    """
    if handle_type & handle_types:
        return None
    wanted = f"handle_type {handle_type} ({_TYPES.get(handle_type, 'unknown')})"
    return f"{wanted} was not requested at creation; handle types there: {handle_types:#x}"


@rule(
    "MC602",
    "an export names exactly one handle type",
    calls=_EXPORT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_export_to_shareable_handle", "A :class:`MemAllocationHandleType` value"),
        Transcript("share", "export.ht0"),
    ),
    spec=("EX3",),
)
def export_one_type(handle_type: int) -> str | None:
    """Export to one type per call: 1, 2, 4 or 8.

    The numbers are bits so that creation can ask for several. An export makes one thing: a descriptor
    (int), a Windows handle, or a fabric handle of 64 bytes. `_v2` lets 0 through to the driver.

        mem_export_to_shareable_handle(mc, 1 | 8, 0)   # refused
        mem_export_to_shareable_handle(mc, 8, 0)       # good

    Fix: one call per type.
    """
    return None if handle_type in _TYPES else f"handle_type {handle_type} is not one of 1, 2, 4 and 8"


@rule(
    "MC603",
    "only the creator exports",
    calls=_EXPORT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("share", "export.imported"),
        Note("kernel driver", "an imported multicast object cannot be exported again"),
    ),
)
def export_original(handle: int, imported: bool) -> str | None:
    """Export from the process that created the memory or object.

    An imported handle is not shareable further, although it counts as shareable for binds (MC328). A chain
    A → B → C must send A's descriptor twice.

        mem_export_to_shareable_handle(mem_import_from_shareable_handle(fd, 1), 1, 0)   # refused
        mem_export_to_shareable_handle(created_here, 1, 0)                              # good

    Fix: let the creator serve all peers, or pass the descriptor itself on.
    """
    return f"handle {handle:#x} was imported and cannot be exported again" if imported else None


@rule(
    "MC604",
    "fabric handles need an IMEX channel",
    calls=("cuMemCreate", "cuMulticastCreate", "cuMemExportToShareableHandle"),
    status=Status.NOT_PERMITTED,
    evidence="recorded",
    source=(
        Document("mem_create", "IMEX channel file accessible by the user launching the application"),
        Transcript("create", "create.ht8"),
        Transcript("share", "create.fabric"),
    ),
    spec=("IM9",),
)
def channel_for_fabric(handle_types: int, channel: bool) -> str | None:
    """Have an IMEX channel before asking for fabric handles (type 8).

    /dev/nvidia-caps-imex-channels/channel* must exist and be accessible for the user, in a container too. The
    attribute HANDLE_TYPE_FABRIC_SUPPORTED says nothing about it: a machine that reported 1 refused here. Many
    clients try this on purpose, as a probe.

        prop.requested_handle_types = 8   # no channel: refused
        prop.requested_handle_types = 1   # good on one node

    Fix: mount or create the channel file, or share by descriptors within the node.
    """
    if not handle_types & 8 or channel:
        return None
    return f"handle type FABRIC in {handle_types:#x} needs an IMEX channel, and this process has none"


@rule(
    "MC605",
    "exporter and importer of a fabric handle share an IMEX channel",
    calls=_IMPORT,
    status=Status.NOT_PERMITTED,
    evidence="documented",
    source=Document(
        "mem_import_from_shareable_handle",
        "has not been granted access to the same IMEX channel as the exporter process",
    ),
    spec=("IM3",),
)
def same_channel(exporter: int, importer: int) -> str | None:
    """Run exporter and importer with access to the same IMEX channel.

    Channels separate users: whoever can open a channel can share memory with the others that can. -1 stands
    for no channel. All nodes of a job must use the same number.

        exporter on channel 0, importer on channel 1   # refused
        both on channel 0                              # good

    Fix: give all processes of the job one channel.
    """
    if importer >= 0 and importer == exporter:
        return None
    has = f"channel {importer}" if importer >= 0 else "no channel"
    return f"the exporter uses IMEX channel {exporter}, this process has {has}"


@rule(
    "MC606",
    "an imported descriptor is one that an export made",
    calls=_IMPORT,
    status=Status.UNKNOWN,
    evidence="recorded",
    source=(
        Transcript("share", "import.badfd"),
        Transcript("sharing", "import.closed", recording="driver"),
        Transcript("sharing", "import.dev_null", recording="driver"),
    ),
)
def import_readable(os_handle: int, readable: bool) -> str | None:
    """Import a descriptor that is open in this process and came from an export.

    Descriptors are per process: the number alone, sent over a socket or MPI, means nothing here or, worse,
    names another file. Send the descriptor itself (SCM_RIGHTS) or fetch it (pidfd_getfd).

        mem_import_from_shareable_handle(9999, 1)                       # refused
        mem_import_from_shareable_handle(socket.recv_fds(…)[1][0], 1)   # good

    Fix: pass descriptors with socket.send_fds, and close them after the import.
    """
    return None if readable else f"os_handle {os_handle} is no open descriptor of an exported allocation"


@rule(
    "MC607",
    "an import names the type of the handle",
    calls=_IMPORT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_import_from_shareable_handle", "Imports an allocation from a requested shareable handle type"),
        Transcript("sharing", "import.type0", recording="driver"),
    ),
    spec=("IM2",),
)
def import_type(sh_handle_type: int, actual: int) -> str | None:
    """Import with the type that was exported.

    A descriptor is passed as an int with type 1, a fabric handle as the address of its 64 bytes with type 8
    (`handle.ptr` in `_v2`). `actual` is 0 where the value cannot be a handle of any kind.

        mem_import_from_shareable_handle(fd, 8)    # refused
        mem_import_from_shareable_handle(fd, 1)    # good

    Fix: send the type along with the handle.
    """
    if sh_handle_type in _TYPES and sh_handle_type == actual:
        return None
    is_what = f"is of type {actual} ({_TYPES[actual]})" if actual in _TYPES else "is no handle of that type"
    return f"sh_handle_type {sh_handle_type}, but the handle {is_what}"


@rule(
    "MC608",
    "the importing process can support the memory",
    calls=_IMPORT,
    status=Status.NOT_SUPPORTED,
    evidence="documented",
    source=(
        Document("mem_import_from_shareable_handle", "handle, this API will error as ``CUDA_ERROR_NOT_SUPPORTED``"),
        Transcript("sharing", "import.type2", recording="driver"),
    ),
    spec=("IM1",),
)
def import_supported(problem: str) -> str | None:
    """Import only memory that this process's devices can reach.

    A handle type that the system does not have (Windows' on Linux), or memory of a machine that is not in the
    same fabric, cannot be used here. The message says which.

        fabric handle of another NVL72 rack: refused
        fabric handle of another node of the rack: good

    Fix: compare cluster UUID and clique of both sides before sharing.
    """
    return f"this process cannot support the memory: {problem}" if problem else None


@rule(
    "MC609",
    "a descriptor is imported on the node where it was made",
    calls=_IMPORT,
    status=Status.UNKNOWN,
    evidence="assumed",
    source=(
        Note("programming guide", "OS handles are of one operating system; fabric handles work between nodes"),
        Note("settled here", "999, as a real driver answers a descriptor that is not its own"),
    ),
    spec=(),
)
def descriptor_stays(os_handle: int, made_on: int, node: int) -> str | None:
    """Send file descriptors within a node, and fabric handles between nodes.

    A descriptor names an object of one operating system. On a real cluster it could not even reach another node;
    simulated nodes share one host, so it can, and is refused.

        rank of node 1 imports a descriptor of node 0        # refused
        rank of node 1 imports a fabric handle of node 0     # good

    Fix: create the memory with handle type FABRIC (8) and send its 64 bytes.
    """
    if made_on == node:
        return None
    return f"descriptor {os_handle} was made on node {made_on}, this is node {node}; fabric handles cross nodes"


@rule(
    "MC610",
    "a multicast object is imported while somebody holds it",
    calls=_IMPORT,
    kind="advice",
    evidence="assumed",
    source=Note("public report", "the creator released early; importers got an object nobody else was in, and hung"),
)
def imported_in_time(obj: int, num_devices: int, alive: bool) -> str | None:
    """Keep the creator's reference until every rank has imported the object.

    A fabric handle does not keep its object alive. Imported after the last reference went, it stands for a fresh
    object without devices: the call succeeds, and then every rank waits at its first bind for devices that were
    added to the old object.

        rank 0: create, export, send, mem_release; rank 1 imports later    # each waits for ever
        rank 0: … barrier after all have imported, then mem_release        # good

    Fix: release the creator's handle after an agreement that all have imported.
    """
    if alive:
        return None
    return (
        f"multicast object {obj} had been released by all before this import; it begins again without devices, and "
        f"every bind waits until all {num_devices} are added anew"
    )
