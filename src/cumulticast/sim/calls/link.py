"""Linking: several PTX texts become one image."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cumulticast.ptx.errors import PtxError
from cumulticast.rules import linking
from cumulticast.sim import containers, images, loading, raw
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.images import Text
from cumulticast.sim.jit import LINK_ONLY_CREATE, Jit
from cumulticast.sim.linker import LinkState
from cumulticast.sim.process import Process

CUBIN, PTX, FATBIN, NVVM = 0, 1, 2, 5  # CUjitInputType
LINKED = (CUBIN, PTX, FATBIN)


def state_of(process: Process, value: int) -> LinkState:
    """Answer the linker behind a handle, or refuse (400)."""
    state = process.linkers.find(value)
    process.driver.judge(linking.link_state_valid, value, state is not None)
    assert state is not None
    return state


@entry("cuLinkCreate", "cuLinkCreate_v2")
def link_create(process: Process, context: Context, count: int, options: bytes | None, array: int) -> int:
    """Begin a linker. Its logs go to the buffers of its options until it is destroyed."""
    values = raw.get(process, "option_values", array, 8 * count) if count and array else None
    jit = Jit.read(process, count, options, values)
    jit.array = array
    return process.linkers.add(jit, jit.architecture(loading.architecture(process.machine))).value


@entry("cuLinkAddData", "cuLinkAddData_v2", locked=False)
def link_add_data(
    process: Process,
    state: int,
    kind: int,
    data: int,
    size: int,
    name: bytes | None,
    count: int,
    options: bytes | None,
    values: bytes | None,
) -> bytes:
    """Add an input from memory."""
    found = checked(process, state, kind, count, options, values)
    return add(process, found, containers.texts_at(process, "data", data, found.sm, size), name, values)


@entry("cuLinkAddFile", "cuLinkAddFile_v2", locked=False)
def link_add_file(
    process: Process,
    state: int,
    kind: int,
    path: bytes,
    count: int,
    options: bytes | None,
    values: bytes | None,
) -> bytes:
    """Add an input from a file; messages call it by its path."""
    found = checked(process, state, kind, count, options, values)
    return add(process, found, containers.texts_of_file(process, path, found.sm), path, values)


def checked(
    process: Process, state: int, kind: int, count: int, options: bytes | None, values: bytes | None
) -> LinkState:
    """Answer the linker, and refuse inputs and options that do not go with it."""
    with process.driver.lock:
        found = state_of(process, state)
        process.driver.judge(linking.link_no_nvvm, kind == NVVM)
        process.driver.judge(linking.link_input_type, kind, kind in LINKED)
        for option in Jit.read(process, count, options, values).options:
            process.driver.judge(linking.link_input_option, option, option not in LINK_ONLY_CREATE)
    return found


def add(process: Process, state: LinkState, texts: list[Text], name: bytes | None, values: bytes | None) -> bytes:
    """Check texts by themselves and against the earlier ones, and keep them; the option values go back as they came."""
    isa = loading.isa_of(process)
    for text in texts:
        try:
            images.check(text, state.sm, isa)
        except PtxError as error:
            state.jit.failed(error, text, isa)
            state.jit.finish()
            raise loading.refusal(error, text, isa) from error
        named = text if name is None else Text(text.data, name.decode(errors="replace"))
        with fitting(process, state):
            images.agree([*state.texts, named])
        state.texts.append(named)
    return values or b""


@contextmanager
def fitting(process: Process, state: LinkState) -> Generator[None]:
    """Around what joins the inputs: refuse (300) where they do not fit, then and later."""
    try:
        yield
    except PtxError as error:
        state.failed = error.reason
        state.jit.errors.append(f"error   : {error.reason}")
        process.driver.judge(linking.link_fits, error.reason)
    finally:
        state.jit.finish()


@entry("cuLinkComplete", locked=False)
def link_complete(process: Process, state: int) -> tuple[int, int]:
    """Join the inputs, and answer an image; it lasts as long as the linker."""
    with process.driver.lock:
        found = state_of(process, state)
        process.driver.judge(linking.link_fits, found.failed)
    with fitting(process, found):
        images.load(found.whole, found.sm, loading.isa_of(process))
    return found.complete()


@entry("cuLinkDestroy")
def link_destroy(process: Process, state: int) -> None:
    """End a linker, and the image that it made."""
    process.linkers.remove(state_of(process, state))
