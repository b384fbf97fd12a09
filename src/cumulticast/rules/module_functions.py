"""Functions of modules and kernels of CUDA libraries: handles, attributes, parameters."""

from .book import rule
from .module_calls import HANDLES
from .source import Document, Transcript
from .status import Status

_SETS = ("cuFuncSetAttribute", "cuKernelSetAttribute")
_GETS = ("cuFuncGetAttribute", "cuKernelGetAttribute")


@rule(
    "MC1008",
    "a function handle is valid",
    calls=(
        "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", *_GETS[:1], *_SETS[:1],
        "cuFuncSetCacheConfig", "cuFuncGetModule", "cuFuncGetName", "cuFuncGetParamInfo", "cuFuncGetParamCount",
        "cuFuncIsLoaded", "cuFuncLoad", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    ),
    status=Status.INVALID_HANDLE,
    evidence="recorded",
    source=(
        HANDLES,
        Transcript("modules", "launch.null_function", recording="driver"),
        Transcript("module_unloaded", "launch", recording="kernels"),
    ),
)  # fmt: skip
def function_valid(function: int, known: bool) -> str | None:
    """Use a function until its module is unloaded.

    Launches and occupancy queries take a CUkernel as well.

        module_unload(m); launch_kernel(f, …)   # refused
        launch_kernel(f, …); module_unload(m)   # good

    Fix: keep the module (in cuda.core the ObjectCode) as long as its functions.
    """
    return None if known else f"function {function:#x} is not a function of this process"


@rule(
    "MC1010",
    "a kernel handle is valid",
    calls=(
        "cuKernelGetFunction", "cuKernelGetLibrary", "cuKernelGetAttribute", "cuKernelSetAttribute",
        "cuKernelSetCacheConfig", "cuKernelGetName", "cuKernelGetParamInfo", "cuKernelGetParamCount",
    ),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=(
        HANDLES,
        Transcript("libraries", "null.attribute", recording="kernels"),
    ),
)  # fmt: skip
def kernel_valid(kernel: int, known: bool) -> str | None:
    """Use a kernel until its library is unloaded.

        library_unload(l); kernel_get_function(k)   # refused
        kernel_get_function(k); library_unload(l)   # good

    A CUfunction is no CUkernel, though launches take both.

    Fix: keep the library as long as its kernels.
    """
    return None if known else f"kernel {kernel:#x} is not a kernel of this process"


@rule(
    "MC1012",
    "a function attribute is known",
    calls=(*_GETS, *_SETS),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("modules", "attribute.CU_FUNC_ATTRIBUTE_MAX", recording="driver"),
)
def function_attribute_known(attribute: int, known: bool) -> str | None:
    """Ask for a member of CUfunction_attribute that the driver has; newer headers name more than older drivers know.

        func_get_attribute(FunctionAttribute.MAX, f)        # refused
        func_get_attribute(FunctionAttribute.NUM_REGS, f)   # good

    Fix: check driver_get_version before newer attributes.
    """
    return None if known else f"attribute {attribute} is no CUfunction_attribute of this driver"


@rule(
    "MC1013",
    "a function attribute that is set can be set",
    calls=_SETS,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuFuncSetAttribute", "Attempting to set a value on a read-only attribute will result in an"),
        Transcript("libraries", "kernel.set_read_only", recording="kernels"),
        Transcript("function_attributes", "set.4.32", recording="kernels"),
    ),
)
def function_attribute_writable(attribute: int, writable: bool) -> str | None:
    """Set dynamic shared memory (8), carve-out (9), cluster (11 to 15) and shared memory mode (17) only.

    The others tell what the compiler made.

        func_set_attribute(f, FunctionAttribute.NUM_REGS, 32)                            # refused
        func_set_attribute(f, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536)    # good

    Fix: say what the compiler should do in the source (__launch_bounds__).
    """
    return None if writable else f"attribute {attribute} is read-only"


