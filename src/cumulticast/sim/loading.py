"""From PTX to an image, for calls: which architecture, what a failure answers, what the logs of the compiler say."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cumulticast.ptx.errors import INVALID_IMAGE, UNSUPPORTED_PTX_VERSION, PtxError
from cumulticast.rules import Refused, broken, modules
from cumulticast.sim import images
from cumulticast.sim.entry import RefusedWith
from cumulticast.sim.jit import Jit, place

if TYPE_CHECKING:
    from cumulticast.sim.images import Image, Text, Version
    from cumulticast.sim.machine import Machine
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

EAGER, LAZY = 1, 2  # CUmoduleLoadingMode; a real driver answers LAZY by default (recorded: modules/loading_mode)


def loading_mode() -> int:
    """Answer the mode that CUDA_MODULE_LOADING chooses."""
    return EAGER if os.environ.get("CUDA_MODULE_LOADING", "").upper() == "EAGER" else LAZY


def architecture(machine: Machine) -> int:
    """Answer the architecture of the machine's devices: 90."""
    major, minor = machine.compute_capability
    return major * 10 + minor


def isa_of(process: Process) -> Version:
    """Answer the newest PTX that the driver takes."""
    return images.isa_version(process.machine.driver_version)


def compile_texts(process: Process, texts: Sequence[Text], jit: Jit, sm: int) -> Image:
    """Parse and check texts, and note in the logs what came of it.

    Raises
    ------
    Refused
        200, 218 or 222.
    """
    try:
        image = images.load(texts, sm, isa_of(process))
    except PtxError as error:
        jit.failed(error, texts[0], isa_of(process))
        raise refusal(error, texts[0], isa_of(process)) from error
    jit.compiled(image, sm)
    return image


@contextmanager
def telling(jit: Jit, *others: None) -> Generator[None]:
    """Around whatever fills the logs: a refusal gives back the option values, too, behind other outputs."""
    try:
        yield
    except Refused as refused:
        raise RefusedWith(refused, (*others, jit.finish())) from refused


def refusal(error: PtxError, text: Text, isa: Version) -> Refused:
    """Answer what a call is refused with because of this error."""
    if error.status == INVALID_IMAGE:
        return broken(modules.image_recognised, error.reason, False)
    if error.status == UNSUPPORTED_PTX_VERSION:
        return broken(modules.ptx_version_known, text.version, "{}.{}".format(*isa), True)
    return broken(modules.ptx_compiles, f"{place(text, error.line)}error   : ", error.reason)


@contextmanager
def compiling(text: Text, isa: Version) -> Generator[None]:
    """Around whatever may have to compile a kernel: refuse the call (218) where that fails."""
    try:
        yield
    except PtxError as error:
        raise refusal(error, text, isa) from error


def load_function(process: Process, function: Function) -> None:
    """Make a function's machine code; called without the driver's lock, which others need meanwhile.

    Raises
    ------
    Refused
        218: something in it cannot be compiled.
    """
    if not function.loaded:
        with compiling(function.module.text, isa_of(process)):
            function.load()
