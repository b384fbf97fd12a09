"""The trace file: a header line, then one JSON line for each driver call, from all processes of a world.

Each line is one ``write`` to a file opened for appending. Linux holds the file's lock for the length of a write
(regular files on local file systems), so lines of many processes never run into each other, and what a killed process
wrote is whole.

Tracing never breaks what is traced: what goes wrong is said once on stderr, and this process traces no more.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cumulticast.sim.shared import World

VARIABLE = "CUMULTICAST_TRACE"
SCHEMA = 1


def header(world: World) -> str:
    """Write the first line of a trace."""
    values = {
        "schema": SCHEMA,
        "machine": world.machine.name,
        "world": str(world.path),
        "profile": str(world.value("profile")),
    }
    return json.dumps(values) + "\n"


class TraceFile:
    """A file that lines are appended to."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._file: io.FileIO | None = None

    @classmethod
    def join(cls, path: str, world: World) -> TraceFile:
        """Open the trace of ``world`` from one of its processes, which all may come first: the first writes the header.

        The maker of a world writes one in any case. A file can hold the traces of several worlds, one after another.
        """
        made = cls(path)
        made._begin(world, fresh=False, whole=world.owned)
        return made

    @classmethod
    def begin(cls, path: str, world: World) -> TraceFile:
        """Begin a new trace; what the file held before is gone."""
        made = cls(path)
        made._begin(world, fresh=True, whole=True)
        return made

    @property
    def is_open(self) -> bool:
        """Tell whether lines are still written."""
        return self._file is not None

    def _begin(self, world: World, *, fresh: bool, whole: bool) -> None:
        try:
            self._file = _opened(self.path)
            fcntl.flock(self._file, fcntl.LOCK_EX)  # two that come at once would both find the file empty
            try:
                if fresh and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    os.ftruncate(self._file.fileno(), 0)
                if whole or not os.fstat(self._file.fileno()).st_size:
                    self.write(header(world))
            finally:
                if self.is_open:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        except OSError as error:
            self.give_up(error.strerror or str(error))

    def write(self, line: str) -> None:
        """Append one line."""
        file, data = self._file, line.encode("utf-8", "backslashreplace")
        if file is None:
            return
        try:
            written = file.write(data) or 0
            if written < len(data):  # the device is nearly full: the next write says what is wrong
                file.write(data[written:])
        except OSError as error:
            self.give_up(error.strerror or str(error))
        except ValueError:  # closed by another thread, which stopped the machine
            self._file = None

    def give_up(self, why: str) -> None:
        """Say once that there will be no more lines, and why."""
        if sys.stderr is not None:  # an interpreter that shuts down has none
            text = f"cumulticast: the trace {self.path} ends here: {why}; process {os.getpid()} goes on without"
            print(text, file=sys.stderr, flush=True)
        self.close()

    def close(self) -> None:
        """Close the file; later lines go nowhere."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _opened(path: str) -> io.FileIO:
    """Open a file for appending. A pipe is refused: its reader's end would end C programs (SIGPIPE)."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags, 0o666)
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        os.close(fd)
        raise OSError(0, "it is a pipe; a trace goes to a file")
    return io.FileIO(fd, "ab")
