"""Find a driver call in a line: by its C name, or by the name that cuda.bindings gives it."""

from __future__ import annotations

import re
from functools import cache

from cumulticast.rules.text import python_name

#: The calls that failures of multicast, of fabric handles and of start-up are reported from.
CALLS = (
    "cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindAddr", "cuMulticastUnbind",
    "cuMulticastGetGranularity", "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemSetAccess", "cuMemRelease",
    "cuMemAddressReserve", "cuMemAddressFree", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
    "cuMemRetainAllocationHandle", "cuMemGetAllocationGranularity", "cuInit", "cuDeviceGet", "cuDeviceGetCount",
    "cuDeviceGetAttribute", "cuCtxGetDevice", "cuCtxSetCurrent", "cuCtxCreate", "cuDevicePrimaryCtxRetain",
)  # fmt: skip
_C_NAME = re.compile(r"\b(cu[A-Z][A-Za-z0-9]+?)(?:_v\d)?\b")
_RUNTIME_NAME = re.compile(r"\b(cuda[A-Z][A-Za-z0-9]+)\b")
_PYTHON_NAME = re.compile(r"\b((?:multicast|mem|device|ctx|init)_?\w*?)(?:_v\d)?\(")
_NO_CALL = ("cudaError", "cudaSuccess", "cudaDev", "cudaDriverVersion")


@cache
def _python_names() -> dict[str, str]:
    return {python_name(call): call for call in CALLS}


def call_in(text: str) -> str | None:
    """Name the driver call that a line names, without its version suffix."""
    for found in _C_NAME.finditer(text):
        if found[1] in CALLS:
            return found[1]
    for found in _PYTHON_NAME.finditer(text):
        if found[1] in _python_names():
            return _python_names()[found[1]]
    return None


def runtime_call_in(text: str) -> str | None:
    """Name the function of the CUDA runtime that a line names."""
    for found in _RUNTIME_NAME.finditer(text):
        if not found[1].startswith(_NO_CALL):
            return found[1]
    return None


def snake_call(name: str) -> str | None:
    """Turn a name of cuda.bindings into the C name: ``multicast_bind_mem`` → ``cuMulticastBindMem``."""
    return _python_names().get(re.sub(r"_v\d$", "", name))
