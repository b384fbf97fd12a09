# ruff: noqa: N801 (the names are NVIDIA's)
"""Types of what multicast memory needs of ``cuda.bindings._v2.driver`` (13.5); other names are untyped.

Functions take their parameters by position or by name. Handles, contexts and pointers are plain ``int``; a
structure may be given as its wrapper, as its address, or as None (a null pointer). Every function raises a
subclass of `DriverError`, one for each CUresult, with notes that say why.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from typing_extensions import Buffer

_E = TypeVar("_E")

def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub] (some 900 more names)

# ---- Beginning, versions, errors, entry points

def init(flags: int) -> None:
    """Initialize the driver; must come before any other function. Flags are 0."""

def driver_get_version() -> int:
    """Return the latest CUDA version supported by driver."""

def get_proc_address_v2(symbol: bytes, cuda_version: int, flags: int) -> tuple[int, int]:
    """Return address and query status of a driver function."""

def get_error_name(error: int) -> str:
    """Return the C name of a CUresult."""

def get_error_string(error: int) -> str:
    """Return the description of a CUresult."""

# ---- Devices

def device_get(ordinal: int) -> int:
    """Return a handle to a compute device."""

def device_get_count() -> int:
    """Return the number of compute-capable devices."""

def device_get_attribute(attrib: int, dev: int) -> int:
    """Return information about the device."""

def device_get_name(len: int, dev: int) -> bytes:
    """Return an identifier string for the device."""

def device_get_uuid_v2(dev: int) -> Uuid:
    """Return an UUID for the device."""

def device_get_pci_bus_id(len: int, dev: int) -> bytes:
    """Return a PCI Bus Id string for the device."""

def device_total_mem_v2(dev: int) -> int:
    """Return the total amount of memory on the device."""

def device_get_p2p_attribute(attrib: int, src_device: int, dst_device: int) -> int:
    """Query attributes of the link between two devices."""

def device_can_access_peer(dev: int, peer_dev: int) -> int:
    """Query if a device may directly access a peer device's memory."""

def device_get_clique_count(dev: int) -> int:
    """Retrieve the number of fabric cliques."""

def device_get_clique_info(dev: int) -> CliqueInfo:
    """Retrieve fabric clique information."""

def device_get_fabric_cluster_uuid(dev: int) -> Uuid:
    """Retrieve the fabric cluster UUID."""

# ---- Contexts

def device_primary_ctx_retain(dev: int) -> int:
    """Retain the primary context on the GPU."""

def device_primary_ctx_release_v2(dev: int) -> None:
    """Release the primary context on the GPU."""

def device_primary_ctx_get_state(dev: int) -> tuple[int, int]:
    """Get the state of the primary context."""

def device_primary_ctx_reset_v2(dev: int) -> None:
    """Destroy all allocations and reset all state on the primary context."""

def device_primary_ctx_set_flags_v2(dev: int, flags: int) -> None:
    """Set flags for the primary context."""

def ctx_set_current(ctx: int) -> None:
    """Bind the specified CUDA context to the calling CPU thread."""

def ctx_get_current() -> int:
    """Return the CUDA context bound to the calling CPU thread."""

def ctx_get_device() -> int:
    """Return the device handle for the current context."""

def ctx_get_device_v2(ctx: int) -> int:
    """Return the device handle for the specified context."""

def ctx_push_current_v2(ctx: int) -> None:
    """Push a context on the current CPU thread."""

def ctx_pop_current_v2() -> int:
    """Pop the current CUDA context from the current CPU thread."""

def ctx_synchronize() -> None:
    """Block for the current context's tasks to complete."""

def ctx_synchronize_v2(ctx: int) -> None:
    """Block for the specified context's tasks to complete."""

# ---- Multicast objects

def multicast_create(prop: MulticastObjectProp_v1 | int | None) -> int:
    """Create a multicast object and answer its handle."""

def multicast_get_granularity(prop: MulticastObjectProp_v1 | int | None, option: int) -> int:
    """Answer the minimum or recommended granularity of a multicast object, in bytes."""

def multicast_add_device(mc_handle: int, dev: int) -> None:
    """Add a device to a multicast object."""

def multicast_bind_mem(mc_handle: int, mc_offset: int, mem_handle: int, mem_offset: int, size: int, flags: int) -> None:
    """Bind physical memory, by its handle, for the device that owns it."""

def multicast_bind_mem_v2(
    mc_handle: int, dev: int, mc_offset: int, mem_handle: int, mem_offset: int, size: int, flags: int
) -> None:
    """Bind physical memory, by its handle, for ``dev``."""

def multicast_bind_addr(mc_handle: int, mc_offset: int, memptr: int, size: int, flags: int) -> None:
    """Bind mapped memory, by its address, for the device that owns it."""

def multicast_bind_addr_v2(mc_handle: int, dev: int, mc_offset: int, memptr: int, size: int, flags: int) -> None:
    """Bind mapped memory, by its address, for ``dev``."""

def multicast_unbind(mc_handle: int, dev: int, mc_offset: int, size: int) -> None:
    """Unbind what was bound for ``dev`` at ``mc_offset``."""

# ---- Physical memory, address ranges, mappings

def mem_create(size: int, prop: MemAllocationProp_v1 | int | None, flags: int) -> int:
    """Create physical memory and answer its handle."""

