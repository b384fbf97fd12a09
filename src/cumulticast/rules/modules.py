"""MC1001 to MC1029: modules, libraries, the PTX in them, their functions and variables, and linking."""

from .book import rule
from .source import Document, Transcript
from .status import Status

_LOADS = (
    "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuLibraryLoadData",
    "cuLibraryLoadFromFile", "cuLinkAddData_v2", "cuLinkAddFile_v2",
)  # fmt: skip
_COMPILES = (*_LOADS, "cuModuleGetFunction", "cuLibraryGetKernel", "cuLibraryGetModule", "cuLinkComplete", "cuFuncLoad")
_JIT = ("cuModuleLoadDataEx", "cuLibraryLoadData", "cuLibraryLoadFromFile", "cuLinkCreate_v2", *_LOADS[-2:])
_HANDLES = Document("CUresult.CUDA_ERROR_INVALID_HANDLE", "a resource handle passed to the API call was not valid")
_SETS = ("cuFuncSetAttribute", "cuKernelSetAttribute")
_GETS = ("cuFuncGetAttribute", "cuKernelGetAttribute")


@rule(
    "MC1001",
    "an image is PTX, a fatbin or a cubin",
    calls=_COMPILES,
    status=Status.INVALID_IMAGE,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_INVALID_IMAGE", "the device kernel image is invalid"),
        Transcript("modules", "load.garbage", recording="driver"),
        Transcript("modules", "load.empty", recording="driver"),
        Transcript("modules", "load.elf", recording="driver"),
        Transcript("libraries", "garbage.kernel", recording="kernels"),
    ),
)
def image_recognised(found: str, known: bool) -> str | None:
    """Hand over what a compiler wrote: PTX begins with .version, a fatbin with 0xba55ed50, a cubin is an ELF file.

    PTX ends with a NUL; a text cut off, or a buffer that was freed, is the usual cause.

        module_load_data(b"not a module")           # refused
        module_load_data(program.compile("ptx").code)   # good

    Fix: look at the first bytes of the image.
    """
    return None if known else f"the image is none that a driver knows: {found}"


@rule(
    "MC1002",
    "PTX compiles",
    calls=_COMPILES,
    status=Status.INVALID_PTX,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
        Transcript("modules", "load.syntax", recording="driver"),
        Transcript("modules", "load.future_target", recording="driver"),
        Transcript("libraries", "broken.kernel", recording="kernels"),
        Transcript("linking", "broken.add.0", recording="kernels"),
    ),
)
def ptx_compiles(where: str, problem: str) -> str | None:
    """Write PTX that the assembler accepts, for a .target that the device has.

    Syntax, types, forms that the target lacks, functions that nobody defines and too much shared memory all end here.
    A library is not looked at before a kernel is asked for, so cuLibraryGetKernel may be the call that says it.

        module_load_data(b".version 8.0\\n.target sm_90\\nnonsense")   # refused
        module_load_data(b".version 8.0\\n.target sm_90\\n")           # good

    Fix: read the line named; CU_JIT_ERROR_LOG_BUFFER holds the same words.
    """
    return f"{where}{problem}" if problem else None


@rule(
    "MC1003",
    "the .version of PTX is not newer than the driver",
    calls=_COMPILES,
    status=Status.UNSUPPORTED_PTX_VERSION,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "compiled with an unsupported"),
        Transcript("modules", "load.future_isa", recording="driver"),
    ),
)
def ptx_version_known(version: str, newest: str, too_new: bool) -> str | None:
    """Compile with a toolkit that is not newer than the driver.

    Each toolkit writes its own .version: NVRTC 13.5 writes 9.5, which a driver of CUDA 13.0 (9.0) refuses.

        module_load_data(b".version 99.0 …")   # refused
        module_load_data(b".version 8.0 …")    # good

    Fix: a newer driver, or the NVRTC of an older toolkit; cubins do not have this limit.
    """
    return f".version {version} is newer than this driver's; nearest {newest}" if too_new else None


