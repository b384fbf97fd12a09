"""MC000 to MC099: what holds for every call: initialization, flags, pointers, handles."""

from .book import EVERY_CALL, rule
from .source import Document, Note, Transcript
from .status import Status
from .text import no_device

_OUT_OF_RANGE = Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values")


@rule(
    "MC001",
    "cuInit comes first",
    calls=EVERY_CALL,
    status=Status.NOT_INITIALIZED,
    evidence="documented",
    source=(
        Document("init", "any function from the driver API will return ``CUDA_ERROR_NOT_INITIALIZED``"),
        Transcript("noinit", "noinit.cuDeviceGetCount"),
    ),
    spec=("G1",),
)
def initialized(done: bool) -> str | None:
    """Call cuInit(0) once per process before any other driver call.

    cuDriverGetVersion, cuGetProcAddress and the error names work without it; nothing else does. The bindings
    do not do it for you; cuda.core and the CUDA runtime do.

        driver.device_get_count()                   # refused
        driver.init(0); driver.device_get_count()   # good

    Fix: call init(0) at the start of each process, also of each spawned one.
    """
    return None if done else "cuInit has not been called in this process"


@rule(
    "MC002",
    "the flags of cuInit are 0",
    calls=("cuInit",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(Document("init", "parameter must be 0"), Transcript("attrs", "cuInit.badflags")),
    spec=("G2",),
)
def init_flags(flags: int) -> str | None:
    """Pass 0 to cuInit.

    No flag is defined. Calling cuInit again with 0 has no effect and succeeds; a wrong flag is refused even
    when the driver is already initialized.

        driver.init(7)   # refused
        driver.init(0)   # good

    Fix: pass 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC003",
    "a required pointer is not null",
    calls=EVERY_CALL,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(_OUT_OF_RANGE, Document("cuDriverGetVersion", "if `driverVersion` is NULL")),
    spec=("G3", "MC1"),
)
def pointer_given(name: str, pointer: int) -> str | None:
    """Pass an address for every output and for every structure that a call reads.

    From Python this is `None` where a properties object belongs: `_v2` passes it on as NULL.

        multicast_create(None)                     # refused
        multicast_create(MulticastObjectProp_v1()) # good as far as the pointer goes

    Fix: create the structure and keep it alive during the call.
    """
    return None if pointer else f"{name} is a null pointer"


@rule(
    "MC004",
    "a device ordinal exists",
    calls=(
        "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2", "cuDeviceComputeCapability", "cuDeviceGetPCIBusId", "cuDeviceCanAccessPeer",
        "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2",
        "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxSetFlags_v2", "cuCtxCreate_v4",
        "cuDeviceGetMemPool", "cuDeviceSetMemPool", "cuDeviceGetDefaultMemPool", "cuDeviceGetCliqueCount",
        "cuDeviceGetCliqueInfo", "cuDeviceGetFabricClusterUuid", "cuMemCreate", "cuMulticastAddDevice",
    ),
    status=Status.INVALID_DEVICE,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_INVALID_DEVICE", "does not correspond to a valid CUDA device"),
        Transcript("attrs", "cuDeviceGet.bad"),
        Transcript("create", "create.dev5"),
    ),
    spec=("G4", "MA4", "CR15"),
)  # fmt: skip
def device_exists(dev: int, count: int) -> str | None:
    """Name a device between 0 and cuDeviceGetCount - 1.

    Ordinals count the devices that this process sees. A rank on another node, or one started with
    CUDA_VISIBLE_DEVICES, has its own numbering, so a global rank is not an ordinal.

        prop.location.id = 8   # on a machine of eight devices: refused
        prop.location.id = 7   # good

    Fix: use the local rank, and check device_get_count().
    """
    return no_device(dev, count)


@rule(
    "MC005",
    "the flags of a memory call are 0",
    calls=(
        "cuMemCreate",
        "cuMemMap",
        "cuMemAddressReserve",
        "cuMemExportToShareableHandle",
        "cuMemPoolExportToShareableHandle",
    ),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_create", "flags for future use, must be zero"),
        Transcript("create", "create.flags1"),
        Transcript("map", "map.flags"),
        Transcript("reserve", "reserve.flags"),
        Transcript("share", "export.flags"),
    ),
    spec=("G5", "CR17", "VA4", "MM5", "EX4"),
)
def flags_zero(flags: int) -> str | None:
    """Pass 0 as flags to mem_create, mem_map, mem_address_reserve and mem_export_to_shareable_handle.

    These flags are reserved. Handle types, access rights and usage have places of their own (the allocation
    properties and mem_set_access).

        mem_create(size, prop, MemAllocationHandleType.POSIX_FILE_DESCRIPTOR)   # refused
        mem_create(size, prop, 0)                                               # good

    Fix: pass 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC006",
    "a memory handle is one that this process got",
    calls=(
        "cuMemMap", "cuMemExportToShareableHandle", "cuMemGetAllocationPropertiesFromHandle",
        "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindMem_v2", "cuMulticastBindAddr",
        "cuMulticastBindAddr_v2", "cuMulticastUnbind",
    ),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_create", "This handle cannot be transmitted directly to other processes"),
        Transcript("props", "props.0"),
    ),
    spec=("G8", "PR1"),
)  # fmt: skip
def handle_known(name: str, handle: int, known: bool) -> str | None:
    """Use handles that mem_create, multicast_create, an import or a retain gave to this process.

    The number means nothing elsewhere: another process must import an exported descriptor or fabric handle. 0
    is never a handle. (A real driver was seen to crash on an invented number; the simulator refuses it.)

        comm.bcast(mc_handle); multicast_add_device(mc_handle, dev)   # in the other process: refused
        multicast_add_device(mem_import_from_shareable_handle(fd, 1), dev)   # good

    Fix: send the exported handle, not the integer.
    """
    return None if known else f"{name} {handle:#x} is not a handle of this process"


