"""The steps of the trial, in cuda.bindings' own words; each undoes what it did, also when it fails."""

from __future__ import annotations

from contextlib import ExitStack
from types import ModuleType
from typing import Any

from cumulticast.doctor.ask import call

UNALIGNED = 256  # what SM_107 allows at a bind, beside multiples of the granularity
CAN_BE_UNALIGNED = (10, 7)


class Steps:
    """Multicast over the devices that CUDA sees, in one process.

    Parameters
    ----------
    cuda
        cuda.bindings.driver.
    """

    def __init__(self, cuda: ModuleType) -> None:
        self.cuda = cuda
        self.devices: list[Any] = []

    def has_multicast(self) -> bool:
        """Find the devices; tell whether all of them have multicast."""
        cuda = self.cuda
        call(cuda.cuInit, 0)
        self.devices = [call(cuda.cuDeviceGet, k) for k in range(int(call(cuda.cuDeviceGetCount)))]
        return all(self._attribute("MULTICAST_SUPPORTED", device) for device in self.devices)

    def _attribute(self, name: str, device: Any) -> int:
        attribute = getattr(self.cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call(self.cuda.cuDeviceGetAttribute, attribute, device))

    def team(self) -> None:
        """Create an object over all devices, bind memory of each, and map it."""
        with ExitStack() as undo:
            mc, size = self._object(undo, granules=1)
            for device in self.devices:
                memory = self._memory(undo, device, size)
                call(self.cuda.cuMulticastBindMem, mc, 0, memory, 0, size, 0)
                undo.callback(self.cuda.cuMulticastUnbind, mc, device, 0, size)
            self._map(undo, mc, size)

    def fabric_memory(self) -> None:
        """Create memory with a fabric handle, where the devices have them."""
        if not self._attribute("HANDLE_TYPE_FABRIC_SUPPORTED", self.devices[0]):
            return
        kind = self.cuda.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC
        with ExitStack() as undo:
            self._memory(undo, self.devices[0], 2 << 20, kind)

    def unaligned_bind(self) -> None:
        """Bind at an offset that is no multiple of the granularity, where the devices can."""
        major = self._attribute("COMPUTE_CAPABILITY_MAJOR", self.devices[0])
        minor = self._attribute("COMPUTE_CAPABILITY_MINOR", self.devices[0])
        if (major, minor) != CAN_BE_UNALIGNED:
            return
        with ExitStack() as undo:
            mc, size = self._object(undo, granules=2)
            memory = self._memory(undo, self.devices[0], size)
            call(self.cuda.cuMulticastBindMem, mc, 0, memory, UNALIGNED, size // 2, 0)
            undo.callback(self.cuda.cuMulticastUnbind, mc, self.devices[0], 0, size // 2)

    def _object(self, undo: ExitStack, granules: int) -> tuple[Any, int]:
        """Create an object whose team is complete."""
        cuda = self.cuda
        prop = cuda.CUmulticastObjectProp()
        prop.numDevices = len(self.devices)
        prop.size = 2 << 20
        minimum = cuda.CUmulticastGranularity_flags.CU_MULTICAST_GRANULARITY_MINIMUM
        prop.size = size = granules * int(call(cuda.cuMulticastGetGranularity, prop, minimum))
        mc = call(cuda.cuMulticastCreate, prop)
        undo.callback(cuda.cuMemRelease, mc)
        for device in self.devices:
            call(cuda.cuMulticastAddDevice, mc, device)
        return mc, size

    def _memory(self, undo: ExitStack, device: Any, size: int, handle_type: Any = None) -> Any:
        """Create physical memory of a device."""
        cuda = self.cuda
        prop = cuda.CUmemAllocationProp()
        prop.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        prop.location.id = int(device)
        if handle_type is not None:
            prop.requestedHandleTypes = handle_type
        memory = call(cuda.cuMemCreate, size, prop, 0)
        undo.callback(cuda.cuMemRelease, memory)
        return memory

    def _map(self, undo: ExitStack, mc: Any, size: int) -> None:
        """Map the object at an address of its own."""
        address = call(self.cuda.cuMemAddressReserve, size, 0, 0, 0)
        undo.callback(self.cuda.cuMemAddressFree, address, size)
        call(self.cuda.cuMemMap, address, size, 0, mc, 0)
        undo.callback(self.cuda.cuMemUnmap, address, size)