@rule(
    "MC1014",
    "the value of a function attribute is legal",
    calls=_SETS,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuFuncSetAttribute", "cannot exceed the device attribute"),
        Transcript("function_attributes", "dynamic.231425", recording="kernels"),
        Transcript("function_attributes", "set.9.101", recording="kernels"),
    ),
)
def function_attribute_value(attribute: int, value: int, least: int, most: int) -> str | None:
    """Keep static and dynamic shared memory together below the device's opt-in limit, and shares within 0 to 100.

    The limit is MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: 166912 bytes on sm_80, 232448 on sm_90 and sm_100.

        func_set_attribute(f, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000)   # refused
        func_set_attribute(f, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000)   # sm_90: good

    Fix: ask the device for its limit and subtract what the kernel declares.
    """
    if least <= value <= most:
        return None
    nearest = least if value < least else most
    return f"value {value} of attribute {attribute} is not between {least} and {most}; nearest {nearest}"


@rule(
    "MC1015",
    "a cluster size that the source fixes is not set again",
    calls=_SETS,
    status=Status.NOT_PERMITTED,
    evidence="documented",
    held="strict",
    source=Document("cuFuncSetAttribute", "compile time, it cannot be set at runtime. Setting it at runtime will"),
)
def cluster_not_fixed(attribute: int, fixed: bool) -> str | None:
    """Leave __cluster_dims__ (.reqnctapercluster) out of the source where the size is to be chosen later.

        func_set_attribute(f, FunctionAttribute.REQUIRED_CLUSTER_WIDTH, 2)   # f has __cluster_dims__: refused
        launch_kernel_ex(cluster 2x1x1, g, …)                                # g has none: good

    The documents say 800; a real driver was recorded to answer 1 (MC1026).

    Fix: choose one place for the cluster size.
    """
    return f"attribute {attribute}: the cluster size is fixed in the source" if fixed else None


@rule(
    "MC1017",
    "a parameter index is less than the number of parameters",
    calls=("cuFuncGetParamInfo", "cuKernelGetParamInfo"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuFuncGetParamInfo", "less than the number of parameters that"),
        Transcript("function_attributes", "param.2", recording="kernels"),
    ),
)
def parameter_index(index: int, count: int) -> str | None:
    """Count from 0 to func_get_param_count − 1.

        func_get_param_info(f, 1)   # one parameter: refused
        func_get_param_info(f, 0)   # good

    Programs written before func_get_param_count existed ask until they get this answer.

    Fix: stop there.
    """
    if index < count:
        return None
    return f"param_index {index}: the kernel has {count} parameters; nearest {max(count - 1, 0)}"


@rule(
    "MC1024",
    "a function is loaded before it is asked what its machine code needs",
    calls=("cuFuncGetAttribute",),
    status=Status.FUNCTION_NOT_LOADED,
    evidence="documented",
    source=(
        Document("cuFuncGetAttribute", "requires a fully loaded function but the function is not loaded"),
        Transcript("function_attributes", "unloaded.0", recording="kernels"),
    ),
)
def function_loaded(attribute: int, loaded: bool) -> str | None:
    """Load what module_enumerate_functions returned before asking for threads, constants and dynamic shared memory.

        f = module_enumerate_functions(1, m)[0]
        func_get_attribute(FunctionAttribute.MAX_THREADS_PER_BLOCK, f)                 # refused
        func_load(f); func_get_attribute(FunctionAttribute.MAX_THREADS_PER_BLOCK, f)   # good

    What module_get_function returns is loaded.

    Fix: func_load.
    """
    return None if loaded else f"attribute {attribute} needs a loaded function"


@rule(
    "MC1026",
    "a cluster size that the source fixes is read-only",
    calls=_SETS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    held="hardware",
    source=Transcript("function_attributes", "fixed_cluster.set", recording="kernels"),
)
def cluster_read_only(attribute: int, fixed: bool) -> str | None:
    """Set no cluster size on a kernel whose source has one.

    This is what a real driver answers; the documents promise 800 (MC1015), which profile `strict` follows.

        func_set_attribute(f, FunctionAttribute.REQUIRED_CLUSTER_WIDTH, 2)   # f has __cluster_dims__: refused
        func_set_attribute(g, FunctionAttribute.REQUIRED_CLUSTER_WIDTH, 2)   # g has none: good

    Fix: choose one place for the cluster size.
    """
    return f"attribute {attribute}: the cluster size of the source is read-only" if fixed else None
