"""The CUDA error log: where explanations go (CUDA_LOG_FILE, cuLogs*), in the real driver's line format.

A refused call leaves its reason first, then the status::

    [17:32:23.127][25642][CUDA][E] MC304 multicast_bind_mem: size 3145728 is not a multiple of …
    [17:32:23.127][25642][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMulticastBindMem
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Literal

Level = Literal["E", "W"]
CAPACITY = 1000
LEVELS: dict[Level, int] = {"E": 0, "W": 1}


class ErrorLog:
    """The last lines the driver logged, and who wants to hear of new ones.

    An iterator is the number of a line: the n-th that was ever logged. Lines fall out of the buffer after
    ``CAPACITY`` newer ones.
    """

    def __init__(self, destination: str | None) -> None:
        self._lines: deque[str] = deque(maxlen=CAPACITY)
        self._count = 0
        self._destination = destination
        self._callbacks: dict[int, Callable[[int, bytes], None]] = {}
        self._next_callback = 1
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls) -> ErrorLog:
        """Make the log that CUDA_LOG_FILE asks for: stdout, stderr, a path, or memory only."""
        return cls(os.environ.get("CUDA_LOG_FILE") or None)

    def write(self, level: Level, message: str) -> None:
        """Log one message."""
        now = datetime.now().strftime("%H:%M:%S.%f")[:-3]
        line = f"[{now}][{threading.get_native_id()}][CUDA][{level}] {message}"
        with self._lock:
            self._lines.append(line)
            self._count += 1
            callbacks = list(self._callbacks.values())
        self._deliver(line)
        for callback in callbacks:
            callback(LEVELS[level], message.encode())

    def _deliver(self, line: str) -> None:
        if self._destination in ("stdout", "stderr"):
            stream = sys.stdout if self._destination == "stdout" else sys.stderr
            if stream is not None:  # an interpreter that shuts down has none
                print(line, file=stream, flush=True)
        elif self._destination:
            try:
                with open(self._destination, "a", encoding="utf-8") as file:
                    file.write(line + "\n")
            except OSError as error:
                print(f"CUDA_LOG_FILE={self._destination}: {error.strerror}; logging to memory only", file=sys.stderr)
                self._destination = None

    @property
    def end(self) -> int:
        """The iterator that points behind the newest line."""
        return self._count

    def since(self, iterator: int | None) -> list[str]:
        """Answer the lines from ``iterator`` on that are still kept; all of them without one."""
        with self._lock:
            first = self._count - len(self._lines)
            skip = max(0, (iterator or 0) - first)
            return list(self._lines)[skip:]

    def add_callback(self, callback: Callable[[int, bytes], None]) -> int:
        """Call ``callback(level, message)`` for each new message from now on; answers a handle.

        A message comes without time and level (recorded: h200-580.159-driver.json, logs/heard).
        """
        with self._lock:
            handle = self._next_callback
            self._next_callback += 1
            self._callbacks[handle] = callback
        return handle

    def remove_callback(self, handle: int) -> bool:
        """Stop calling; False when there is no such callback."""
        with self._lock:
            return self._callbacks.pop(handle, None) is not None