@rule(
    "MC1004",
    "there is PTX for the device",
    calls=_COMPILES,
    status=Status.NO_BINARY_FOR_GPU,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image available that is suitable for"),
        Transcript("fatbins", "newer", recording="kernels"),
    ),
)
def image_has_ptx(what: str, sm: int, found: bool) -> str | None:
    """Keep the PTX: machine code of a GPU (SASS) cannot run on a CPU, so a cubin alone is of no use here.

    `sm` is the device's architecture, 0 where it does not matter.

        nvcc -gencode arch=compute_90,code=sm_90        # SASS only: refused
        nvcc -gencode arch=compute_90,code=compute_90   # PTX: good

    Fix: compile to PTX: nvcc -ptx or code=compute_90; NVRTC nvrtcGetPTX with --gpu-architecture=compute_90;
    cuda.core Program(...).compile("ptx").
    """
    if found:
        return None
    device = f" for sm_{sm}" if sm else ""
    return f"the image is {what} and has no PTX{device}; compile to PTX (nvcc -ptx, nvrtcGetPTX, compile('ptx'))"


@rule(
    "MC1005",
    "a module handle is valid",
    calls=(
        "cuModuleUnload", "cuModuleGetFunction", "cuModuleGetGlobal_v2", "cuModuleGetFunctionCount",
        "cuModuleEnumerateFunctions",
    ),
    status=Status.INVALID_HANDLE,
    evidence="recorded",
    source=(_HANDLES, Transcript("modules", "unload.null", recording="driver")),
)  # fmt: skip
def module_valid(hmod: int, known: bool) -> str | None:
    """Use a module until it is unloaded, or its context ends.

        module_unload(m); module_get_function(m, b"f")   # refused
        module_get_function(m, b"f"); module_unload(m)   # good

    Functions and the addresses of variables end with it.

    Fix: unload modules last.
    """
    return None if known else f"hmod {hmod:#x} is not a module of this process"


@rule(
    "MC1006",
    "the function is in the module",
    calls=("cuModuleGetFunction", "cuLibraryGetKernel"),
    status=Status.NOT_FOUND,
    evidence="documented",
    source=(
        Document("cuModuleGetFunction", "If no function of that name exists"),
        Transcript("modules", "function.missing", recording="driver"),
        Transcript("libraries", "kernel.missing", recording="kernels"),
    ),
)
def function_exists(name: str, known: bool, nearest: str) -> str | None:
    """Ask for a kernel by the name it has in the PTX: C++ names are mangled.

        module_get_function(m, b"f")      # the PTX says _Z1fPf: refused
        module_get_function(m, b"_Z1fPf") # good

    Fix: extern "C" in the source, or nvrtcGetLoweredName (cuda.core: name_expressions).
    """
    return None if known else f"no kernel is named {name}; nearest {nearest or '(there is none)'}"


@rule(
    "MC1007",
    "the variable is in the module",
    calls=("cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuLibraryGetManaged"),
    status=Status.NOT_FOUND,
    evidence="documented",
    source=(
        Document("cuModuleGetGlobal", "If no variable of that name"),
        Transcript("modules", "global.missing", recording="driver"),
        Transcript("libraries", "managed.plain", recording="kernels"),
    ),
)
def variable_exists(name: str, known: bool, nearest: str) -> str | None:
    """Ask for a variable by the name it has in the PTX.

    A compiler leaves out a static variable that nobody uses; a managed one is asked for with library_get_managed.

        module_get_global_v2(m, b"absent")   # refused
        module_get_global_v2(m, b"place")    # good

    Fix: extern "C" __device__ in the source.
    """
    return None if known else f"no variable is named {name}; nearest {nearest or '(there is none)'}"


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
        _HANDLES,
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
    "MC1009",
    "a library handle is valid",
    calls=(
        "cuLibraryUnload", "cuLibraryGetKernel", "cuLibraryGetKernelCount", "cuLibraryEnumerateKernels",
        "cuLibraryGetModule", "cuLibraryGetGlobal", "cuLibraryGetManaged", "cuLibraryGetUnifiedFunction",
    ),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=(
        _HANDLES,
        Transcript("libraries", "null.kernel", recording="kernels"),
    ),
)  # fmt: skip
def valid_library(library: int, known: bool) -> str | None:
    """Use a library until it is unloaded.

        library_unload(l); library_get_kernel(l, b"f")   # refused
        library_get_kernel(l, b"f"); library_unload(l)   # good

    Its kernels, modules and functions end with it.

    Fix: unload libraries last.
    """
    return None if known else f"library {library:#x} is not a library of this process"


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
        _HANDLES,
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
    "MC1011",
    "the module of a library is not unloaded by itself",
    calls=("cuModuleUnload",),
    status=Status.NOT_PERMITTED,
    evidence="documented",
    source=(
        Document("cuModuleUnload", "a module which was obtained from the Library Management API such as"),
        Transcript("libraries", "module.unload", recording="kernels"),
    ),
)
def module_is_own(hmod: int, of_library: bool) -> str | None:
    """Unload the library, and its modules go with it.

        module_unload(library_get_module(l))   # refused
        library_unload(l)                      # good

    A module of module_load is unloaded by module_unload.

    Fix: call library_unload.
    """
    return f"hmod {hmod:#x} belongs to a library" if of_library else None


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
    "MC1016",
    "the file of a module can be read",
    calls=("cuModuleLoad", "cuLibraryLoadFromFile", "cuLinkAddFile_v2"),
    status=Status.FILE_NOT_FOUND,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_FILE_NOT_FOUND", "the file specified was not found"),
        Transcript("modules", "load.file", recording="driver"),
        Transcript("libraries", "file.missing", recording="kernels"),
    ),
)
def file_found(path: str, problem: str) -> str | None:
    """Name a file that exists; the working directory is the process's own.

        module_load(b"/nonexistent.cubin")   # refused
        module_load(b"kernel.ptx")           # good

    Fix: pass an absolute path.
    """
    return f"{path} cannot be read: {problem}" if problem else None


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
    "MC1018",
    "a JIT option is known",
    calls=_JIT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("CUjit_option", "Online compiler and linker options"),
        Transcript("jit_options", "unknown", recording="kernels"),
    ),
)
def jit_option_known(option: int, last: int) -> str | None:
    """Pass members of CUjit_option.

    Options about code generation (registers, optimisation level, debug information) are accepted; they change nothing
    here. Logs, their sizes, the target and the wall time count.

        module_load_data_ex(image, 1, [99], [0])                        # refused
        module_load_data_ex(image, 1, [JitOption.LOG_VERBOSE], [1])     # good

    Fix: take the number from the enumeration.
    """
    return None if 0 <= option <= last else f"option {option} is no CUjit_option (0 to {last})"


