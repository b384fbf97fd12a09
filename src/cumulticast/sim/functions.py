"""What a function answers about itself, and what can be set on it (CUfunction_attribute)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.sim.machine import Device

if TYPE_CHECKING:
    from cumulticast.sim.images import Kernel
    from cumulticast.sim.modules import Function, Module

MAX_THREADS, SHARED_SIZE, CONST_SIZE, LOCAL_SIZE, REGISTERS, PTX_VERSION, BINARY_VERSION, CACHE_CA = range(8)
DYNAMIC_SHARED, CARVEOUT, CLUSTER_MUST_BE_SET, CLUSTER_WIDTH, CLUSTER_HEIGHT, CLUSTER_DEPTH = range(8, 14)
NON_PORTABLE_CLUSTER, CLUSTER_POLICY, DEVICE_NODE_UPDATE, SHARED_MODE = range(14, 18)
CLUSTER = (CLUSTER_WIDTH, CLUSTER_HEIGHT, CLUSTER_DEPTH)
NEEDS_LOADING = (MAX_THREADS, CONST_SIZE, DYNAMIC_SHARED)  # cuFuncGetAttribute
WRITABLE = (DYNAMIC_SHARED, CARVEOUT, *CLUSTER, NON_PORTABLE_CLUSTER, CLUSTER_POLICY, SHARED_MODE)
#: The driver version from which on an attribute is known; all others are older than any driver here.
SINCE: Mapping[int, int] = {DEVICE_NODE_UPDATE: 13010, SHARED_MODE: 13020}

# CUdevice_attribute
THREADS_PER_BLOCK, SHARED_PER_BLOCK, REGISTERS_PER_BLOCK, SHARED_OPTIN = 1, 8, 12, 97
REGISTER_STEP = 256  # registers are handed out to a warp in pieces of this many (occupancy calculator)
WARP = 32
NO_CARVEOUT = -1  # recorded


def is_known(attribute: int, driver_version: int) -> bool:
    """Tell whether a driver knows an attribute (recorded: 13.0 knows 0 to 15)."""
    return 0 <= attribute <= SHARED_MODE and driver_version >= SINCE.get(attribute, 0)


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel on a device, with what was set for it there.

    Attributes
    ----------
    settings
        CUfunction_attribute → value.
    target, sm, constant_size
        As of its module.
    """

    kernel: Kernel
    device: Device
    settings: Mapping[int, int]
    target: int
    sm: int
    constant_size: int

    @property
    def max_threads(self) -> int:
        """The most threads of a block: what the device, the text and the registers allow."""
        most = min(self.device.attributes[THREADS_PER_BLOCK], self.registers_allow)
        bound = None if self.kernel.required_block else self.kernel.max_threads  # recorded: .reqntid does not show
        return min(most, bound or most)

    @property
    def registers_allow(self) -> int:
        """How many threads of a block have room for their registers."""
        return registers_allow(self.kernel.registers, self.device.attributes[REGISTERS_PER_BLOCK])

    @property
    def dynamic_limit(self) -> int:
        """The most dynamic shared memory of a block, in bytes."""
        free = self.device.attributes[SHARED_PER_BLOCK] - self.kernel.static_shared
        return self.settings.get(DYNAMIC_SHARED, max(free, 0))

    @property
    def cluster(self) -> tuple[int, int, int] | None:
        """The blocks of a cluster that the text or a setting demands."""
        if self.kernel.required_cluster is not None:
            return self.kernel.required_cluster
        width, height, depth = (self.settings.get(attribute, 0) for attribute in CLUSTER)
        return (width, height, depth) if width else None

    def attribute(self, attribute: int) -> int:
        """Answer the value of an attribute that is known.

        Raises
        ------
        PtxError
            Threads and registers need the compiler, the first time.
        """
        kernel = self.kernel
        if attribute in CLUSTER:
            return (self.cluster or (0, 0, 0))[CLUSTER.index(attribute)]
        answers: dict[int, Callable[[], int]] = {
            MAX_THREADS: lambda: self.max_threads,
            SHARED_SIZE: lambda: kernel.static_shared,
            CONST_SIZE: lambda: self.constant_size,
            LOCAL_SIZE: lambda: kernel.local_size,
            REGISTERS: lambda: kernel.registers,
            PTX_VERSION: lambda: self.target,
            BINARY_VERSION: lambda: self.sm,
            DYNAMIC_SHARED: lambda: self.dynamic_limit,
            CLUSTER_MUST_BE_SET: lambda: int(self.cluster is not None),
        }
        if attribute in answers:
            return answers[attribute]()
        return self.settings.get(attribute, NO_CARVEOUT if attribute == CARVEOUT else 0)


def registers_allow(registers: int, available: int) -> int:
    """Answer how many threads have room for their registers: whole warps, in pieces of 256."""
    per_warp = -(-max(registers, 1) * WARP // REGISTER_STEP) * REGISTER_STEP
    return available // per_warp * WARP


def subject(function: Function, device: Device) -> Subject:
    """See a function with its own settings over those of its kernel (cuKernelSetAttribute)."""
    module = function.module
    settings = {**kernel_settings(module, function.kernel.name, device), **function.settings}
    return Subject(function.kernel, device, settings, module.text.target, module.sm, module.constant_size)


def kernel_settings(module: Module, name: str, device: Device) -> Mapping[int, int]:
    """Answer what was set for the library's kernel on a device."""
    if module.library is None or module.library.kernels is None:
        return {}
    return module.library.kernels[name].settings.get(device.ordinal, {})
