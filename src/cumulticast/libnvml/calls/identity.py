"""Which devices there are, and who each of them is."""

from __future__ import annotations

import struct
from collections.abc import Callable

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status
from cumulticast.libnvml.texts import check_version, text, version
from cumulticast.sim.presets import attribute_numbers

PCI = struct.Struct("16s5I32s")  # nvmlPciInfo_t
UP_TO_DEVICE_ID, UP_TO_SUBSYSTEM = 32, 36  # bytes of it that older calls write
PCI_EXT = struct.Struct("8I32s")  # nvmlPciInfoExt_v1_t
DISPLAY_3D = (0x03, 0x02)  # PCI class and subclass of these boards: a 3D controller


@answers("nvmlDeviceGetCount", "nvmlDeviceGetCount_v2")
def count(service: Service) -> int:
    """Count the devices of this node."""
    return len(service.gpus)


@answers("nvmlDeviceGetHandleByIndex", "nvmlDeviceGetHandleByIndex_v2")
def by_index(service: Service, index: int) -> int:
    """Answer the device with this index, in PCI order."""
    if index >= len(service.gpus):
        raise Refused(Status.INVALID_ARGUMENT, f"there are devices 0 to {len(service.gpus) - 1}, not {index}")
    return service.gpus[index].handle


def _first(service: Service, what: str, matches: Callable[[Gpu], bool]) -> int:
    found = next(filter(matches, service.gpus), None)
    if found is None:
        raise Refused(Status.NOT_FOUND, f"no device is {what}")
    return found.handle


@answers("nvmlDeviceGetHandleByUUID")
def by_uuid(service: Service, uuid: bytes) -> int:
    """Answer the device with this UUID."""
    wanted = uuid.decode("ascii", "replace").lower()
    return _first(service, wanted, lambda gpu: gpu.uuid.lower() == wanted)


@answers("nvmlDeviceGetHandleBySerial")
def by_serial(service: Service, serial: bytes) -> int:
    """Answer the device with this board serial number."""
    return _first(service, serial.decode("ascii", "replace"), lambda gpu: gpu.serial.encode() == serial)


@answers("nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByPciBusId_v2")
def by_pci(service: Service, address: bytes) -> int:
    """Answer the device at ``[domain:]bus:device[.function]``, in hexadecimal."""
    try:
        numbers = [int(part, 16) for part in address.partition(b".")[0].split(b":")]
    except ValueError:
        raise Refused(Status.INVALID_ARGUMENT, f"{address!r} is no PCI address") from None
    wanted = tuple(numbers if len(numbers) == 3 else [0, *numbers])
    return _first(service, address.decode("ascii", "replace"), lambda gpu: gpu.pci == wanted)


@answers("nvmlDeviceGetName")
def name(service: Service, gpu: Gpu, length: int) -> bytes:
    """Answer the board's name, as CUDA does."""
    del gpu
    return text(service.machine.device_name, length)


@answers("nvmlDeviceGetBrand")
def brand(service: Service, gpu: Gpu) -> int:
    """Answer NVML_BRAND_NVIDIA."""
    del gpu
    return service.facts.brand


@answers("nvmlDeviceGetArchitecture")
def architecture(service: Service, gpu: Gpu) -> int:
    """Answer NVML_DEVICE_ARCH_."""
    del gpu
    return service.facts.architecture


@answers("nvmlDeviceGetIndex", "nvmlDeviceGetMinorNumber")
def index(service: Service, gpu: Gpu) -> int:
    """Answer the index, which is also the N of /dev/nvidiaN."""
    del service
    return gpu.index


@answers("nvmlDeviceGetSerial")
def serial(service: Service, gpu: Gpu, length: int) -> bytes:
    """Answer the board's serial number."""
    del service
    return text(gpu.serial, length)


@answers("nvmlDeviceGetUUID")
def uuid(service: Service, gpu: Gpu, length: int) -> bytes:
    """Answer ``GPU-`` and the UUID that CUDA answers."""
    del service
    return text(gpu.uuid, length)


@answers("nvmlDeviceGetPciInfo_v3")
def pci_info(service: Service, gpu: Gpu) -> bytes:
    """Answer nvmlPciInfo_t."""
    del service
    return packed_pci(*gpu.pci, *_ids(gpu))


@answers("nvmlDeviceGetPciInfo_v2")
def pci_info_v2(service: Service, gpu: Gpu) -> bytes:
    """Answer all but the new form of the address, which is left as it was (recorded)."""
    return pci_info(service, gpu)[:UP_TO_SUBSYSTEM]


@answers("nvmlDeviceGetPciInfo")
def pci_info_v1(service: Service, gpu: Gpu) -> bytes:
    """Answer neither the subsystem nor the new form of the address; both are left as they were (recorded)."""
    return pci_info(service, gpu)[:UP_TO_DEVICE_ID]


@answers("nvmlDeviceGetPciInfoExt")
def pci_info_ext(service: Service, gpu: Gpu, given: bytes) -> bytes:
    """Answer nvmlPciInfoExt_v1_t: also the class."""
    del service
    known = check_version(given, version(PCI_EXT.size, 1))
    address = _address(*gpu.pci, digits=8).encode()
    return PCI_EXT.pack(known, *gpu.pci, *_ids(gpu), *DISPLAY_3D, address)


def packed_pci(domain: int, bus: int, slot: int, device_id: int = 0, subsystem: int = 0) -> bytes:
    """Make an nvmlPciInfo_t: the address twice, in the old and the new form."""
    old, new = (_address(domain, bus, slot, digits=digits).encode() for digits in (4, 8))
    return PCI.pack(old, domain, bus, slot, device_id, subsystem, new)


def _address(domain: int, bus: int, slot: int, *, digits: int) -> str:
    return f"{domain:0{digits}X}:{bus:02X}:{slot:02X}.0"


def _ids(gpu: Gpu) -> tuple[int, int]:
    numbers = attribute_numbers()
    known = gpu.device.attributes
    return known.get(numbers["GPU_PCI_DEVICE_ID"], 0), known.get(numbers["GPU_PCI_SUBSYSTEM_ID"], 0)


@answers("nvmlDeviceGetCudaComputeCapability")
def compute_capability(service: Service, gpu: Gpu) -> tuple[int, int]:
    """Answer major and minor."""
    del gpu
    return service.machine.compute_capability


@answers("nvmlDeviceGetNumGpuCores")
def cores(service: Service, gpu: Gpu) -> int:
    """Count the CUDA cores."""
    return _attribute(gpu, "MULTIPROCESSOR_COUNT") * service.facts.cores_per_multiprocessor


@answers("nvmlDeviceGetMemoryBusWidth")
def bus_width(service: Service, gpu: Gpu) -> int:
    """Answer the width of the memory bus in bits."""
    del service
    return _attribute(gpu, "GLOBAL_MEMORY_BUS_WIDTH")


@answers("nvmlDeviceGetMultiGpuBoard")
def multi_gpu_board(service: Service, gpu: Gpu) -> int:
    """Answer 0: every board has one device."""
    del service, gpu
    return 0


@answers("nvmlDeviceGetNumaNodeId")
def numa_node(service: Service, gpu: Gpu) -> int:
    """Answer the NUMA node of the device's own memory; only coherent devices have one."""
    del service
    node = _attribute(gpu, "NUMA_ID")
    if node < 0:
        raise Refused(Status.NOT_SUPPORTED, "the device's memory is no NUMA node")
    return node


def _attribute(gpu: Gpu, attribute: str) -> int:
    return gpu.device.attributes[attribute_numbers()[attribute]]
