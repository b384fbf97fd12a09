"""Error names and strings; cuGetProcAddress."""

from __future__ import annotations

import ctypes

from cuda.bindings import driver as cu
from recorder import Recorder, group

SUFFIXES = ("", "_v2", "_v3", "_v4", "_ptds", "_ptsz", "_v2_ptds", "_v2_ptsz", "_v3_ptsz")
UNTOUCHED = 0x5A5A


@group(context=False, environment={"CUDA_LOG_FILE": "UNSET"})
def errors(step: Recorder) -> None:
    """Every code from 0 to 1000 that the driver knows, and the answer for those it does not."""
    text = ctypes.c_char_p()
    unknown = set()
    for code in (*range(1001), -1, 1 << 20):
        for symbol in ("cuGetErrorName", "cuGetErrorString"):
            text.value = b"untouched"
            status = getattr(step.library, symbol)(ctypes.c_int(code), ctypes.byref(text))
            if status:
                unknown.add((symbol, int(status), str(text.value)))
            else:
                step.note(f"{symbol}.{code}", text.value.decode())
    for symbol, status, left in sorted(unknown):
        step.note(f"{symbol}.unknown", left, status=status)


def ask(step: Recorder, name: bytes, version: int, flags: int, told: bool = True) -> tuple[int, int, int]:
    """Ask cuGetProcAddress_v2; return status, address, symbol status (preset, to see what is left)."""
    found, state = ctypes.c_void_p(UNTOUCHED), ctypes.c_int(77)
    status = step.library.cuGetProcAddress_v2(
        name,
        ctypes.byref(found),
        ctypes.c_int(version),
        ctypes.c_uint64(flags),
        ctypes.byref(state) if told else None,
    )
    return int(status), found.value or 0, state.value


def named(step: Recorder, name: str, address: int) -> str:
    """Say which exported symbol an address is."""
    if address in (0, UNTOUCHED):
        return "null" if address == 0 else "untouched"
    for suffix in SUFFIXES:
        function = getattr(step.library, name + suffix, None)
        if function is not None and ctypes.cast(function, ctypes.c_void_p).value == address:
            return name + suffix
    return "unexported"


@group(context=False)
def getproc(step: Recorder) -> None:
    """Versions old, new and to come; names unknown; flags."""
    cases = [
        (name, version, flags)
        for name in ("cuMemAlloc", "cuMemcpyHtoD", "cuMulticastBindMem", "cuStreamWaitEvent")
        for version in (
            -1,
            0,
            1000,
            2000,
            3000,
            3010,
            3020,
            4000,
            7000,
            12000,
            12010,
            13000,
            13010,
            20000,
            2**31 - 1,
        )
        for flags in (0, 2)
    ]
    cases += [
        (name, 13000, 0)
        for name in (
            "cuMemAlloc_v2",
            "cuNothing",
            "",
            "cumemalloc",
            "cudaMalloc",
            "malloc",
            "cuGetProcAddress",
        )
    ]
    cases += [("cuMemcpyHtoD", 13000, flags) for flags in (1, 3, 4, 8, 1 << 40)]
    for name, version, flags in cases:
        step.mark(f"{name}.{version}.{flags}")
        status, address, state = ask(step, name.encode(), version, flags)
        step.note(f"{name}.{version}.{flags}", named(step, name, address), state, status=status)
    step.mark("status_null")
    status, address, state = ask(step, b"cuMemAlloc", 13000, 0, told=False)
    step.note("status_null", named(step, "cuMemAlloc", address), state, status=status)
    step.mark("status_null.unknown")
    status, address, state = ask(step, b"cuNothing", 13000, 0, told=False)
    step.note("status_null.unknown", named(step, "cuNothing", address), state, status=status)


@group(context=False)
def getproc_null(step: Recorder) -> None:
    """Null pointers; on its own, since it may end the process."""
    step.mark("pfn_null")
    step.note(
        "pfn_null",
        status=step.library.cuGetProcAddress_v2(b"cuMemAlloc", None, 13000, ctypes.c_uint64(0), None),
    )


@group(context=False)
def getproc_null_symbol(step: Recorder) -> None:
    """A null name; on its own, since it may end the process."""
    step.mark("symbol_null")
    found = ctypes.c_void_p()
    step.note(
        "symbol_null",
        status=step.library.cuGetProcAddress_v2(None, ctypes.byref(found), 13000, ctypes.c_uint64(0), None),
    )


@group(context=False, environment={"CUDA_LOG_FILE": "UNSET"})
def getproc_table(step: Recorder) -> None:
    """For every function of the binding: from which version on it resolves to which exported symbol."""
    for name in sorted(n for n in dir(cu) if n.startswith("cu") and n[2:3].isupper() and callable(getattr(cu, n))):
        for flags in (0, 2):
            changes, last = [], 0
            for version in range(1000, 14000, 10):
                found = ask(step, name.encode(), version, flags)[1]
                if found != last:
                    changes.append(f"{version}:{named(step, name, found)}")
                    last = found
            step.note(f"{name}.{flags}", *changes)
