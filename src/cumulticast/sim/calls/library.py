"""Libraries: code without a context. Their text is read when something in it is asked for (lazy loading)."""

from __future__ import annotations

import struct

from cumulticast.ptx.errors import PtxError
from cumulticast.rules import Refused, libraries, linking, modules
from cumulticast.sim import containers, loading
from cumulticast.sim.calls.module import handles, nearest, variable
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.images import Text
from cumulticast.sim.jit import Jit
from cumulticast.sim.libraries import Library, LibraryKernel
from cumulticast.sim.modules import Module
from cumulticast.sim.process import Process
from cumulticast.sim.streams import await_context

HOST_TABLE, PRESERVED = 0, 1  # CUlibraryOption


def library_of(process: Process, value: int) -> Library:
    """Answer the library behind a handle, or refuse (400)."""
    library = process.libraries.find(value)
    process.driver.judge(libraries.valid_library, value, library is not None)
    assert library is not None
    return library


@entry("cuLibraryLoadData", locked=False)
def library_load_data(
    process: Process,
    code: int,
    jit_options: bytes | None,
    jit_values: bytes | None,
    jit_count: int,
    options: bytes | None,
    values: bytes | None,
    count: int,
) -> tuple[int, bytes]:
    """Load a library from memory."""
    jit = Jit.read(process, jit_count, jit_options, jit_values)
    check_options(process, count, options, (PRESERVED,))
    sm = jit.architecture(loading.architecture(process.machine))
    return load(process, containers.texts_at(process, "code", code, sm), jit, sm)


@entry("cuLibraryLoadFromFile", locked=False)
def library_load_from_file(
    process: Process,
    file_name: bytes,
    jit_options: bytes | None,
    jit_values: bytes | None,
    jit_count: int,
    options: bytes | None,
    values: bytes | None,
    count: int,
) -> tuple[int, bytes]:
    """Load a library from a file."""
    jit = Jit.read(process, jit_count, jit_options, jit_values)
    check_options(process, count, options, ())
    sm = jit.architecture(loading.architecture(process.machine))
    return load(process, containers.texts_of_file(process, file_name, sm), jit, sm)


def check_options(process: Process, count: int, options: bytes | None, fitting: tuple[int, ...]) -> None:
    """Refuse (1) options that do not fit the call."""
    process.driver.judge(linking.jit_arrays, count, options is not None)
    for option in struct.unpack(f"<{count}i", options or b""):
        process.driver.judge(libraries.fitting_library_option, option, option in fitting)


def load(process: Process, texts: list[Text], jit: Jit, sm: int) -> tuple[int, bytes]:
    """Register a library. Its text is compiled now where loading is eager, or a log is wanted.

    A lazy load succeeds even then: the log tells what getting a kernel will answer (recorded: library.load.log).
    """
    eager = loading.loading_mode() == loading.EAGER
    if eager or jit.logs:
        try:
            with loading.telling(jit, None):
                loading.compile_texts(process, texts, jit, sm)
        except Refused:
            if eager:
                raise
    with process.driver.lock:
        library = process.libraries.add(texts, sm, loading.isa_of(process))
    return library.value, jit.finish()


@entry("cuLibraryUnload")
def library_unload(process: Process, thread: int, library: int) -> None:
    """Unload a library with its modules, once their kernels are over."""
    found = library_of(process, library)
    for module in found.modules.values():
        await_context(process, thread, module.context)
    process.libraries.remove(found)


# ---- kernels


def read(process: Process, value: int) -> Library:
    """Answer a library whose kernels are known, reading its text if need be; called without the driver's lock."""
    while True:
        with process.driver.lock:
            library = library_of(process, value)
            process.libraries.read(library)
        if library.known:
            return library
        parse(process, library)


def parse(process: Process, library: Library) -> None:
    """Have an image of a library ready, or refuse (200, 218, 222)."""
    try:
        library.parse()
    except PtxError as error:
        raise loading.refusal(error, library.texts[0], library.isa) from error


@entry("cuLibraryGetKernel", locked=False)
def library_get_kernel(process: Process, library: int, name: bytes) -> int:
    """Answer a kernel; here a text that cannot be compiled is found out."""
    kernels = read(process, library).kernels or {}
    wanted = name.decode(errors="replace")
    process.driver.judge(modules.function_exists, wanted, wanted in kernels, nearest(wanted, kernels))
    return kernels[wanted].value


def kernels_of(process: Process, value: int) -> list[LibraryKernel]:
    """Answer all kernels; there are none in a text that cannot be compiled (recorded: libraries/broken.count)."""
    with process.driver.lock:
        library = library_of(process, value)
    try:
        library.parse()
    except PtxError:
        return []
    return list((read(process, value).kernels or {}).values())


@entry("cuLibraryGetKernelCount", locked=False)
def library_get_kernel_count(process: Process, lib: int) -> int:
    """Answer how many kernels there are."""
    return len(kernels_of(process, lib))


@entry("cuLibraryEnumerateKernels", locked=False)
def library_enumerate_kernels(process: Process, count: int, lib: int) -> bytes:
    """Answer handles of kernels, as many as there is room for."""
    return handles(kernel.value for kernel in kernels_of(process, lib))


# ---- modules and variables


def module_in(process: Process, context: Context, value: int) -> Module:
    """Answer a library's module in a context, made if need be; called without the driver's lock."""
    while True:
        library = read(process, value)
        with process.driver.lock:
            module = process.libraries.module(library_of(process, value), context)
        if module is not None:
            return module
        parse(process, library)


@entry("cuLibraryGetModule", locked=False)
def library_get_module(process: Process, context: Context, library: int) -> int:
    """Answer the library's module in the current context."""
    return module_in(process, context, library).value


@entry("cuLibraryGetGlobal", locked=False)
def library_get_global(process: Process, context: Context, library: int, name: bytes) -> tuple[int, int]:
    """Answer address and size of a variable in the current context."""
    return variable(process, module_in(process, context, library), name)


@entry("cuLibraryGetManaged", locked=False)
def library_get_managed(process: Process, context: Context, library: int, name: bytes) -> tuple[int, int]:
    """Answer address and size of a managed variable."""
    return variable(process, module_in(process, context, library), name, managed=True)


@entry("cuLibraryGetUnifiedFunction", locked=False)
def library_get_unified_function(process: Process, library: int, symbol: bytes) -> int:
    """Refuse (1): no library here has functions that can be called on the host, too."""
    with process.driver.lock:
        library_of(process, library)
        process.driver.judge(libraries.unified_library, symbol.decode(errors="replace"), False)
    raise AssertionError("refused")