@rule(
    "MC1019",
    "a log buffer of the JIT comes with its size",
    calls=_JIT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("CUjit_option.CU_JIT_ERROR_LOG_BUFFER", "the buffer size is specified via option"),
        Transcript("jit_options", "alone", recording="kernels"),
    ),
)
def jit_log_size(option: int, buffer: bool, size: bool) -> str | None:
    """Pass CU_JIT_ERROR_LOG_BUFFER together with CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, and likewise for the info log.

        options = [JitOption.ERROR_LOG_BUFFER]                                      # refused
        options = [JitOption.ERROR_LOG_BUFFER, JitOption.ERROR_LOG_BUFFER_SIZE_BYTES]   # good

    The size comes back as the number of bytes written.

    Fix: name both.
    """
    return f"option {option} (a log buffer) needs option {option + 1} (its size)" if buffer and not size else None


@rule(
    "MC1020",
    "options come with their values",
    calls=_JIT,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("cuModuleLoadDataEx", "Option values for JIT"),
)
def jit_arrays(count: int, given: bool) -> str | None:
    """Pass both arrays, as long as the count says.

        module_load_data_ex(image, 1, None, None)                     # refused
        module_load_data_ex(image, 0, None, None)                     # good

    Fix: pass 0 as the count where there are no options.
    """
    return f"{count} options, but no array of options or of values" if count and not given else None


@rule(
    "MC1021",
    "an input to the linker brings no options of the whole",
    calls=("cuLinkAddData_v2", "cuLinkAddFile_v2"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuLinkAddData", "This method accepts only compiler options"),
        Transcript("linking", "add.target", recording="kernels"),
    ),
)
def link_input_option(option: int, allowed: bool) -> str | None:
    """Give wall time, log buffers and target to link_create_v2.

        link_add_data_v2(…, [JitOption.TARGET], [90])          # refused
        link_create_v2(1, [JitOption.TARGET], [90])            # good

    Options of the compiler alone (registers, optimisation) may stand at an input.

    Fix: move the option.
    """
    return None if allowed else f"option {option} belongs to link_create_v2"


@rule(
    "MC1022",
    "the state of a linker is valid",
    calls=("cuLinkAddData_v2", "cuLinkAddFile_v2", "cuLinkComplete", "cuLinkDestroy"),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=(
        _HANDLES,
        Transcript("linking", "null.complete", recording="kernels"),
    ),
)
def link_state_valid(state: int, known: bool) -> str | None:
    """Use a CUlinkState until it is destroyed; the image it made ends with it.

        link_destroy(s); link_complete(s)   # refused
        link_complete(s); link_destroy(s)   # good

    Fix: load the image before destroying the state.
    """
    return None if known else f"state {state:#x} is not a linker of this process"


