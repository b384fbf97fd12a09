"""The error log: callbacks, iterators, dumps, and where CUDA_LOG_FILE points."""

from __future__ import annotations

import ctypes
import os
import tempfile

from cuda.bindings import driver as cu
from recorder import Recorder, group

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
LOG_PATH = os.path.join(tempfile.gettempdir(), "driver_probe_log.txt")


def dump(step: Recorder, name: str, size: int, iterator: ctypes.c_uint32 | None, flags: int = 0) -> None:
    """Dump to memory; record the size reported, the iterator after, the text."""
    buffer, length = ctypes.create_string_buffer(b"\xa5" * 30000, 30000), ctypes.c_size_t(size)
    at = ctypes.byref(iterator) if iterator is not None else None
    step.raw(name, "cuLogsDumpToMemory", at, buffer, ctypes.byref(length), ctypes.c_uint(flags))
    text = buffer.raw.split(b"\xa5")[0]
    step.note(
        name + ".result",
        length.value,
        iterator.value if iterator else None,
        len(text),
        text.count(b"\n"),
        text[:400],
    )


@group(context=False)
def logs(step: Recorder) -> None:
    """Callbacks, iterators, dump sizes and flags; the ring's length."""
    heard: list[tuple[object, ...]] = []

    def hear(data, level, message, length):
        heard.append((data, level, message, length))

    kept, other = CALLBACK(hear), CALLBACK(lambda *_: heard.append(("other",)))
    address, second = (ctypes.cast(one, ctypes.c_void_p).value for one in (kept, other))
    start = ctypes.c_uint32(0)
    step.raw("current.empty", "cuLogsCurrent", ctypes.byref(start), 0)
    step.note("current.empty.value", start.value)
    dump(step, "dump.empty", 25600, None)
    handle = ctypes.c_void_p()
    step.raw(
        "register",
        "cuLogsRegisterCallback",
        ctypes.c_void_p(address),
        ctypes.c_void_p(42),
        ctypes.byref(handle),
    )
    step.note("register.handle", handle.value is not None)
    step("error.device", "cuDeviceGet", 99)
    step("error.context", "cuMemAlloc", 1024)
    step.note("heard", *heard)
    twin = ctypes.c_void_p()
    step.raw("register.second", "cuLogsRegisterCallback", ctypes.c_void_p(second), None, ctypes.byref(twin))
    step.raw("register.null", "cuLogsRegisterCallback", None, None, ctypes.byref(ctypes.c_void_p()))
    heard.clear()
    step("error.again", "cuDeviceGet", 98)
    step.note("heard.again", *heard)
    step.raw("unregister", "cuLogsUnregisterCallback", handle)
    step.raw("unregister.other", "cuLogsUnregisterCallback", twin)
    step.raw("unregister.null", "cuLogsUnregisterCallback", None)
    heard.clear()
    step("error.unheard", "cuDeviceGet", 97)
    step.note("heard.after", *heard)
    step.raw("current", "cuLogsCurrent", ctypes.byref(start), 0)
    step.note("current.value", start.value)
    step.raw("current.flags1", "cuLogsCurrent", ctypes.byref(ctypes.c_uint32()), 1)
    step("error.since", "cuDeviceGet", 96)
    dump(step, "dump.since", 25600, start)
    dump(step, "dump.since.again", 25600, start)
    for size in (25600, 25601, 30000, 200, 100, 10, 1, 0):
        dump(step, f"dump.size{size}", size, None)
    dump(step, "dump.flags1", 25600, None, 1)
    dump(step, "dump.iterator0", 25600, ctypes.c_uint32(0))
    dump(step, "dump.iterator_wild", 25600, ctypes.c_uint32(1 << 30))
    path = LOG_PATH + ".dump"
    for name, flags, target in (
        ("file", 0, path),
        ("file.again", 0, path),
        ("file.flags1", 1, path),
        ("file.nowhere", 0, "/nonexistent/x"),
    ):
        step.raw(name, "cuLogsDumpToFile", None, target.encode(), flags)
        if os.path.exists(path):
            with open(path) as file:
                text = file.read()
            step.note(name + ".lines", text.count("\n"), text[-200:])
    for _ in range(150):
        cu.cuDeviceGet(50)
    dump(step, "dump.full", 25600, None)
    step.raw("current.full", "cuLogsCurrent", ctypes.byref(start), 0)
    step.note("current.full.value", start.value)
    dump(step, "dump.full.iterator0", 25600, ctypes.c_uint32(0))
    step.note("heard.end", *heard, hear is not None, kept is not None)


@group(context=False, environment={"CUDA_LOG_FILE": "UNSET"})
def logs_unset(step: Recorder) -> None:
    """Without CUDA_LOG_FILE: is the log kept in memory all the same?"""
    step("error", "cuDeviceGet", 99)
    dump(step, "dump", 25600, None)


def note_file(step: Recorder) -> None:
    """Record the log file: lines, the threads that wrote them, the last two lines."""
    with open(LOG_PATH) as file:
        lines = file.read().splitlines()
    threads = {line.split("]")[1] for line in lines}
    step.note("file", len(lines), len(threads), *lines[-2:])


@group(context=False, environment={"CUDA_LOG_FILE": LOG_PATH})
def logs_file(step: Recorder) -> None:
    """CUDA_LOG_FILE as a path that exists: appended to or begun anew, and when it is written."""
    step("error", "cuDeviceGet", 99)
    note_file(step)


@group(context=False, environment={"CUDA_LOG_FILE": LOG_PATH})
def logs_file_again(step: Recorder) -> None:
    """The same path in a second process."""
    step("error", "cuDeviceGet", 98)
    note_file(step)


@group(context=False, environment={"CUDA_LOG_FILE": "/nonexistent/log"})
def logs_nowhere(step: Recorder) -> None:
    """A path that cannot be written."""
    step("error", "cuDeviceGet", 99)


@group(context=False, environment={"CUDA_LOG_FILE": LOG_PATH + ".%p"})
def logs_pid(step: Recorder) -> None:
    """A path with a place for the process."""
    step("error", "cuDeviceGet", 99)
    folder = os.path.dirname(LOG_PATH)
    step.note(
        "files",
        *(name.replace(str(os.getpid()), "PID") for name in sorted(os.listdir(folder)) if "driver_probe_log" in name),
    )


@group(context=False)
def logs_null(step: Recorder) -> None:
    """Null outputs; on its own, since it may end the process."""
    step("error", "cuDeviceGet", 99)
    step.raw("current", "cuLogsCurrent", None, 0)
    step.raw("dump.buffer", "cuLogsDumpToMemory", None, None, ctypes.byref(ctypes.c_size_t(100)), 0)
    step.raw("dump.size", "cuLogsDumpToMemory", None, ctypes.create_string_buffer(100), None, 0)
    step.raw("file", "cuLogsDumpToFile", None, None, 0)
