"""The output of many processes as one: each line whole, behind the rank that wrote it.

``[rank 3] text``: stdout to stdout, stderr to stderr, as soon as a line is complete. What is no text passes as it is.
A last line without an end gets one; a line longer than `LONGEST` is broken, so that no rank can fill our memory.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

LONGEST = 1 << 20
STDOUT, STDERR = 1, 2


@dataclass(slots=True)
class Stream:
    """One output of one rank, and the part of a line that has come so far."""

    rank: int
    source: int
    target: int
    begun: bytearray = field(default_factory=bytearray)

    def lines(self, data: bytes) -> bytes:
        """Take what was read (nothing: the end) and answer the complete lines, each behind its rank."""
        whole, end, rest = data.rpartition(b"\n")
        ready = self.begun + whole if end else bytearray()
        if end:
            self.begun = bytearray()
        self.begun += rest
        parts = ready.split(b"\n") if end else []
        if self.begun and (not data or len(self.begun) >= LONGEST):
            parts.append(self.begun)
            self.begun = bytearray()
        prefix = b"[rank %d] " % self.rank
        return b"".join(prefix + part + b"\n" for part in parts)


class Relay:
    """A thread that passes the ranks' output on. Nobody else writes to stdout and stderr meanwhile: `say` does."""

    def __init__(self) -> None:
        self._streams: dict[int, Stream] = {}
        self._said: deque[tuple[int, str]] = deque()
        self._look, self._wake = os.pipe()
        os.set_blocking(self._wake, False)  # a full pipe wakes as well as one byte does
        self._poll = select.poll()
        self._poll.register(self._look, select.POLLIN)
        self._closed: set[int] = set()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def add(self, rank: int, source: int, target: int) -> None:
        """Pass on what comes from ``source``; the descriptor is the relay's from now on. Only before `start`."""
        os.set_blocking(source, False)
        self._streams[source] = Stream(rank, source, target)
        self._poll.register(source, select.POLLIN)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def say(self, rank: int, text: str) -> None:
        """Print a line of our own on stderr, behind all that the rank has written."""
        self._said.append((rank, text))
        self._notify()

    def finish(self) -> None:
        """Pass on what is there, and end. A process that outlives its rank and still has the pipe is not waited for."""
        self._over = True
        self._notify()
        self._thread.join()

    def _notify(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake, b"!")

    # ---- in the thread

    def _run(self) -> None:
        while not self._over:
            for source, _ in self._poll.poll():
                if source == self._look:
                    os.read(self._look, 4096)
                    self._tell()
                else:
                    self._pass_on(source)
        self._tell()
        for source in list(self._streams):
            self._drain(source)
            self._end(source)
        os.close(self._look)
        os.close(self._wake)

    def _tell(self) -> None:
        while self._said:
            rank, text = self._said.popleft()
            for source in [s.source for s in self._streams.values() if s.rank == rank]:
                self._drain(source)
            self._write(STDERR, f"{text}\n".encode())

    def _drain(self, source: int) -> None:
        while source in self._streams and self._pass_on(source):
            pass

    def _pass_on(self, source: int) -> bool:
        """Pass on what can be read now; answer whether there was anything."""
        if source not in self._streams:
            return False
        stream = self._streams[source]
        try:
            data = os.read(source, 1 << 16)
        except BlockingIOError:
            return False
        self._write(stream.target, stream.lines(data))
        if not data:
            self._end(source)
        return bool(data)

    def _end(self, source: int) -> None:
        """Close a stream; the line that it has begun is printed."""
        stream = self._streams.pop(source, None)
        if stream is not None:
            self._poll.unregister(source)
            os.close(source)
            self._write(stream.target, stream.lines(b""))

    def _write(self, target: int, data: bytes) -> None:
        """Write all of it. Once the reader has gone, the ranks learn of it as they would without us: by SIGPIPE."""
        try:
            while data and target not in self._closed:
                data = data[_write_some(target, data) :]
        except OSError:
            self._closed.add(target)
            for source in [s.source for s in self._streams.values() if s.target == target]:
                self._end(source)


def _write_some(target: int, data: bytes) -> int:
    try:
        return os.write(target, data)
    except BlockingIOError:  # somebody made our stdout non-blocking
        select.select([], [target], [])
        return 0
