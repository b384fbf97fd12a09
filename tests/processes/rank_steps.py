"""What ranks are told to do, beside plain calls of the driver and the builders of the conformance tests."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from builders import (
    DEVICE,
    FD,
    STEP,
    Answer,
    access,
    allocation_prop,
    ask,
    bare_object,
    mapped,
    memory,
    read,
    reserve,
    unmapped,
    write,
)
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim
from cumulticast.libcuda import serve
from cumulticast.sim import waiting
from cumulticast.sim.shared import World


def begin(device: int = 0) -> int:
    """Come to the driver and make a device's context current."""
    driver.init(0)
    driver.ctx_set_current(driver.device_primary_ctx_retain(device))
    return os.getpid()


def export(handle: int, kind: int = FD) -> int | bytes:
    """Export as a descriptor, or as the bytes of a fabric handle."""
    shared = driver.mem_export_to_shareable_handle(handle, kind, 0)
    return ctypes.string_at(shared.ptr, 64) if kind != FD else shared


def take_descriptor(fd: int) -> int:
    """Import a descriptor and close it at once."""
    try:
        return driver.mem_import_from_shareable_handle(fd, FD)
    finally:
        os.close(fd)


def take_fabric(data: bytes) -> int:
    """Import a fabric handle."""
    buffer = ctypes.create_string_buffer(data, 64)
    return driver.mem_import_from_shareable_handle(ctypes.addressof(buffer), 8)


def ask_import(what: int | bytes) -> Answer:
    """Ask for an import and answer all that is said about it; a descriptor is closed."""
    if isinstance(what, int):
        answer = ask(driver.mem_import_from_shareable_handle, what, FD)
        os.close(what)
        return answer
    buffer = ctypes.create_string_buffer(what, 64)
    return ask(driver.mem_import_from_shareable_handle, ctypes.addressof(buffer), 8)


def put(ptr: int, value: int, size: int = STEP) -> None:
    """Fill device memory by cuMemcpyHtoD."""
    write(ptr, np.full(size, value, np.uint8))


def seen(ptr: int, size: int = STEP) -> list[int]:
    """Answer the different bytes that cuMemcpyDtoH finds."""
    return sorted(set(read(ptr, size).tolist()))


def bound_memory(mc: int, dev: int, size: int = STEP, mc_offset: int = 0) -> tuple[int, int]:
    """Bind new memory of a device; answer its handle and an address of it."""
    handle = memory(dev, size, FD)
    driver.multicast_bind_mem(mc, mc_offset, handle, 0, size, 0)
    return handle, mapped(handle, size, [dev])


def store(ptr: int, value: float, count: int, dtype: str) -> None:
    multimem.store(ptr, np.full(count, value, _dtype(dtype)))


def summed(ptr: int, count: int, dtype: str) -> list[float]:
    """Answer the different sums over all replicas, as Python numbers."""
    return sorted(set(multimem.load_reduce(ptr, count, _dtype(dtype)).astype(float).tolist()))


def values(ptr: int, count: int, dtype: str) -> list[float]:
    """Answer the different elements of ordinary memory."""
    return sorted(set(read(ptr, count, _dtype(dtype)).astype(float).tolist()))