@rule(
    "MC007",
    "a handle is not used after its release",
    calls=(
        "cuMemMap", "cuMemExportToShareableHandle", "cuMemGetAllocationPropertiesFromHandle",
        "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindMem_v2", "cuMulticastBindAddr",
        "cuMulticastBindAddr_v2", "cuMulticastUnbind",
    ),
    kind="undefined",
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuMemExportToShareableHandle", "CUDA handle afterward will lead to undefined behavior"),
        Transcript("release", "release.twice"),
    ),
    spec=("G6",),
)  # fmt: skip
def handle_not_released(name: str, handle: int, released: bool) -> str | None:
    """Keep a handle until its last use; mem_release ends it.

    The documents call later use undefined. Mappings live on without the handle, and a mapped address gives
    a handle back (mem_retain_allocation_handle), so an early release is fine as long as the number is
    forgotten.

        mem_release(mem); multicast_bind_mem(mc, 0, mem, 0, size, 0)   # undefined; refused here
        multicast_bind_mem(mc, 0, mem, 0, size, 0); mem_release(mem)   # legal, but see MC865

    Fix: release last, or retain the handle from the address.
    """
    return f"{name} {handle:#x} was already released" if released else None


@rule(
    "MC008",
    "the entry point is simulated",
    calls=EVERY_CALL,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Note("settled here", "what nobody wrote fails closed instead of pretending"),
)
def simulated(entry: str, written: bool) -> str | None:
    """Call only what this software driver simulates.

    The library offers every name that a loader may ask for, so that programs start; the entries behind which
    there is nothing answer 801 and say so in the log. Graphics interoperability is among them.

        cuArrayCreate(…)   # 801
        cuMemcpyAsync(…)   # good

    Fix: leave the feature out under the simulator, or report which program needs it.
    """
    return None if written else f"{entry} is not simulated"


@rule(
    "MC009",
    "the driver is not shutting down",
    calls=EVERY_CALL,
    status=Status.DEINITIALIZED,
    evidence="documented",
    source=Document("CUresult.CUDA_ERROR_DEINITIALIZED", "CUDA driver is in the process of shutting down"),
)
def not_shutting_down(shutting_down: bool) -> str | None:
    """Make the last driver call before the interpreter shuts down.

    Destructors that run while modules are torn down find no driver any more. The answer is 4, never a crash;
    the memory is given back with the process.

        def __del__(self): mem_release(self.handle)   # at exit: answered 4
        with closing(buffer): …                       # good

    Fix: close resources explicitly, or with `atexit`.
    """
    return "the driver is shutting down" if shutting_down else None


