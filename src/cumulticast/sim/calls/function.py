"""What is asked of a function, and set on it."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, general, module_functions
from cumulticast.sim import functions, loading
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.functions import Subject
from cumulticast.sim.images import Kernel
from cumulticast.sim.modules import Function
from cumulticast.sim.process import Process
from cumulticast.sim.text import TEXTS

CACHE_CONFIGS = range(4)  # CUfunc_cache
CARVEOUTS, POLICIES, SHARED_MODES = (-1, 100), (0, 3), (0, 4)
ANY, COUNT = (-(2**31), 2**31 - 1), (0, 2**31 - 1)


def function_of(process: Process, value: int) -> Function:
    """Answer the function behind a handle, or refuse (400)."""
    function = process.modules.find_function(value)
    process.driver.judge(module_functions.function_valid, value, function is not None)
    assert function is not None
    return function


def subject_of(process: Process, function: Function) -> Subject:
    """See a function on its device."""
    return functions.subject(function, process.devices[function.module.context.ordinal])


@entry("cuFuncGetAttribute")
def func_get_attribute(process: Process, attribute: int, hfunc: int) -> int:
    """Answer an attribute."""
    known = functions.is_known(attribute, process.machine.driver_version)
    process.driver.judge(module_functions.function_attribute_known, attribute, known)
    function = function_of(process, hfunc)
    loaded = function.loaded or attribute not in functions.NEEDS_LOADING
    process.driver.judge(module_functions.function_loaded, attribute, loaded)
    with loading.compiling(function.module.text, loading.isa_of(process)):
        return subject_of(process, function).attribute(attribute)


@entry("cuFuncSetAttribute")
def func_set_attribute(process: Process, hfunc: int, attribute: int, value: int) -> None:
    """Set an attribute."""
    function = function_of(process, hfunc)
    check_setting(process, subject_of(process, function), attribute, value)
    function.settings[attribute] = value
    function.proven.clear()


def check_setting(process: Process, subject: Subject, attribute: int, value: int) -> None:
    """Refuse attributes that cannot be set (1), that the source fixes (800), and values that are not legal (1)."""
    judge = process.driver.judge
    known = functions.is_known(attribute, process.machine.driver_version)
    judge(module_functions.function_attribute_known, attribute, known)
    judge(module_functions.function_attribute_writable, attribute, attribute in functions.WRITABLE)
    fixed = attribute in functions.CLUSTER and subject.kernel.required_cluster is not None
    judge(module_functions.cluster_read_only, attribute, fixed)
    judge(module_functions.cluster_not_fixed, attribute, fixed)
    judge(module_functions.function_attribute_value, attribute, value, *limits(subject, attribute))


def limits(subject: Subject, attribute: int) -> tuple[int, int]:
    """Answer the least and the largest value that an attribute may be set to."""
    shared = subject.device.attributes[functions.SHARED_OPTIN] - subject.kernel.static_shared
    return {
        functions.DYNAMIC_SHARED: (0, max(shared, 0)),
        functions.CARVEOUT: CARVEOUTS,
        functions.CLUSTER_POLICY: POLICIES,
        functions.SHARED_MODE: SHARED_MODES,
        functions.NON_PORTABLE_CLUSTER: ANY,  # recorded: 2 is taken
    }.get(attribute, COUNT)


@entry("cuFuncSetCacheConfig")
def func_set_cache_config(process: Process, context: Context, hfunc: int, config: int) -> None:
    """Set the preferred cache configuration."""
    check_cache_config(config)
    function_of(process, hfunc).cache_config = config


def check_cache_config(config: int) -> None:
    """Refuse (1) what is no CUfunc_cache."""
    if config not in CACHE_CONFIGS:
        raise Refused(Status.INVALID_VALUE, None, f"config {config} is none of CUfunc_cache (0 to 3)")


@entry("cuFuncGetModule")
def func_get_module(process: Process, hfunc: int) -> int:
    """Answer the module."""
    process.driver.judge(general.pointer_given, "hfunc", hfunc)
    return function_of(process, hfunc).module.value


@entry("cuFuncGetName")
def func_get_name(process: Process, hfunc: int) -> int:
    """Answer the address of the name."""
    process.driver.judge(general.pointer_given, "hfunc", hfunc)
    return TEXTS.address(function_of(process, hfunc).kernel.name)


# ---- parameters


@entry("cuFuncGetParamCount")
def func_get_param_count(process: Process, func: int) -> int:
    """Answer how many parameters there are."""
    process.driver.judge(general.pointer_given, "func", func)
    return len(function_of(process, func).kernel.parameters)


@entry("cuFuncGetParamInfo")
def func_get_param_info(process: Process, func: int, index: int) -> tuple[int, int]:
    """Answer offset and size of a parameter."""
    process.driver.judge(general.pointer_given, "func", func)
    return parameter(process, function_of(process, func).kernel, index)


def parameter(process: Process, kernel: Kernel, index: int) -> tuple[int, int]:
    """Answer offset and size of a parameter, or refuse (1)."""
    process.driver.judge(module_functions.parameter_index, index, len(kernel.parameters))
    return kernel.parameter_offsets[index], kernel.parameters[index].size


# ---- loading


@entry("cuFuncIsLoaded")
def func_is_loaded(process: Process, function: int) -> int:
    """Tell whether its machine code was made."""
    return int(function_of(process, function).loaded)


@entry("cuFuncLoad", locked=False)
def func_load(process: Process, function: int) -> None:
    """Make its machine code."""
    with process.driver.lock:
        found = function_of(process, function)
    loading.load_function(process, found)
