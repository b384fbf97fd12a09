"""Linking: several PTX texts become one image."""

from __future__ import annotations

from cumulticast.ptx.errors import PtxError
from cumulticast.rules import modules
from cumulticast.sim import containers, images, loading, raw
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.images import Text
from cumulticast.sim.jit import LINK_ONLY_CREATE, Jit
from cumulticast.sim.linker import LinkState
from cumulticast.sim.process import Process

CUBIN, PTX, FATBIN = range(3)  # CUjitInputType
LINKED = (CUBIN, PTX, FATBIN)


def state_of(process: Process, value: int) -> LinkState:
    """Answer the linker behind a handle, or refuse (400)."""
    state = process.linkers.find(value)
    process.driver.judge(modules.link_state_valid, value, state is not None)
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
        process.driver.judge(modules.link_input_type, kind, kind in LINKED)
        for option in Jit.read(process, count, options, values).options:
            process.driver.judge(modules.link_input_option, option, option not in LINK_ONLY_CREATE)
    return found


def add(process: Process, state: LinkState, texts: list[Text], name: bytes | None, values: bytes | None) -> bytes:
    """Read texts, and keep them; the option values go back as they came."""
    for text in texts:
        named = text if name is None else Text(text.data, name.decode(errors="replace"))
        try:
            images.check(named)
        except PtxError as error:
            state.jit.failed(error, named)
            state.jit.finish()
            raise loading.refusal(error, named, loading.isa_of(process)) from error
        state.texts.append(named)
    return values or b""


@entry("cuLinkComplete", locked=False)
def link_complete(process: Process, state: int) -> tuple[int, int]:
    """Join the inputs, and answer an image; it lasts as long as the linker."""
    with process.driver.lock:
        found = state_of(process, state)
        process.driver.judge(modules.image_recognised, "nothing was added to the linker", bool(found.texts))
    try:
        loading.compile_texts(process, found.texts, found.jit, found.sm)
    finally:
        found.jit.finish()
    return found.complete()


@entry("cuLinkDestroy")
def link_destroy(process: Process, state: int) -> None:
    """End a linker, and the image that it made."""
    process.linkers.remove(state_of(process, state))
