"""cuLogs*: callbacks, iterators and dumps of the error log."""

from __future__ import annotations

import ctypes

from cumulticast.rules import Refused, Status, general
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import entry

LogsCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
# The two notices are a real driver's (recorded: h200-580.159-driver.json, group logs).
SHORT = b"The provided buffer is not large enough to hold all messages. Some messages will be missing\n"
ROLLED = b"Log buffer has rolled over since the previous dump. The oldest messages will be missing\n"


@entry("cuLogsRegisterCallback")
def logs_register_callback(driver: Driver, callback: int, data: int) -> int:
    """Call a C function for each message from now on; it gets the message without time and level."""
    driver.judge(general.pointer_given, "callback_func", callback)
    function = LogsCallback(callback)
    return driver.log.add_callback(lambda level, message: function(data, level, message, len(message)))


@entry("cuLogsUnregisterCallback")
def logs_unregister_callback(driver: Driver, callback: int) -> None:
    """Stop calling a function."""
    if not driver.log.remove_callback(callback):
        raise Refused(Status.INVALID_VALUE, None, f"callback {callback:#x} is not registered")


@entry("cuLogsCurrent")
def logs_current(driver: Driver, flags: int) -> int:
    """Answer the iterator behind the newest message; flags are not looked at (recorded)."""
    return driver.log.end


@entry("cuLogsDumpToFile")
def logs_dump_to_file(driver: Driver, iterator: int | None, path: bytes, flags: int) -> int:
    """Write the messages from an iterator on over a file, and answer where the next one begins."""
    lines, end = messages(driver, iterator)
    try:
        with open(path, "wb") as file:
            file.write(b"".join(lines))
    except (OSError, ValueError) as error:
        raise Refused(Status.INVALID_VALUE, None, f"path_to_file {path!r} cannot be written: {error}") from error
    return end


@entry("cuLogsDumpToMemory")
def logs_dump_to_memory(driver: Driver, iterator: int | None, size: int, flags: int) -> tuple[int, bytes, int]:
    """Answer the iterator, the text with a NUL, and its length; the newest messages, if not all fit."""
    lines, end = messages(driver, iterator)
    if lines and sum(map(len, lines)) >= size:
        lines = newest(lines, size)
        if len(lines) == 1:
            reason = f"a buffer of {size} bytes is not large enough for the newest message"
            raise Refused(Status.INVALID_VALUE, None, reason)
    text = b"".join(lines)
    return end, text + b"\0" if text else b"", len(text)


def newest(lines: list[bytes], size: int) -> list[bytes]:
    """Answer a notice and as many of the last lines as there is room for."""
    room, kept = size - len(SHORT) - 1, list[bytes]()
    for line in reversed(lines):
        room -= len(line)
        if room < 0:
            break
        kept.insert(0, line)
    return [SHORT, *kept]


def messages(driver: Driver, iterator: int | None) -> tuple[list[bytes], int]:
    """Answer the lines from an iterator on, after a notice if some are lost, and the iterator behind them."""
    log, iterator = driver.log, iterator or 0
    if iterator > log.end:
        raise Refused(Status.INVALID_VALUE, None, f"iterator {iterator} is beyond the end of the log at {log.end}")
    lines, end = [line.encode() + b"\n" for line in log.since(iterator)], log.end
    return [ROLLED, *lines] if len(lines) < end - iterator else lines, end
