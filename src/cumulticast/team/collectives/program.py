"""The kernels, compiled by NVRTC for one reduction, or for the copies, and one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from . import store
from .errors import KernelsUnavailable
from .kinds import Reduction
from .protocol import BROKEN, FLAGS, HALF, MOST_RANKS, THREADS, UNROLL

#: cvt.rn.bf16.f32 needs it (PTX ISA, "cvt").
OLDEST = (8, 0)
#: What the kernels and this side have to agree on.
FACTS = {
    "MOST_RANKS": MOST_RANKS,
    "FLAGS": FLAGS,
    "BROKEN": BROKEN,
    "HALF": HALF,
    "THREADS": THREADS,
    "UNROLL": UNROLL,
}
#: NVRTC 13.0 takes a generic lambda for a function of the host's without the second one.
LANGUAGE = ("--std=c++17", "--device-as-default-execution-space")
_EXTRA = "pip install 'cumulticast[core]' has it (nvidia-cuda-nvrtc)"
_lock = Lock()
_compiled: dict[Program, bytes] = {}


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be compiled.

    Attributes
    ----------
    reduction
        None for the copies and the barrier.
    capability
        Compute capability of the device.
    machine_code
        Whether to answer a cubin instead of PTX.
    """

    reduction: Reduction | None
    capability: tuple[int, int]
    machine_code: bool = False

    @property
    def file(self) -> bytes:
        """Name of the source."""
        return b"reduce.cu" if self.reduction else b"spread.cu"

    def options(self) -> list[str]:
        """Answer the options for NVRTC."""
        kind = "sm" if self.machine_code else "compute"
        defined = [f"--define-macro={name}={value}" for name, value in FACTS.items()]
        return [f"--gpu-architecture={kind}_{_architecture(self.capability)}", *LANGUAGE, *defined, *self._kernel()]

    def _kernel(self) -> list[str]:
        if self.reduction is None:
            return []
        form = self.reduction.form
        macros = {"KIND": f"kind_{self.reduction.kind}", "REDUCE": self.reduction.operation}
        if form and self.capability >= (9, 0):
            macros["FORM"] = f'"{form}"'
        return [f"--define-macro={name}={value}" for name, value in macros.items()]


def image_of(program: Program) -> bytes:
    """Answer PTX, or machine code; compiled once by one of all processes, as far as the disk lets them share.

    Raises
    ------
    KernelsUnavailable
        NVRTC is not installed, or the device is too old.
    """
    with _lock:
        if program not in _compiled:
            _compiled[program] = store.kept(_parts(program), lambda: _compile(program))
        return _compiled[program]


def _parts(program: Program) -> list[bytes]:
    """Name all that decides what the compiler makes."""
    texts = [text for named in sorted(_texts().items()) for text in named]
    return [nvrtc_version().encode(), *texts, *(option.encode() for option in program.options())]


def nvrtc_version() -> str:
    """Answer the version of NVRTC, as ``13.5``."""
    return ".".join(map(str, _good(_nvrtc().nvrtcVersion())))


def _compile(program: Program) -> bytes:
    nvrtc = _nvrtc()
    options = [option.encode() for option in program.options()]
    texts = dict(_texts())
    source = texts.pop(program.file)
    handle = _good(nvrtc.nvrtcCreateProgram(source, program.file, len(texts), list(texts.values()), list(texts)))
    try:
        (status,) = nvrtc.nvrtcCompileProgram(handle, len(options), options)
        if status:
            raise KernelsUnavailable(
                f"NVRTC: {status.name}: {_text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, handle)!r}"
            )
        if program.machine_code:
            return _text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, handle)
        return _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, handle)
    finally:
        nvrtc.nvrtcDestroyProgram(handle)


@cache
def _texts() -> dict[bytes, bytes]:
    """Answer the files of kernels/, by name."""
    return {path.name.encode(): path.read_bytes() for path in Path(__file__).with_name("kernels").iterdir()}


def _text(size: Any, get: Any, handle: Any) -> bytes:
    """Fetch what NVRTC answers by size and content."""
    content = b" " * _good(size(handle))
    _good(get(handle, content))
    return content


def _good(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if status:
        raise KernelsUnavailable(f"NVRTC answers {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


@cache
def _nvrtc() -> Any:
    """Answer NVIDIA's bindings of NVRTC, when there is one behind them."""
    try:
        nvrtc: Any = import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        why = " ".join(str(error).split())  # it has several lines
        raise KernelsUnavailable(f"collectives are compiled by NVRTC, and there is none ({why}); {_EXTRA}") from error
    return nvrtc


@cache
def _architecture(capability: tuple[int, int]) -> int:
    """Answer the newest architecture that NVRTC knows and the device runs."""
    wanted = 10 * capability[0] + capability[1]
    if capability < OLDEST:
        raise KernelsUnavailable(
            f"a device of compute capability {wanted / 10} is too old for collectives: 8.0 at least"
        )
    known: list[int] = _good(_nvrtc().nvrtcGetSupportedArchs())
    return max(one for one in known if one <= wanted)
