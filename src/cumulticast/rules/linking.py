"""Options of the compiler, and the linker."""

from .book import rule
from .module_calls import HANDLES, LOADS
from .source import Document, Transcript
from .status import Status

_JIT = ("cuModuleLoadDataEx", "cuLibraryLoadData", "cuLibraryLoadFromFile", "cuLinkCreate_v2", *LOADS[-2:])


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
        HANDLES,
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