@rule(
    "MC1023",
    "what is linked is PTX, a fatbin, or an image of the linker",
    calls=("cuLinkAddData_v2", "cuLinkAddFile_v2"),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("cuLinkAddData", "The type of the input data"),
)
def link_input_type(kind: int, known: bool) -> str | None:
    """Say what the input is: CU_JIT_INPUT_PTX (1), FATBINARY (2), CUBIN (0).

    Host objects (3) and libraries of them (4) are not taken apart; NVVM (5) has an answer of its own (MC1028).

        link_add_data_v2(s, JitInputType.LIBRARY, …)   # refused
        link_add_data_v2(s, JitInputType.PTX, …)       # good

    Fix: compile to PTX with relocatable device code (nvcc -rdc=true -ptx).
    """
    return None if known else f"input type {kind} is not linked here; 0 (cubin), 1 (PTX) and 2 (fatbin) are"


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
    "MC1025",
    "a file is not a preserved binary",
    calls=("cuLibraryLoadFromFile", "cuLibraryLoadData"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("CUlibraryOption.CU_LIBRARY_BINARY_IS_PRESERVED", "is invalid and will return"),
)
def fitting_library_option(option: int, fits: bool) -> str | None:
    """Promise to preserve code (CU_LIBRARY_BINARY_IS_PRESERVED) only where it is memory of the caller.

        library_load_from_file(path, …, [LibraryOption.BINARY_IS_PRESERVED], [1], 1)   # refused
        library_load_data(code, …, [LibraryOption.BINARY_IS_PRESERVED], [1], 1)        # good

    It is a hint; code is copied here anyway. The table of host functions (0) is the runtime's and is refused as well.

    Fix: leave the option out.
    """
    return None if fits else f"library option {option} does not fit this call"


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


@rule(
    "MC1027",
    "what is linked fits together",
    calls=("cuLinkAddData_v2", "cuLinkAddFile_v2", "cuLinkComplete"),
    status=Status.INVALID_SOURCE,
    evidence="recorded",
    source=(
        Transcript("linking", "lacking.complete", recording="kernels"),
        Transcript("linking", "twice.add.1", recording="kernels"),
        Transcript("linking", "twice.complete", recording="kernels"),
    ),
)
def link_fits(problem: str) -> str | None:
    """Add every text that defines what another declares .extern, and define nothing twice.

    After an input that did not fit, completing is refused as well.

        link_add_data_v2(s, PTX, b"… .extern .func give …"); link_complete(s)   # nobody defines give: refused
        link_add_data_v2(s, PTX, b"… .visible .func give …"); link_complete(s)  # added too: good

    Fix: compile all parts with relocatable device code (-rdc=true), and add each once.
    """
    return problem or None


@rule(
    "MC1028",
    "the linker is given no NVVM",
    calls=("cuLinkAddData_v2", "cuLinkAddFile_v2"),
    status=Status.JIT_COMPILER_NOT_FOUND,
    evidence="recorded",
    source=(
        Document("cuLinkAddData", "only LTO-IR compiled with toolkits prior to CUDA 12.0 will be accepted"),
        Transcript("linking", "add.nvvm", recording="kernels"),
    ),
)
def link_no_nvvm(is_nvvm: bool) -> str | None:
    """Link PTX, not intermediate code of the compiler (CU_JIT_INPUT_NVVM): its compiler is another library.

        link_add_data_v2(s, JitInputType.NVVM, …)   # refused
        link_add_data_v2(s, JitInputType.PTX, …)    # good

    Fix: nvJitLink takes LTO-IR; or compile to PTX.
    """
    return "input type 5 (NVVM) is not linked by the driver" if is_nvvm else None


@rule(
    "MC1029",
    "a library has unified functions where one is asked for",
    calls=("cuLibraryGetUnifiedFunction",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("libraries", "unified", recording="kernels"),
)
def unified_library(symbol: str, unified: bool) -> str | None:
    """Ask for a unified function only of a library that was loaded with a table of them.

    The runtime makes such tables (CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE); nothing else does.

        library_get_unified_function(l, b"f")   # refused
        library_get_kernel(l, b"f")             # good

    Fix: take the kernel.
    """
    return None if unified else f"the library has no unified functions, so none named {symbol}"
