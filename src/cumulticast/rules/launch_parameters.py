"""How parameters are handed to a kernel."""

from .book import rule
from .launch_calls import PLAIN
from .source import Document, Transcript
from .status import Status


@rule(
    "MC1109",
    "a kernel with parameters gets them",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("modules", "launch.no_arguments", recording="driver"),
        Transcript("launch_limits", "extra.nothing", recording="kernels"),
        Transcript("launch_limits", "extra.size.0", recording="kernels"),
        Transcript("launch_limits", "extra.no_size", recording="kernels"),
    ),
)
def parameters_given(count: int, given: bool) -> str | None:
    """Pass a pointer for each parameter in kernel_params, or one packed buffer in extra.

        launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)       # f takes a pointer: refused
        launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, 0, params, 0)  # good

    Fix: func_get_param_count tells how many there are.
    """
    return f"the kernel takes {count} parameters and none are given" if count and not given else None


@rule(
    "MC1110",
    "parameters are given in one way",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuLaunchKernel", "kernel parameters are specified with both `kernelParams` and `extra`"),
        Transcript("launch_limits", "both", recording="kernels"),
    ),
)
def parameters_once(pointers: bool, extra: bool) -> str | None:
    """Pass kernel_params or extra, not both.

        launch_kernel(f, …, params, extra)   # refused
        launch_kernel(f, …, params, 0)       # good

    Fix: leave extra NULL.
    """
    return "both kernel_params and extra are given" if pointers and extra else None


@rule(
    "MC1111",
    "a parameter buffer is no longer than the parameters",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.LAUNCH_OUT_OF_RESOURCES,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "attempted to pass too many arguments"),
        Transcript("launch_limits", "extra.size.13", recording="kernels"),
        Transcript("launch_limits", "extra.packed", recording="kernels"),
    ),
)
def parameter_buffer(given: int, needed: int) -> str | None:
    """Pack every parameter at its own alignment, and nothing behind the last: padding of a structure counts.

        launch_kernel(f, …, extra of 16 bytes)   # f takes (u64, u32): refused
        launch_kernel(f, …, extra of 12 bytes)   # good

    func_get_param_info tells offset and size of each.

    Fix: the size is the last parameter's offset plus its size.
    """
    return None if given <= needed else f"a parameter buffer of {given} bytes is too long; nearest {needed}"


@rule(
    "MC1112",
    "extra is a list of known settings with an end",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuLaunchKernel", "list must be terminated with either NULL or"),
        Transcript("launch_limits", "extra.unknown", recording="kernels"),
    ),
)
def extra_known(name: int, known: bool) -> str | None:
    """Write pairs of CU_LAUNCH_PARAM_BUFFER_POINTER (1) and CU_LAUNCH_PARAM_BUFFER_SIZE (2), then END (0).

        extra = [7, pointer, 0]                  # refused
        extra = [1, pointer, 2, size_pointer, 0] # good

    The size is a pointer to a size_t, not the number.

    Fix: end the list with 0.
    """
    return None if known else f"extra names {name:#x}, which is no CU_LAUNCH_PARAM_; 0, 1 and 2 are"


@rule(
    "MC1125",
    "a parameter buffer holds all parameters",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    kind="undefined",
    evidence="assumed",
    source=Document("cuLaunchKernel", "burden on the application of knowing each kernel parameter's size"),
)
def parameter_buffer_whole(given: int, needed: int) -> str | None:
    """Pack all parameters: a real driver takes a shorter buffer without a word (recorded: extra.size.8).

    What the kernel reads of the rest is not documented; here it is 0.

        launch_kernel(f, …, extra of 8 bytes)    # f takes (u64, u32): a finding
        launch_kernel(f, …, extra of 12 bytes)   # good

    Fix: the size is the last parameter's offset plus its size.
    """
    return None if given >= needed else f"a parameter buffer of {given} bytes lacks the last {needed - given} bytes"
