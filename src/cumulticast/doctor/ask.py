"""Ask the driver and NVML through NVIDIA's bindings, wherever they are and however old."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from cumulticast.rules import Status as Known

#: What cuda.pathfinder calls the libraries of the driver.
LIBRARIES = {"cuda": "libcuda.so.1", "nvml": "libnvidia-ml.so.1"}


class Unavailable(Exception):
    """There is nobody to ask: no bindings, no library, no device. The text says which."""


class Status(Exception):
    """A call of the driver that did not answer 0.

    Parameters
    ----------
    call
        Its C name.
    code
        The CUresult.
    """

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call} answered {code} ({status_name(code)})")
        self.call = call
        self.code = code


def status_name(code: int) -> str:
    """Answer the name of a CUresult."""
    return Known(code).cuda_name if code in set(map(int, Known)) else "unknown"


def driver() -> ModuleType:
    """Answer cuda.bindings.driver, its library loaded.

    Raises
    ------
    Unavailable
        It is not installed, or there is no libcuda.
    """
    module = _module("driver")
    try:
        module.cuDriverGetVersion()
    except RuntimeError as error:  # cuda.bindings finds no library, or no function in it
        raise Unavailable(_lacking(error) or f"libcuda does not load: {_first(error)}") from error
    return module


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of cuda.bindings.driver and answer its value.

    Raises
    ------
    Status
        It did not answer 0.
    """
    code, *values = function(*arguments)
    if int(code):
        raise Status(function.__name__, int(code))
    return values[0] if len(values) == 1 else values


@contextmanager
def nvml() -> Generator[ModuleType]:
    """Initialise NVML and answer cuda.bindings.nvml.

    Raises
    ------
    Unavailable
        It is not installed, there is no libnvidia-ml, or it does not start.
    """
    module = _module("nvml")
    try:
        module.init_v2()
    except Exception as error:
        raise Unavailable(_lacking(error) or f"NVML does not start: {_first(error)}") from error
    try:
        yield module
    finally:
        module.shutdown()


def handles(module: ModuleType) -> list[int]:
    """Answer the handles of all devices."""
    return [module.device_get_handle_by_index_v2(k) for k in range(module.device_get_count_v2())]


def maybe(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of NVML; None where the device or the driver has no such thing."""
    try:
        return function(*arguments)
    except Exception as error:
        if type(error).__name__ in ("NotSupportedError", "FunctionNotFoundError", "NoPermissionError"):
            return None
        if isinstance(error, RuntimeError) and "not found" in str(error):  # the library has no such symbol
            return None
        raise


def loaded(name: str) -> str | None:
    """Answer the path of a library that this process has loaded."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")[2]
        if path.rpartition("/")[2].startswith(name):
            return "/" + path
    return None


def ours() -> str | None:
    """Answer the version of cumulticast whose libcuda this process has loaded; None for any other libcuda."""
    path = loaded("libcuda.so")
    version = getattr(ctypes.CDLL(path), "cumulticast_version", None) if path else None
    if version is None:
        return None
    version.restype = ctypes.c_char_p
    return version().decode()


def simulated() -> bool:
    """Tell whether the environment names a simulated machine (`cumulticast run`)."""
    return bool(os.environ.get("CUMULTICAST_WORLD"))


def _module(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise Unavailable(f"cuda.bindings.{name} cannot be imported: {_first(error)}") from error


def _lacking(error: BaseException) -> str | None:
    """Name the library that cuda.pathfinder did not find; None for another error."""
    named = re.search(r'"(cuda|nvml)"', str(error)) if type(error).__name__.startswith("DynamicLib") else None
    return f"there is no {LIBRARIES[named[1]]} on this machine" if named else None


def _first(error: BaseException) -> str:
    """Answer the first sentence of an error."""
    return str(error).strip().partition("\n")[0].partition(". ")[0] or type(error).__name__
