"""MC1001 to MC1029: modules, libraries, the PTX in them, their functions and variables, and linking."""

from .book import rule
from .module_calls import HANDLES, LOADS
from .source import Document, Transcript
from .status import Status

_COMPILES = (*LOADS, "cuModuleGetFunction", "cuLibraryGetKernel", "cuLibraryGetModule", "cuLinkComplete", "cuFuncLoad")


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
    source=(HANDLES, Transcript("modules", "unload.null", recording="driver")),
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
