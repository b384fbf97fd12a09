"""A real seccomp filter for this process: one system call answers an error from here on (seccomp(2))."""

from __future__ import annotations

import ctypes
import os
import platform

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: words of a classic BPF program
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # linux/seccomp.h
CALLS = {
    "x86_64": {"connect": 42, "pidfd_getfd": 438, "pidfd_open": 434},
    "aarch64": {"connect": 203, "pidfd_getfd": 438, "pidfd_open": 434},
}


class Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction)))


def bar(call: str, error: int) -> None:
    """Have a system call answer an error for as long as this process lives."""
    number = CALLS[platform.machine()][call]
    lines = (Instruction * 4)(
        (LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    for option, *values in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, Program(4, lines))):
        arguments = [ctypes.byref(value) if isinstance(value, Program) else ctypes.c_ulong(value) for value in values]
        if libc.prctl(option, *arguments, 0, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
