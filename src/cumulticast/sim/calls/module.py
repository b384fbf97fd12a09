"""Modules: loaded from memory or a file, asked for functions and variables, unloaded."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from cumulticast.rules import modules
from cumulticast.sim import containers, loading
from cumulticast.sim.contexts import Context
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import entry
from cumulticast.sim.images import Text
from cumulticast.sim.jit import Jit
from cumulticast.sim.modules import Module
from cumulticast.sim.process import Process
from cumulticast.sim.streams import await_context


def module_of(process: Process, value: int) -> Module:
    """Answer the module behind a handle, or refuse (400)."""
    module = process.modules.find(value)
    process.driver.judge(modules.module_valid, value, module is not None)
    assert module is not None
    return module


def nearest(name: str, names: Iterable[str]) -> str:
    """Answer the name most like another, for a message; "" where there is none at all."""
    names = list(names)
    return next(iter(get_close_matches(name, names, 1, 0.0)), "")


# ---- loading: texts are compiled without the driver's lock


@entry("cuModuleLoadData", locked=False)
def module_load_data(process: Process, context: Context, image: int) -> int:
    """Load a module from memory: PTX with a NUL, a fatbin, or an image of cuLinkComplete."""
    texts = containers.texts_at(process, "image", image, loading.architecture(process.machine))
    return load(process, context, texts, Jit())


@entry("cuModuleLoadFatBinary", locked=False)
def module_load_fat_binary(process: Process, context: Context, fat_cubin: int) -> int:
    """Load a module from a fatbin, or from the structure that the compiler leaves for the runtime."""
    return module_load_data(process, context, fat_cubin)


@entry("cuModuleLoadDataEx", locked=False)
def module_load_data_ex(
    process: Process, context: Context, image: int, count: int, options: bytes | None, values: bytes | None
) -> tuple[int, bytes]:
    """Load a module from memory with options; logs are written whether it succeeds or not."""
    jit = Jit.read(process, count, options, values)
    sm = jit.architecture(loading.architecture(process.machine))
    with loading.telling(jit, None):
        module = load(process, context, containers.texts_at(process, "image", image, sm), jit, sm)
    return module, jit.finish()


@entry("cuModuleLoad", locked=False)
def module_load(process: Process, context: Context, fname: bytes) -> int:
    """Load a module from a file."""
    texts = containers.texts_of_file(process, fname, loading.architecture(process.machine))
    return load(process, context, texts, Jit())


def load(process: Process, context: Context, texts: list[Text], jit: Jit, sm: int = 0) -> int:
    """Compile texts and place them in a context."""
    sm = sm or loading.architecture(process.machine)
    image = loading.compile_texts(process, texts, jit, sm)
    with process.driver.lock:
        return process.modules.add(context, image, texts, sm).value


@entry("cuModuleUnload")
def module_unload(process: Process, context: Context, thread: int, hmod: int) -> None:
    """Unload a module, once its kernels are over."""
    module = module_of(process, hmod)
    process.driver.judge(modules.module_is_own, hmod, module.library is not None)
    await_context(process, thread, module.context)
    process.modules.remove(module)


@entry("cuModuleGetLoadingMode")
def module_get_loading_mode(driver: Driver) -> int:
    """Answer LAZY, or what CUDA_MODULE_LOADING says."""
    return loading.loading_mode()


# ---- what is in it


@entry("cuModuleGetFunction", locked=False)
def module_get_function(process: Process, hmod: int, name: bytes) -> int:
    """Answer a function, loaded."""
    with process.driver.lock:
        found = module_of(process, hmod).functions
        wanted = name.decode(errors="replace")
        process.driver.judge(modules.function_exists, wanted, wanted in found, nearest(wanted, found))
    loading.load_function(process, found[wanted])
    return found[wanted].value


@entry("cuModuleGetFunctionCount")
def module_get_function_count(process: Process, mod: int) -> int:
    """Answer how many functions there are."""
    return len(module_of(process, mod).functions)


@entry("cuModuleEnumerateFunctions")
def module_enumerate_functions(process: Process, count: int, mod: int) -> bytes:
    """Answer handles of functions, as many as there is room for; they may not be loaded yet."""
    return handles(function.value for function in module_of(process, mod).functions.values())


def handles(values: Iterable[int]) -> bytes:
    """Write an array of handles."""
    return b"".join(value.to_bytes(8, "little") for value in values)


@entry("cuModuleGetGlobal_v2")
def module_get_global(process: Process, hmod: int, name: bytes) -> tuple[int, int]:
    """Answer address and size of a variable."""
    return variable(process, module_of(process, hmod), name)


def variable(process: Process, module: Module, name: bytes, *, managed: bool = False) -> tuple[int, int]:
    """Answer address and size of a variable, or refuse (500)."""
    wanted = name.decode(errors="replace")
    found = {v.name: v for v in module.image.variables if v.managed or not managed}
    process.driver.judge(modules.variable_exists, wanted, wanted in found, nearest(wanted, found))
    return module.variables[wanted].base, found[wanted].size
