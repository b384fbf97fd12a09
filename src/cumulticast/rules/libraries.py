"""CUDA libraries: handles, options, unified functions."""

from .book import rule
from .module_calls import HANDLES
from .source import Document, Transcript
from .status import Status


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
        HANDLES,
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
