"""What is asked of a library's kernel, and set on it for a device."""

from __future__ import annotations

from cumulticast.rules import general, module_functions
from cumulticast.sim import functions, loading
from cumulticast.sim.calls.function import check_cache_config, check_setting, parameter
from cumulticast.sim.calls.library import module_in
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.functions import Subject
from cumulticast.sim.libraries import LibraryKernel
from cumulticast.sim.lookup import device_of
from cumulticast.sim.modules import Function
from cumulticast.sim.process import Process
from cumulticast.sim.text import TEXTS


def kernel_of(process: Process, value: int) -> LibraryKernel:
    """Answer the kernel behind a handle, or refuse (400)."""
    kernel = process.libraries.find_kernel(value)
    process.driver.judge(module_functions.kernel_valid, value, kernel is not None)
    assert kernel is not None
    return kernel


def subject_of(process: Process, kernel: LibraryKernel, dev: int) -> Subject:
    """See a kernel on a device; no context is needed."""
    device, library = device_of(process, dev), kernel.library
    text, sizes = library.texts[0], library.constant_size
    return Subject(kernel.kernel, device, kernel.settings.get(device.ordinal, {}), text.target, library.sm, sizes)


def function_in(process: Process, kernel: LibraryKernel, context: Context) -> Function:
    """Answer a kernel's function in a context, loaded; called without the driver's lock."""
    function = module_in(process, context, kernel.library.value).functions[kernel.kernel.name]
    loading.load_function(process, function)
    return function


@entry("cuKernelGetFunction", locked=False)
def kernel_get_function(process: Process, context: Context, kernel: int) -> int:
    """Answer the function in the current context."""
    with process.driver.lock:
        found = kernel_of(process, kernel)
    return function_in(process, found, context).value


@entry("cuKernelGetLibrary")
def kernel_get_library(process: Process, kernel: int) -> int:
    """Answer the library."""
    return kernel_of(process, kernel).library.value


@entry("cuKernelGetAttribute")
def kernel_get_attribute(process: Process, attribute: int, kernel: int, dev: int) -> int:
    """Answer an attribute on a device."""
    known = functions.is_known(attribute, process.machine.driver_version)
    process.driver.judge(module_functions.function_attribute_known, attribute, known)
    found = kernel_of(process, kernel)
    with loading.compiling(found.library.texts[0], found.library.isa):
        return subject_of(process, found, dev).attribute(attribute)


@entry("cuKernelSetAttribute")
def kernel_set_attribute(process: Process, attribute: int, value: int, kernel: int, dev: int) -> None:
    """Set an attribute for a device; what was set on a function of the kernel goes first."""
    found = kernel_of(process, kernel)
    subject = subject_of(process, found, dev)
    check_setting(process, subject, attribute, value)
    found.settings.setdefault(subject.device.ordinal, {})[attribute] = value
    for module in found.library.modules.values():
        module.functions[found.kernel.name].proven.clear()


@entry("cuKernelSetCacheConfig")
def kernel_set_cache_config(process: Process, kernel: int, config: int, dev: int) -> None:
    """Set the preferred cache configuration on a device."""
    check_cache_config(config)
    kernel_of(process, kernel).cache_configs[device_of(process, dev).ordinal] = config


@entry("cuKernelGetName")
def kernel_get_name(process: Process, hfunc: int) -> int:
    """Answer the address of the name."""
    process.driver.judge(general.pointer_given, "hfunc", hfunc)
    return TEXTS.address(kernel_of(process, hfunc).kernel.name)


@entry("cuKernelGetParamCount")
def kernel_get_param_count(process: Process, kernel: int) -> int:
    """Answer how many parameters there are."""
    process.driver.judge(general.pointer_given, "kernel", kernel)
    return len(kernel_of(process, kernel).kernel.parameters)


@entry("cuKernelGetParamInfo")
def kernel_get_param_info(process: Process, kernel: int, index: int) -> tuple[int, int]:
    """Answer offset and size of a parameter."""
    process.driver.judge(general.pointer_given, "kernel", kernel)
    return parameter(process, kernel_of(process, kernel).kernel, index)