def _dtype(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def add_often(ptr: int, value: float, count: int, dtype: str, times: int, threads: int) -> None:
    """Add an array of one value to every replica, so often from each of so many threads."""
    source = np.full(count, value, _dtype(dtype))

    def work() -> None:
        for _ in range(times):
            multimem.reduce(ptr, source)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def why_not_stored(ptr: int) -> str:
    """Store through a multicast address; answer why that was refused, or nothing."""
    try:
        store(ptr, 9.0, STEP // 8, "float32")
    except ValueError as error:
        return str(error)
    return ""


def replace_often(mc: int, dev: int, bound: tuple[int, int], times: int) -> None:
    """Unbind and free what is bound, and bind new memory in its place, many times."""
    handle, address = bound
    for _ in range(times):
        driver.multicast_unbind(mc, dev, 0, STEP)
        unmapped(address)
        driver.mem_release(handle)
        handle, address = bound_memory(mc, dev)


def unbind_and_die(mc: int, dev: int) -> None:
    """Unbind, and be killed as soon as that is in the world's books."""
    world = sim.current().world
    commit = type(world.transaction()).__exit__

    def commit_and_die(*arguments: Any) -> None:
        commit(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    type(world.transaction()).__exit__ = commit_and_die
    driver.multicast_unbind(mc, dev, 0, STEP)


def open_other(pid: int, fd: int) -> int:
    """Open another process's descriptor by /proc and import it."""
    return take_descriptor(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR))


def send_to(path: str, handle: int) -> None:
    """Send a descriptor of an object to whoever listens at a path."""
    fd = driver.mem_export_to_shareable_handle(handle, FD, 0)
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(path)
        socket.send_fds(channel, [b"!"], [fd])
    os.close(fd)


def listen_at(path: str) -> int:
    """Import what is sent to a path."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with listener.accept()[0] as channel:
            _, (fd,), _, _ = socket.recv_fds(channel, 1, 1)
    return take_descriptor(fd)


CHILD = """
import sys
sys.path[:] = eval(sys.argv[2])
import rank_steps as steps
steps.begin()
print(steps.seen(steps.mapped(steps.take_descriptor(int(sys.argv[1])))))
"""


def child_reads(handle: int) -> str:
    """Let a child program inherit a descriptor, import it and say what it reads there."""
    fd = driver.mem_export_to_shareable_handle(handle, FD, 0)
    command = [sys.executable, "-c", CHILD, str(fd), repr(sys.path)]
    done = subprocess.run(command, pass_fds=[fd], capture_output=True, text=True, timeout=20)
    os.close(fd)
    return done.stdout.strip() or done.stderr


SYS_PIDFD_GETFD = 438  # the same on all architectures


def fetch(pid: int, fd: int) -> int | str:
    """Take another process's descriptor by pidfd_getfd and import it; a text says that the system forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    try:
        mine = libc.syscall(SYS_PIDFD_GETFD, pidfd, fd, 0)
    finally:
        os.close(pidfd)
    return take_descriptor(mine) if mine >= 0 else f"pidfd_getfd: {os.strerror(ctypes.get_errno())}"


def timed(function: Any, *arguments: Any) -> tuple[Answer, float, float]:
    """Answer what the driver says about a call, and when it began and ended (time.monotonic, one for all processes)."""
    began = time.monotonic()
    return ask(function, *arguments), began, time.monotonic()


def free_bytes() -> int:
    """What cuMemGetInfo says is free on the current device."""
    return driver.mem_get_info_v2()[0]


def set_faults(*specs: str) -> None:
    sim.faults.set(*specs)


def clear_faults() -> None:
    sim.faults.clear()


def ask_map(mc: int) -> Answer:
    """Map a multicast object at a new place."""
    ptr = reserve()
    answer = ask(driver.mem_map, ptr, STEP, 0, mc, 0)
    if answer.status:
        driver.mem_address_free(ptr, STEP)
    else:
        driver.mem_set_access(ptr, STEP, access(0), 1)
    return Answer(answer.status, answer.refused, answer.found, ptr, answer.text)


def set_patience(first_word: float, look: float) -> None:
    """Say after how many seconds a hopeless wait is given up, and how often who waits looks who is still there."""
    waiting.FIRST_WORD, waiting.LOOK = first_word, look


class Bug(BaseException):
    """What nobody in a rank catches."""


def fail() -> None:
    """End the rank by an exception."""
    raise Bug("of the program")


# ---- fork


def all_entries() -> dict[str, int]:
    """Call every entry of the library with zeros; answer the statuses."""
    library = ctypes.CDLL(str(sim.library_path()))
    return {entry.symbol: library[entry.symbol](*[ctypes.c_uint64(0)] * 12) for entry in serve.ENTRIES}


def in_child(method: str) -> dict[str, int]:
    """Call every entry in a child, which then ends, and answer what it was told."""
    reader, writer = os.pipe()
    if method == "multiprocessing":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            child = multiprocessing.get_context("fork").Process(target=_tell, args=(writer,))
            child.start()
        child.join()
        assert child.exitcode == 0
    elif pid := os.fork():
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"the child ended with {status}"
    else:
        _tell(writer)
        if method == "exit":
            raise SystemExit(0)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        return json.load(file)


def _tell(fd: int) -> None:
    os.write(fd, json.dumps(all_entries()).encode())


def fork_sleeper() -> int:
    """Fork a child that sleeps; answer its pid."""
    pid = os.fork()
    if not pid:
        time.sleep(30)
        os._exit(0)
    return pid


def child_before_init() -> dict[str, int]:
    """Fork first, then begin in both."""
    library, answers = ctypes.CDLL(str(sim.library_path())), {}
    pid = os.fork()
    if not pid:
        os._exit(library.cuInit(0))
    answers["child"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answers["parent"] = library.cuInit(0)
    return answers


# ---- what can be used up


def ask_memory(dev: int, size: int, handle_types: int = 0) -> Answer:
    """Ask for memory."""
    return ask(driver.mem_create, size, allocation_prop(DEVICE, dev, handle_types), 0)


def ask_bound_object(dev: int) -> Answer:
    """Make an object of one device and bind memory to it; what was made stays when that is done, else goes."""
    mc, mem = bare_object(1, STEP, FD), memory(dev, STEP, FD)
    driver.multicast_add_device(mc, dev)
    answer = ask(driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0)
    if answer.status:
        driver.mem_release(mem)
        driver.mem_release(mc)
    return answer


def bound_objects(dev: int, count: int) -> int:
    """Answer how many of so many objects could be bound."""
    return sum(ask_bound_object(dev).status == 0 for _ in range(count))


def bound_and_exported(dev: int) -> tuple[int, int]:
    """Bind to an object, take the memory away again, and export it: a slot that a descriptor can keep."""
    mc, mem = bare_object(1, STEP, FD), memory(dev, STEP, FD)
    driver.multicast_add_device(mc, dev)
    driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    fd = driver.mem_export_to_shareable_handle(mc, FD, 0)
    driver.multicast_unbind(mc, dev, 0, STEP)
    driver.mem_release(mem)
    return mc, fd


def ask_unaligned(dev: int) -> Answer:
    """Bind memory at an offset of 256 bytes to an object of its own."""
    mc, mem = bare_object(1, 3 * STEP, FD), memory(dev, 2 * STEP, FD)
    driver.multicast_add_device(mc, dev)
    return ask(driver.multicast_bind_mem, mc, 0, mem, 256, STEP, 0)


def join_whole(mc: int, dev: int) -> tuple[int, int]:
    """Add a device, bind memory of it and map; answer the multicast address and the memory's own."""
    driver.multicast_add_device(mc, dev)
    _, address = bound_memory(mc, dev)
    return mapped(mc, STEP, [dev]), address


# ---- faults


def status_of(name: str, *arguments: Any) -> int:
    """Answer the status of a call, by its name: also of one that comes before there is a log."""
    try:
        getattr(driver, name)(*arguments)
    except driver.DriverError as error:
        return int(error.status)
    return 0


def ask_mapped_object(dev: int) -> int:
    """Map an object of one device; what was made goes again."""
    mc = bare_object(1, STEP, FD)
    driver.multicast_add_device(mc, dev)
    answer = ask_map(mc)
    if not answer.status:
        unmapped(answer.value)
    driver.mem_release(mc)
    return answer.status


def ask_team_of(devices: tuple[int, ...]) -> int:
    """Add devices to one object; answer the last status."""
    mc = bare_object(len(devices), STEP, FD)
    status = [ask(driver.multicast_add_device, mc, dev).status for dev in devices][-1]
    driver.mem_release(mc)
    return status


def problem_with(spec: str) -> str:
    """Answer why a fault cannot be set."""
    try:
        sim.faults.set(spec)
    except ValueError as error:
        return str(error)
    return ""


# ---- being alive


def look_at_world(path: str) -> None:
    """Open the world once more, under some name, and close it again."""
    World.open(Path(path)).close()


def hold_the_turn(mark: str) -> None:
    """Begin to change the world, leave a mark, and never end."""
    with sim.current().world.transaction() as db:
        db.execute("insert into world values('half', 1)")
        Path(mark).touch()
        time.sleep(60)