@rule(
    "MC010",
    "the driver is not used in a forked child",
    calls=EVERY_CALL,
    status=Status.NOT_INITIALIZED,
    evidence="recorded",
    source=Transcript("fork", "fork.child", output="[3, 3, 3]"),
)
def not_forked(forked: bool) -> str | None:
    """Start CUDA in the child itself: spawn processes instead of forking after cuInit.

    A forked child inherits addresses and descriptors, but not the kernel's side of a CUDA process. Every call
    in it answers 3, cuInit too, and nothing that the parent owns is touched.

        init(0); os.fork()                          # the child can use no CUDA
        multiprocessing.get_context("spawn") …      # good

    Fix: use the spawn start method, or fork before the first CUDA call.
    """
    return "this process was forked after cuInit; use spawn instead of fork" if forked else None


@rule(
    "MC011",
    "an error code is one that the driver knows",
    calls=("cuGetErrorName", "cuGetErrorString"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document(
            "get_error_name",
            "If the error code is not recognized, ``CUDA_ERROR_INVALID_VALUE`` will be returned",
        ),
        Transcript("errors", "cuGetErrorName.unknown", recording="driver"),
    ),
)
def error_code_known(error: int, known: bool) -> str | None:
    """Ask for the name only of a CUresult that this driver version has.

    This is the one failing call that touches its output: the string pointer is set to NULL, as documented and
    as recorded.

        get_error_name(12345)   # refused
        get_error_name(47)      # good from CUDA 13.4 on

    Fix: print the number when the name is unknown.
    """
    return None if known else f"{error} is not a CUresult"


@rule(
    "MC012",
    "a requested version is not newer than the driver",
    calls=("cuGetProcAddress", "cuGetProcAddress_v2"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("get_proc_address_v2", "CUDA version is greater than the driver version, the API will return"),
        Transcript("getproc", "cuMemAlloc.13010.0", recording="driver"),
    ),
    spec=("CL8",),
)
def proc_address_version(version: int, driver_version: int) -> str | None:
    """Ask cuGetProcAddress for a version up to cuDriverGetVersion.

    The version chooses the form: cuMulticastBindMem at 12010 is the first form, at 13010 the `_v2` one. The
    bindings of CUDA 13.5 ask for the clique queries at 13041, so a driver of 13040 cannot serve them.

        get_proc_address_v2(b"cuMulticastBindMem", 14000, 0)   # driver 13050: refused
        get_proc_address_v2(b"cuMulticastBindMem", 13010, 0)   # good

    Fix: ask for the version your header documents, and check driver_get_version() first.
    """
    return None if version <= driver_version else f"version {version} is newer than the driver's {driver_version}"


@rule(
    "MC013",
    "the system is ready to start CUDA work",
    calls=("cuInit",),
    kind="limit",
    status=Status.SYSTEM_NOT_READY,
    evidence="documented",
    source=Document("CUresult.CUDA_ERROR_SYSTEM_NOT_READY", "system is not yet ready to start any CUDA work"),
)
def system_started(problem: str) -> str | None:
    """Start the machine's daemons before the first CUDA program.

    On NVSwitch machines where the Fabric Manager has never run since boot, already cuInit answers 802. When
    it ran and was stopped, cuInit succeeds and the first bind fails instead (MC343).

        fm never started: init(0) answers 802
        systemctl enable --now nvidia-fabricmanager: good

    Fix: install the Fabric Manager of exactly the driver's version, and enable it.
    """
    return f"system not ready: {problem}" if problem else None


@rule(
    "MC014",
    "the GPU fabric is ready",
    calls=("cuInit",),
    kind="limit",
    status=Status.FABRIC_NOT_READY,
    evidence="documented",
    source=Document("CUresult.CUDA_ERROR_FABRIC_NOT_READY", "while the fabric manager probe is still in progress"),
)
def fabric_ready(problem: str) -> str | None:
    """Wait until the Fabric Manager has probed the GPUs; the state passes by itself.

    Newer drivers wait a bounded time for the probe and answer 919 when it takes longer. Unlike 802 at a
    bind it may be retried by each process alone.

        CUDA_FABRIC_INIT_TIMEOUT_MS=100: init(0) answers 919 shortly after boot
        the same a few seconds later: good

    Fix: retry after a delay, or raise CUDA_FABRIC_INIT_TIMEOUT_MS.
    """
    return f"fabric not ready: {problem}" if problem else None