def mem_release(handle: int) -> None:
    """Give back one reference of a memory or multicast handle."""

def mem_address_reserve(size: int, alignment: int, addr: int, flags: int) -> int:
    """Reserve an address range and answer its start."""

def mem_address_free(ptr: int, size: int) -> None:
    """Free a reserved address range."""

def mem_map(ptr: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Map memory or a multicast object into a reserved range."""

def mem_unmap(ptr: int, size: int) -> None:
    """Unmap an address range."""

def mem_set_access(ptr: int, size: int, desc: MemAccessDesc_v1 | int | None, count: int) -> None:
    """Grant devices access to a mapped range."""

def mem_get_access(location: MemLocation_v1 | int | None, ptr: int) -> int:
    """Answer the access that a location has to an address."""

def mem_export_to_shareable_handle(handle: int, handle_type: int, flags: int) -> int | MemFabricHandle_v1:
    """Export memory or a multicast object to other processes."""

def mem_import_from_shareable_handle(os_handle: int, sh_handle_type: int) -> int:
    """Import what another process exported."""

def mem_get_allocation_granularity(prop: MemAllocationProp_v1 | int | None, option: int) -> int:
    """Answer the minimum or recommended granularity of physical memory, in bytes."""

def mem_get_allocation_properties_from_handle(handle: int) -> MemAllocationProp_v1:
    """Answer what a handle was created with."""

def mem_retain_allocation_handle(addr: int) -> int:
    """Answer the handle behind an address, with one reference more."""

def mem_get_handle_for_address_range(dptr: int, size: int, handle_type: int, flags: int) -> int:
    """Answer a dma-buf descriptor of an address range."""

def mem_get_address_range_v2(dptr: int) -> tuple[int, int]:
    """Answer base and size of the allocation around an address."""

# ---- Ordinary memory, copies, pointers

def mem_alloc_v2(bytesize: int) -> int:
    """Allocate device memory."""

def mem_free_v2(dptr: int) -> None:
    """Free device memory."""

def mem_get_info_v2() -> tuple[int, int]:
    """Get free and total memory."""

def memcpy(dst: int, src: int, byte_count: int) -> None:
    """Copy memory."""

def memcpy_htod_v2(dst_device: int, src_host: int | Buffer, byte_count: int) -> None:
    """Copy memory from Host to Device."""

def memcpy_dtoh_v2(dst_host: int | Buffer, src_device: int, byte_count: int) -> None:
    """Copy memory from Device to Host."""

def memcpy_dtod_v2(dst_device: int, src_device: int, byte_count: int) -> None:
    """Copy memory from Device to Device."""

def memset_d8_v2(dst_device: int, uc: int, n: int) -> None:
    """Set ``n`` bytes."""

def memset_d32_v2(dst_device: int, ui: int, n: int) -> None:
    """Set ``n`` 32-bit words."""

def pointer_get_attribute(attribute: int, ptr: int) -> int | bool | PointerAttributeP2PTokens_v1:
    """Return an attribute of a pointer."""

def pointer_get_attributes(attributes: Sequence[int], ptr: int) -> list[int | bool | PointerAttributeP2PTokens_v1]:
    """Return several attributes of a pointer, in one call."""

# ---- The error log

def logs_current(flags: int) -> int:
    """Answer the position behind the newest line of the error log."""

def logs_dump_to_memory(iterator: int, buffer: int, size: int, flags: int) -> None:
    """Copy the error log into a buffer; all three pointers are addresses."""

def logs_dump_to_file(iterator: int | None, path_to_file: bytes, flags: int) -> int:
    """Dump the driver's error log buffer to a file."""

# ---- Structures. Made empty; attributes are set afterwards; nested ones are live views.

class _Struct:
    @property
    def ptr(self) -> int: ...
    def __int__(self) -> int: ...
    @staticmethod
    def from_data(data: np.ndarray[Any, Any]) -> Any: ...
    @staticmethod
    def from_buffer(buffer: Buffer) -> Any: ...
    @staticmethod
    def from_ptr(ptr: int, readonly: bool = False, owner: object = None) -> Any: ...

class MulticastObjectProp_v1(_Struct):
    """What multicast_create is asked for: devices, size in bytes, handle types, flags (0)."""

    def __init__(self) -> None: ...
    num_devices: int
    size_: int
    handle_types: int
    flags_: int

class MemLocation_v1(_Struct):
    """Where memory lives: a `MemLocationType` and, for a device or NUMA node, its number."""

    def __init__(self) -> None: ...
    type: int
    id: int
    localized: Any

class MemAllocationProp_v1(_Struct):
    """What mem_create is asked for."""

    def __init__(self) -> None: ...
    type: int
    requested_handle_types: int
    location: MemLocation_v1
    win32handle_meta_data: int
    alloc_flags: Any

class MemFabricHandle_v1(_Struct):
    """64 bytes that name memory to every node of the fabric."""

    def __init__(self) -> None: ...
    data_: np.ndarray[tuple[int], np.dtype[np.uint8]]

class PointerAttributeP2PTokens_v1(_Struct):
    """The tokens of GPUDirect RDMA."""

    def __init__(self) -> None: ...
    p2p_token: int
    va_space_token: int

class Uuid(_Struct):
    """16 bytes that name a device or a cluster."""

    def __init__(self) -> None: ...
    @property
    def bytes(self) -> bytes: ...

class MemAccessDesc_v1(_Struct):
    """An array of access grants: where from, and `MemAccessFlags`. Arrays answer tuples and numpy arrays."""

    def __init__(self, size: int = 1) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> MemAccessDesc_v1: ...
    location: Any
    flags_: Any

class CliqueInfo(_Struct):
    """An array of the cliques that a device is in: `CliqueType` and id."""

    def __init__(self, size: int = 1) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> CliqueInfo: ...
    type: Any
    id: Any

multicast_object_prop_v1_dtype: np.dtype[np.void]
mem_allocation_prop_v1_dtype: np.dtype[np.void]
mem_location_v1_dtype: np.dtype[np.void]
mem_access_desc_v1_dtype: np.dtype[np.void]
mem_fabric_handle_v1_dtype: np.dtype[np.void]
clique_info_dtype: np.dtype[np.void]

# ---- Enumerations: a small replacement of IntEnum; combinations by | are plain int

class _EnumMeta(type):
    __members__: dict[str, Any]
    def __iter__(cls: type[_E]) -> Iterator[_E]: ...
    def __len__(cls) -> int: ...
    def __contains__(cls, item: object) -> bool: ...

class _Enum(int, metaclass=_EnumMeta):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __new__(cls, value: int) -> Self: ...

class Result(_Enum):
    SUCCESS: ClassVar[Result]
    ERROR_INVALID_VALUE: ClassVar[Result]
    ERROR_OUT_OF_MEMORY: ClassVar[Result]
    ERROR_NOT_INITIALIZED: ClassVar[Result]
    ERROR_DEINITIALIZED: ClassVar[Result]
    ERROR_PROFILER_DISABLED: ClassVar[Result]
    ERROR_PROFILER_NOT_INITIALIZED: ClassVar[Result]
    ERROR_PROFILER_ALREADY_STARTED: ClassVar[Result]
    ERROR_PROFILER_ALREADY_STOPPED: ClassVar[Result]
    ERROR_STUB_LIBRARY: ClassVar[Result]
    ERROR_CALL_REQUIRES_NEWER_DRIVER: ClassVar[Result]
    ERROR_DEVICE_UNAVAILABLE: ClassVar[Result]
    ERROR_MULTICAST_RESOURCE_FULL: ClassVar[Result]
    ERROR_NO_DEVICE: ClassVar[Result]
    ERROR_INVALID_DEVICE: ClassVar[Result]
    ERROR_DEVICE_NOT_LICENSED: ClassVar[Result]
    ERROR_INVALID_IMAGE: ClassVar[Result]
    ERROR_INVALID_CONTEXT: ClassVar[Result]
    ERROR_CONTEXT_ALREADY_CURRENT: ClassVar[Result]
    ERROR_MAP_FAILED: ClassVar[Result]
    ERROR_UNMAP_FAILED: ClassVar[Result]
    ERROR_ARRAY_IS_MAPPED: ClassVar[Result]
    ERROR_ALREADY_MAPPED: ClassVar[Result]
    ERROR_NO_BINARY_FOR_GPU: ClassVar[Result]
    ERROR_ALREADY_ACQUIRED: ClassVar[Result]
    ERROR_NOT_MAPPED: ClassVar[Result]
    ERROR_NOT_MAPPED_AS_ARRAY: ClassVar[Result]
    ERROR_NOT_MAPPED_AS_POINTER: ClassVar[Result]
    ERROR_ECC_UNCORRECTABLE: ClassVar[Result]
    ERROR_UNSUPPORTED_LIMIT: ClassVar[Result]
    ERROR_CONTEXT_ALREADY_IN_USE: ClassVar[Result]
    ERROR_PEER_ACCESS_UNSUPPORTED: ClassVar[Result]
    ERROR_INVALID_PTX: ClassVar[Result]
    ERROR_INVALID_GRAPHICS_CONTEXT: ClassVar[Result]
    ERROR_NVLINK_UNCORRECTABLE: ClassVar[Result]
    ERROR_JIT_COMPILER_NOT_FOUND: ClassVar[Result]
    ERROR_UNSUPPORTED_PTX_VERSION: ClassVar[Result]
    ERROR_JIT_COMPILATION_DISABLED: ClassVar[Result]
    ERROR_UNSUPPORTED_EXEC_AFFINITY: ClassVar[Result]
    ERROR_UNSUPPORTED_DEVSIDE_SYNC: ClassVar[Result]
    ERROR_CONTAINED: ClassVar[Result]
    ERROR_INSUFFICIENT_LOADER_VERSION: ClassVar[Result]
    ERROR_INVALID_SOURCE: ClassVar[Result]
    ERROR_FILE_NOT_FOUND: ClassVar[Result]
    ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: ClassVar[Result]
    ERROR_SHARED_OBJECT_INIT_FAILED: ClassVar[Result]
    ERROR_OPERATING_SYSTEM: ClassVar[Result]
    ERROR_INVALID_HANDLE: ClassVar[Result]
    ERROR_ILLEGAL_STATE: ClassVar[Result]
    ERROR_LOSSY_QUERY: ClassVar[Result]
    ERROR_NOT_FOUND: ClassVar[Result]
    ERROR_NOT_READY: ClassVar[Result]
    ERROR_ILLEGAL_ADDRESS: ClassVar[Result]
    ERROR_LAUNCH_OUT_OF_RESOURCES: ClassVar[Result]
    ERROR_LAUNCH_TIMEOUT: ClassVar[Result]
    ERROR_LAUNCH_INCOMPATIBLE_TEXTURING: ClassVar[Result]
    ERROR_PEER_ACCESS_ALREADY_ENABLED: ClassVar[Result]
    ERROR_PEER_ACCESS_NOT_ENABLED: ClassVar[Result]
    ERROR_PRIMARY_CONTEXT_ACTIVE: ClassVar[Result]
    ERROR_CONTEXT_IS_DESTROYED: ClassVar[Result]
    ERROR_ASSERT: ClassVar[Result]
    ERROR_TOO_MANY_PEERS: ClassVar[Result]
    ERROR_HOST_MEMORY_ALREADY_REGISTERED: ClassVar[Result]
    ERROR_HOST_MEMORY_NOT_REGISTERED: ClassVar[Result]
    ERROR_HARDWARE_STACK_ERROR: ClassVar[Result]
    ERROR_ILLEGAL_INSTRUCTION: ClassVar[Result]
    ERROR_MISALIGNED_ADDRESS: ClassVar[Result]
    ERROR_INVALID_ADDRESS_SPACE: ClassVar[Result]
    ERROR_INVALID_PC: ClassVar[Result]
    ERROR_LAUNCH_FAILED: ClassVar[Result]
    ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: ClassVar[Result]
    ERROR_TENSOR_MEMORY_LEAK: ClassVar[Result]
    ERROR_NOT_PERMITTED: ClassVar[Result]
    ERROR_NOT_SUPPORTED: ClassVar[Result]
    ERROR_SYSTEM_NOT_READY: ClassVar[Result]
    ERROR_SYSTEM_DRIVER_MISMATCH: ClassVar[Result]
    ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: ClassVar[Result]
    ERROR_MPS_CONNECTION_FAILED: ClassVar[Result]
    ERROR_MPS_RPC_FAILURE: ClassVar[Result]
    ERROR_MPS_SERVER_NOT_READY: ClassVar[Result]
    ERROR_MPS_MAX_CLIENTS_REACHED: ClassVar[Result]
    ERROR_MPS_MAX_CONNECTIONS_REACHED: ClassVar[Result]
    ERROR_MPS_CLIENT_TERMINATED: ClassVar[Result]
    ERROR_CDP_NOT_SUPPORTED: ClassVar[Result]
    ERROR_CDP_VERSION_MISMATCH: ClassVar[Result]
    ERROR_STREAM_CAPTURE_UNSUPPORTED: ClassVar[Result]
    ERROR_STREAM_CAPTURE_INVALIDATED: ClassVar[Result]
    ERROR_STREAM_CAPTURE_MERGE: ClassVar[Result]
    ERROR_STREAM_CAPTURE_UNMATCHED: ClassVar[Result]
    ERROR_STREAM_CAPTURE_UNJOINED: ClassVar[Result]
    ERROR_STREAM_CAPTURE_ISOLATION: ClassVar[Result]
    ERROR_STREAM_CAPTURE_IMPLICIT: ClassVar[Result]
    ERROR_CAPTURED_EVENT: ClassVar[Result]
    ERROR_STREAM_CAPTURE_WRONG_THREAD: ClassVar[Result]
    ERROR_TIMEOUT: ClassVar[Result]
    ERROR_GRAPH_EXEC_UPDATE_FAILURE: ClassVar[Result]
    ERROR_EXTERNAL_DEVICE: ClassVar[Result]
    ERROR_INVALID_CLUSTER_SIZE: ClassVar[Result]
    ERROR_FUNCTION_NOT_LOADED: ClassVar[Result]
    ERROR_INVALID_RESOURCE_TYPE: ClassVar[Result]
    ERROR_INVALID_RESOURCE_CONFIGURATION: ClassVar[Result]
    ERROR_KEY_ROTATION: ClassVar[Result]
    ERROR_STREAM_DETACHED: ClassVar[Result]
    ERROR_GRAPH_RECAPTURE_FAILURE: ClassVar[Result]
    ERROR_FABRIC_NOT_READY: ClassVar[Result]
    ERROR_UNKNOWN: ClassVar[Result]

class MemAllocationHandleType(_Enum):
    NONE: ClassVar[MemAllocationHandleType]
    POSIX_FILE_DESCRIPTOR: ClassVar[MemAllocationHandleType]
    WIN32: ClassVar[MemAllocationHandleType]
    WIN32_KMT: ClassVar[MemAllocationHandleType]
    FABRIC: ClassVar[MemAllocationHandleType]
    MAX: ClassVar[MemAllocationHandleType]

class MemAllocationType(_Enum):
    INVALID: ClassVar[MemAllocationType]
    PINNED: ClassVar[MemAllocationType]
    MANAGED: ClassVar[MemAllocationType]
    MAX: ClassVar[MemAllocationType]

class MemLocationType(_Enum):
    INVALID: ClassVar[MemLocationType]
    NONE: ClassVar[MemLocationType]
    DEVICE: ClassVar[MemLocationType]
    HOST: ClassVar[MemLocationType]
    HOST_NUMA: ClassVar[MemLocationType]
    HOST_NUMA_CURRENT: ClassVar[MemLocationType]
    INVISIBLE: ClassVar[MemLocationType]
    DEVICE_LOCALITY_DOMAIN: ClassVar[MemLocationType]
    MAX: ClassVar[MemLocationType]

class MemAccessFlags(_Enum):
    NONE: ClassVar[MemAccessFlags]
    READ: ClassVar[MemAccessFlags]
    READWRITE: ClassVar[MemAccessFlags]
    MAX: ClassVar[MemAccessFlags]

class MemAllocationGranularityFlags(_Enum):
    MINIMUM: ClassVar[MemAllocationGranularityFlags]
    RECOMMENDED: ClassVar[MemAllocationGranularityFlags]

class MulticastGranularityFlags(_Enum):
    MINIMUM: ClassVar[MulticastGranularityFlags]
    RECOMMENDED: ClassVar[MulticastGranularityFlags]

class MemRangeHandleType(_Enum):
    DMA_BUF_FD: ClassVar[MemRangeHandleType]
    MAX: ClassVar[MemRangeHandleType]

class MemRangeFlags(_Enum):
    MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE: ClassVar[MemRangeFlags]

class MemCreateUsage(_Enum):
    TILE_POOL: ClassVar[MemCreateUsage]
    HW_DECOMPRESS: ClassVar[MemCreateUsage]
    GPU_DIRECT_RDMA_OVER_PCIE: ClassVar[MemCreateUsage]

class CliqueType(_Enum):
    UNICAST_POINTER: ClassVar[CliqueType]
    MULTICAST_POINTER: ClassVar[CliqueType]
    UNICAST_LOGICAL_ENDPOINT: ClassVar[CliqueType]
    MULTICAST_LOGICAL_ENDPOINT: ClassVar[CliqueType]

class PointerAttribute(_Enum):
    CONTEXT: ClassVar[PointerAttribute]
    MEMORY_TYPE: ClassVar[PointerAttribute]
    DEVICE_POINTER: ClassVar[PointerAttribute]
    HOST_POINTER: ClassVar[PointerAttribute]
    P2P_TOKENS: ClassVar[PointerAttribute]
    SYNC_MEMOPS: ClassVar[PointerAttribute]
    BUFFER_ID: ClassVar[PointerAttribute]
    IS_MANAGED: ClassVar[PointerAttribute]
    DEVICE_ORDINAL: ClassVar[PointerAttribute]
    IS_LEGACY_CUDA_IPC_CAPABLE: ClassVar[PointerAttribute]
    RANGE_START_ADDR: ClassVar[PointerAttribute]
    RANGE_SIZE: ClassVar[PointerAttribute]
    MAPPED: ClassVar[PointerAttribute]
    ALLOWED_HANDLE_TYPES: ClassVar[PointerAttribute]
    IS_GPU_DIRECT_RDMA_CAPABLE: ClassVar[PointerAttribute]
    ACCESS_FLAGS: ClassVar[PointerAttribute]
    MEMPOOL_HANDLE: ClassVar[PointerAttribute]
    MAPPING_SIZE: ClassVar[PointerAttribute]
    MAPPING_BASE_ADDR: ClassVar[PointerAttribute]
    MEMORY_BLOCK_ID: ClassVar[PointerAttribute]
    IS_HW_DECOMPRESS_CAPABLE: ClassVar[PointerAttribute]
    LOCALITY_DOMAIN_ORDINAL: ClassVar[PointerAttribute]

class DriverProcAddressQueryResult(_Enum):
    SUCCESS: ClassVar[DriverProcAddressQueryResult]
    SYMBOL_NOT_FOUND: ClassVar[DriverProcAddressQueryResult]
    VERSION_NOT_SUFFICIENT: ClassVar[DriverProcAddressQueryResult]

class SpecialDevice(_Enum):
    CPU: ClassVar[SpecialDevice]
    INVALID: ClassVar[SpecialDevice]

class DeviceAttribute(_Enum):
    MAX_THREADS_PER_BLOCK: ClassVar[DeviceAttribute]
    MAX_BLOCK_DIM_X: ClassVar[DeviceAttribute]
    MAX_BLOCK_DIM_Y: ClassVar[DeviceAttribute]
    MAX_BLOCK_DIM_Z: ClassVar[DeviceAttribute]
    MAX_GRID_DIM_X: ClassVar[DeviceAttribute]
    MAX_GRID_DIM_Y: ClassVar[DeviceAttribute]
    MAX_GRID_DIM_Z: ClassVar[DeviceAttribute]
    MAX_SHARED_MEMORY_PER_BLOCK: ClassVar[DeviceAttribute]
    SHARED_MEMORY_PER_BLOCK: ClassVar[DeviceAttribute]
    TOTAL_CONSTANT_MEMORY: ClassVar[DeviceAttribute]
    WARP_SIZE: ClassVar[DeviceAttribute]
    MAX_PITCH: ClassVar[DeviceAttribute]
    MAX_REGISTERS_PER_BLOCK: ClassVar[DeviceAttribute]
    REGISTERS_PER_BLOCK: ClassVar[DeviceAttribute]
    CLOCK_RATE: ClassVar[DeviceAttribute]
    TEXTURE_ALIGNMENT: ClassVar[DeviceAttribute]
    GPU_OVERLAP: ClassVar[DeviceAttribute]
    MULTIPROCESSOR_COUNT: ClassVar[DeviceAttribute]
    KERNEL_EXEC_TIMEOUT: ClassVar[DeviceAttribute]
    INTEGRATED: ClassVar[DeviceAttribute]
    CAN_MAP_HOST_MEMORY: ClassVar[DeviceAttribute]
    COMPUTE_MODE: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE1D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_DEPTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_ARRAY_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_ARRAY_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES: ClassVar[DeviceAttribute]
    SURFACE_ALIGNMENT: ClassVar[DeviceAttribute]
    CONCURRENT_KERNELS: ClassVar[DeviceAttribute]
    ECC_ENABLED: ClassVar[DeviceAttribute]
    PCI_BUS_ID: ClassVar[DeviceAttribute]
    PCI_DEVICE_ID: ClassVar[DeviceAttribute]
    TCC_DRIVER: ClassVar[DeviceAttribute]
    MEMORY_CLOCK_RATE: ClassVar[DeviceAttribute]
    GLOBAL_MEMORY_BUS_WIDTH: ClassVar[DeviceAttribute]
    L2_CACHE_SIZE: ClassVar[DeviceAttribute]
    MAX_THREADS_PER_MULTIPROCESSOR: ClassVar[DeviceAttribute]
    ASYNC_ENGINE_COUNT: ClassVar[DeviceAttribute]
    UNIFIED_ADDRESSING: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    CAN_TEX2D_GATHER: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_GATHER_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_GATHER_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE: ClassVar[DeviceAttribute]
    PCI_DOMAIN_ID: ClassVar[DeviceAttribute]
    TEXTURE_PITCH_ALIGNMENT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURECUBEMAP_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE1D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE2D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE2D_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE3D_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE3D_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE3D_DEPTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE1D_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE1D_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE2D_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACE2D_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACECUBEMAP_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_LINEAR_PITCH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT: ClassVar[DeviceAttribute]
    COMPUTE_CAPABILITY_MAJOR: ClassVar[DeviceAttribute]
    COMPUTE_CAPABILITY_MINOR: ClassVar[DeviceAttribute]
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH: ClassVar[DeviceAttribute]
    STREAM_PRIORITIES_SUPPORTED: ClassVar[DeviceAttribute]
    GLOBAL_L1_CACHE_SUPPORTED: ClassVar[DeviceAttribute]
    LOCAL_L1_CACHE_SUPPORTED: ClassVar[DeviceAttribute]
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: ClassVar[DeviceAttribute]
    MAX_REGISTERS_PER_MULTIPROCESSOR: ClassVar[DeviceAttribute]
    MANAGED_MEMORY: ClassVar[DeviceAttribute]
    MULTI_GPU_BOARD: ClassVar[DeviceAttribute]
    MULTI_GPU_BOARD_GROUP_ID: ClassVar[DeviceAttribute]
    HOST_NATIVE_ATOMIC_SUPPORTED: ClassVar[DeviceAttribute]
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: ClassVar[DeviceAttribute]
    PAGEABLE_MEMORY_ACCESS: ClassVar[DeviceAttribute]
    CONCURRENT_MANAGED_ACCESS: ClassVar[DeviceAttribute]
    COMPUTE_PREEMPTION_SUPPORTED: ClassVar[DeviceAttribute]
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: ClassVar[DeviceAttribute]
    CAN_USE_STREAM_MEM_OPS_V1: ClassVar[DeviceAttribute]
    CAN_USE_64_BIT_STREAM_MEM_OPS_V1: ClassVar[DeviceAttribute]
    CAN_USE_STREAM_WAIT_VALUE_NOR_V1: ClassVar[DeviceAttribute]
    COOPERATIVE_LAUNCH: ClassVar[DeviceAttribute]
    COOPERATIVE_MULTI_DEVICE_LAUNCH: ClassVar[DeviceAttribute]
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: ClassVar[DeviceAttribute]
    CAN_FLUSH_REMOTE_WRITES: ClassVar[DeviceAttribute]
    HOST_REGISTER_SUPPORTED: ClassVar[DeviceAttribute]
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: ClassVar[DeviceAttribute]
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: ClassVar[DeviceAttribute]
    VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED: ClassVar[DeviceAttribute]
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[DeviceAttribute]
    HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: ClassVar[DeviceAttribute]
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED: ClassVar[DeviceAttribute]
    HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED: ClassVar[DeviceAttribute]
    MAX_BLOCKS_PER_MULTIPROCESSOR: ClassVar[DeviceAttribute]
    GENERIC_COMPRESSION_SUPPORTED: ClassVar[DeviceAttribute]
    MAX_PERSISTING_L2_CACHE_SIZE: ClassVar[DeviceAttribute]
    MAX_ACCESS_POLICY_WINDOW_SIZE: ClassVar[DeviceAttribute]
    GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: ClassVar[DeviceAttribute]
    RESERVED_SHARED_MEMORY_PER_BLOCK: ClassVar[DeviceAttribute]
    SPARSE_CUDA_ARRAY_SUPPORTED: ClassVar[DeviceAttribute]
    READ_ONLY_HOST_REGISTER_SUPPORTED: ClassVar[DeviceAttribute]
    TIMELINE_SEMAPHORE_INTEROP_SUPPORTED: ClassVar[DeviceAttribute]
    MEMORY_POOLS_SUPPORTED: ClassVar[DeviceAttribute]
    GPU_DIRECT_RDMA_SUPPORTED: ClassVar[DeviceAttribute]
    GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: ClassVar[DeviceAttribute]
    GPU_DIRECT_RDMA_WRITES_ORDERING: ClassVar[DeviceAttribute]
    MEMPOOL_SUPPORTED_HANDLE_TYPES: ClassVar[DeviceAttribute]
    CLUSTER_LAUNCH: ClassVar[DeviceAttribute]
    DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED: ClassVar[DeviceAttribute]
    CAN_USE_64_BIT_STREAM_MEM_OPS: ClassVar[DeviceAttribute]
    CAN_USE_STREAM_WAIT_VALUE_NOR: ClassVar[DeviceAttribute]
    DMA_BUF_SUPPORTED: ClassVar[DeviceAttribute]
    IPC_EVENT_SUPPORTED: ClassVar[DeviceAttribute]
    MEM_SYNC_DOMAIN_COUNT: ClassVar[DeviceAttribute]
    TENSOR_MAP_ACCESS_SUPPORTED: ClassVar[DeviceAttribute]
    HANDLE_TYPE_FABRIC_SUPPORTED: ClassVar[DeviceAttribute]
    UNIFIED_FUNCTION_POINTERS: ClassVar[DeviceAttribute]
    NUMA_CONFIG: ClassVar[DeviceAttribute]
    NUMA_ID: ClassVar[DeviceAttribute]
    MULTICAST_SUPPORTED: ClassVar[DeviceAttribute]
    MPS_ENABLED: ClassVar[DeviceAttribute]
    HOST_NUMA_ID: ClassVar[DeviceAttribute]
    D3D12_CIG_SUPPORTED: ClassVar[DeviceAttribute]
    MEM_DECOMPRESS_ALGORITHM_MASK: ClassVar[DeviceAttribute]
    MEM_DECOMPRESS_MAXIMUM_LENGTH: ClassVar[DeviceAttribute]
    VULKAN_CIG_SUPPORTED: ClassVar[DeviceAttribute]
    GPU_PCI_DEVICE_ID: ClassVar[DeviceAttribute]
    GPU_PCI_SUBSYSTEM_ID: ClassVar[DeviceAttribute]
    HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[DeviceAttribute]
    HOST_NUMA_MEMORY_POOLS_SUPPORTED: ClassVar[DeviceAttribute]
    HOST_NUMA_MULTINODE_IPC_SUPPORTED: ClassVar[DeviceAttribute]
    HOST_MEMORY_POOLS_SUPPORTED: ClassVar[DeviceAttribute]
    HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[DeviceAttribute]
    HOST_ALLOC_DMA_BUF_SUPPORTED: ClassVar[DeviceAttribute]
    ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED: ClassVar[DeviceAttribute]
    ATOMIC_REDUCTION_SUPPORTED: ClassVar[DeviceAttribute]
    LOCALITY_DOMAIN_COUNT: ClassVar[DeviceAttribute]
    MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK: ClassVar[DeviceAttribute]
    D3D12_CIG_STREAMS_SUPPORTED: ClassVar[DeviceAttribute]
    DMA_BUF_MMAP_SUPPORTED: ClassVar[DeviceAttribute]
    LOGICAL_ENDPOINT_UNICAST_SUPPORTED: ClassVar[DeviceAttribute]
    LOGICAL_ENDPOINT_MULTICAST_SUPPORTED: ClassVar[DeviceAttribute]
    LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED: ClassVar[DeviceAttribute]
    LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED: ClassVar[DeviceAttribute]
    LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT: ClassVar[DeviceAttribute]
    LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES: ClassVar[DeviceAttribute]
    VULKAN_CIG_STREAMS_SUPPORTED: ClassVar[DeviceAttribute]
    TENSOR_MAP_LARGE_TENSOR_MIN_SIZE: ClassVar[DeviceAttribute]
    GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED: ClassVar[DeviceAttribute]
    MAX: ClassVar[DeviceAttribute]

class DeviceP2PAttribute(_Enum):
    PERFORMANCE_RANK: ClassVar[DeviceP2PAttribute]
    ACCESS_SUPPORTED: ClassVar[DeviceP2PAttribute]
    NATIVE_ATOMIC_SUPPORTED: ClassVar[DeviceP2PAttribute]
    ACCESS_ACCESS_SUPPORTED: ClassVar[DeviceP2PAttribute]
    CUDA_ARRAY_ACCESS_SUPPORTED: ClassVar[DeviceP2PAttribute]
    ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: ClassVar[DeviceP2PAttribute]

class LogLevel(_Enum):
    ERROR: ClassVar[LogLevel]
    WARNING: ClassVar[LogLevel]

# ---- Exceptions: one for each CUresult

class DriverError(Exception):
    """A call was refused. ``status`` is the CUresult, ``call`` the function's name; ``__notes__`` say why."""

    status: int
    call: str
    def __init__(self, status: int) -> None: ...

class AlreadyAcquiredError(DriverError): ...
class AlreadyMappedError(DriverError): ...
class ArrayIsMappedError(DriverError): ...
class AssertError(DriverError): ...
class CallRequiresNewerDriverError(DriverError): ...
class CapturedEventError(DriverError): ...
class CdpNotSupportedError(DriverError): ...
class CdpVersionMismatchError(DriverError): ...
class CompatNotSupportedOnDeviceError(DriverError): ...
class ContainedError(DriverError): ...
class ContextAlreadyCurrentError(DriverError): ...
class ContextAlreadyInUseError(DriverError): ...
class ContextIsDestroyedError(DriverError): ...
class CooperativeLaunchTooLargeError(DriverError): ...
class DeinitializedError(DriverError): ...
class DeviceNotLicensedError(DriverError): ...
class DeviceUnavailableError(DriverError): ...
class DriverFileNotFoundError(DriverError): ...
class DriverTimeoutError(DriverError): ...
class EccUncorrectableError(DriverError): ...
class ExternalDeviceError(DriverError): ...
class FabricNotReadyError(DriverError): ...
class FunctionNotLoadedError(DriverError): ...
class GraphExecUpdateFailureError(DriverError): ...
class GraphRecaptureFailureError(DriverError): ...
class HardwareStackError(DriverError): ...
class HostMemoryAlreadyRegisteredError(DriverError): ...
class HostMemoryNotRegisteredError(DriverError): ...
class IllegalAddressError(DriverError): ...
class IllegalInstructionError(DriverError): ...
class IllegalStateError(DriverError): ...
class InsufficientLoaderVersionError(DriverError): ...
class InvalidAddressSpaceError(DriverError): ...
class InvalidClusterSizeError(DriverError): ...
class InvalidContextError(DriverError): ...
class InvalidDeviceError(DriverError): ...
class InvalidGraphicsContextError(DriverError): ...
class InvalidHandleError(DriverError): ...
class InvalidImageError(DriverError): ...
class InvalidPcError(DriverError): ...
class InvalidPtxError(DriverError): ...
class InvalidResourceConfigurationError(DriverError): ...
class InvalidResourceTypeError(DriverError): ...
class InvalidSourceError(DriverError): ...
class InvalidValueError(DriverError): ...
class JitCompilationDisabledError(DriverError): ...
class JitCompilerNotFoundError(DriverError): ...
class KeyRotationError(DriverError): ...
class LaunchFailedError(DriverError): ...
class LaunchIncompatibleTexturingError(DriverError): ...
class LaunchOutOfResourcesError(DriverError): ...
class LaunchTimeoutError(DriverError): ...
class LossyQueryError(DriverError): ...
class MapFailedError(DriverError): ...
class MisalignedAddressError(DriverError): ...
class MpsClientTerminatedError(DriverError): ...
class MpsConnectionFailedError(DriverError): ...
class MpsMaxClientsReachedError(DriverError): ...
class MpsMaxConnectionsReachedError(DriverError): ...
class MpsRpcFailureError(DriverError): ...
class MpsServerNotReadyError(DriverError): ...
class MulticastResourceFullError(DriverError): ...
class NoBinaryForGpuError(DriverError): ...
class NoDeviceError(DriverError): ...
class NotFoundError(DriverError): ...
class NotInitializedError(DriverError): ...
class NotMappedAsArrayError(DriverError): ...
class NotMappedAsPointerError(DriverError): ...
class NotMappedError(DriverError): ...
class NotPermittedError(DriverError): ...
class NotReadyError(DriverError): ...
class NotSupportedError(DriverError): ...
class NvlinkUncorrectableError(DriverError): ...
class OperatingSystemError(DriverError): ...
class OutOfMemoryError(DriverError): ...
class PeerAccessAlreadyEnabledError(DriverError): ...
class PeerAccessNotEnabledError(DriverError): ...
class PeerAccessUnsupportedError(DriverError): ...
class PrimaryContextActiveError(DriverError): ...
class ProfilerAlreadyStartedError(DriverError): ...
class ProfilerAlreadyStoppedError(DriverError): ...
class ProfilerDisabledError(DriverError): ...
class ProfilerNotInitializedError(DriverError): ...
class SharedObjectInitFailedError(DriverError): ...
class SharedObjectSymbolNotFoundError(DriverError): ...
class StreamCaptureImplicitError(DriverError): ...
class StreamCaptureInvalidatedError(DriverError): ...
class StreamCaptureIsolationError(DriverError): ...
class StreamCaptureMergeError(DriverError): ...
class StreamCaptureUnjoinedError(DriverError): ...
class StreamCaptureUnmatchedError(DriverError): ...
class StreamCaptureUnsupportedError(DriverError): ...
class StreamCaptureWrongThreadError(DriverError): ...
class StreamDetachedError(DriverError): ...
class StubLibraryError(DriverError): ...
class SystemDriverMismatchError(DriverError): ...
class SystemNotReadyError(DriverError): ...
class TensorMemoryLeakError(DriverError): ...
class TooManyPeersError(DriverError): ...
class UnknownError(DriverError): ...
class UnmapFailedError(DriverError): ...
class UnsupportedDevsideSyncError(DriverError): ...
class UnsupportedExecAffinityError(DriverError): ...
class UnsupportedLimitError(DriverError): ...
class UnsupportedPtxVersionError(DriverError): ...
