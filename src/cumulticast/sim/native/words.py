"""Futex words in shared memory: counted up when something changes, slept on by who waits for that."""

from mmap import mmap

from cumulticast.sim._native import ffi, lib


def address_of(memory: mmap | bytearray) -> int:
    """Return where a mapping or an array begins; it must outlive the use of the address."""
    return int(ffi.cast("uintptr_t", ffi.from_buffer(memory)))


def load_word(address: int) -> int:
    """Return the 32-bit word at `address`."""
    return lib.word_load(address)


def add_and_wake(address: int) -> None:
    """Count the word up by one and wake everybody who sleeps on it, in any process."""
    lib.word_add_and_wake(address)


def get(address: int, size: int) -> bytes:
    """Return bytes of memory that was found readable."""
    return bytes(ffi.buffer(ffi.cast("char *", address), size))


def put(address: int, data: bytes) -> None:
    """Write bytes to memory that was found writable."""
    ffi.buffer(ffi.cast("char *", address), len(data))[:] = data


def call(function: int, data: int) -> None:
    """Call a C function of one pointer."""
    ffi.cast("void (*)(void *)", function)(ffi.cast("void *", data))
