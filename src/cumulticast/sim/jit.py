"""Options of the just-in-time compiler (CUjit_option): what is asked for, and what is told in return."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.ptx.errors import INVALID_IMAGE, UNSUPPORTED_PTX_VERSION, PtxError
from cumulticast.rules import linking
from cumulticast.sim import native
from cumulticast.sim.images import Text

if TYPE_CHECKING:
    from cumulticast.sim.images import Image, Version
    from cumulticast.sim.process import Process

WALL_TIME, INFO_BUFFER, INFO_SIZE, ERROR_BUFFER, ERROR_SIZE = 2, 3, 4, 5, 6
TARGET_FROM_CONTEXT, TARGET, VERBOSE = 8, 9, 12
LAST = 35
LINK_ONLY_CREATE = (WALL_TIME, INFO_BUFFER, ERROR_BUFFER, TARGET_FROM_CONTEXT, TARGET)
# CUjit_target: the architecture, plus these bits for sm_90a and sm_100f.
ACCELERATED, FAMILY = 0x10000, 0x20000
ABORTED = "ptxas fatal   : Ptx assembly aborted due to errors"


@dataclass(slots=True)
class Jit:
    """The options of one call, or of a linker; logs grow until they are written to the caller's buffers.

    Attributes
    ----------
    options, values
        The two arrays.
    info, errors
        Lines of the two logs.
    rooms
        Sizes of the two buffers, as they were given.
    array
        Where the caller's array of values lies, if what it returns is written there: linkers do so until they end.
    """

    options: tuple[int, ...] = ()
    values: list[int] = field(default_factory=list[int])
    info: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    began: float = field(default_factory=time.monotonic)
    array: int = 0
    rooms: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def read(cls, process: Process, count: int, options: bytes | None, values: bytes | None) -> Jit:
        """Read the two arrays of a call; 1 for an option that is none, and for arrays that are missing."""
        judge = process.driver.judge
        judge(linking.jit_arrays, count, options is not None and values is not None)
        numbers = struct.unpack(f"<{count}i", options or b"")
        for option in numbers:
            judge(linking.jit_option_known, option, LAST)
        jit = cls(numbers, list(struct.unpack(f"<{count}Q", values or b"")))
        for buffer, size in ((INFO_BUFFER, INFO_SIZE), (ERROR_BUFFER, ERROR_SIZE)):
            judge(linking.jit_log_size, buffer, buffer in jit.given, size in jit.given)
            jit.rooms[buffer] = jit.given.get(size, 0) & 0xFFFFFFFF
        return jit

    @property
    def given(self) -> Mapping[int, int]:
        """Option → value."""
        return dict(zip(self.options, self.values, strict=True))

    @property
    def logs(self) -> bool:
        """Whether a log is wanted."""
        return INFO_BUFFER in self.given or ERROR_BUFFER in self.given

    def architecture(self, own: int) -> int:
        """Answer the architecture to compile for: the device's own, unless a target is named."""
        target = self.given.get(TARGET)
        return own if target is None else target & ~(ACCELERATED | FAMILY) & 0xFFFF

    def failed(self, error: PtxError, text: Text, isa: Version) -> None:
        """Log why a text was not compiled, as ptxas words it."""
        if error.status == INVALID_IMAGE:
            self.errors.append(f"error   : {error.reason}")
        elif error.status == UNSUPPORTED_PTX_VERSION:
            current = "{}.{}".format(*isa)
            unsupported = f"Unsupported .version {text.version}; current version is '{current}'"
            self.errors.append(f"{place(text, text.version_line)}fatal   : {unsupported}")
        else:
            self.errors += [f"{place(text, error.line)}error   : {error.reason}", ABORTED]

    def compiled(self, image: Image, sm: int) -> None:
        """Log what was made, if that was asked for."""
        if self.given.get(VERBOSE, 0) & 0xFFFFFFFF:
            self.info += _properties(image, sm)

    def finish(self) -> bytes:
        """Write the logs to their buffers and answer the option values, with what they return."""
        self._write(INFO_BUFFER, INFO_SIZE, self.info)
        self._write(ERROR_BUFFER, ERROR_SIZE, self.errors)
        elapsed = (time.monotonic() - self.began) * 1000
        self._set(WALL_TIME, int.from_bytes(struct.pack("<f", elapsed), "little"))
        data = struct.pack(f"<{len(self.values)}Q", *self.values)
        if self.array and native.writable(self.array, len(data)):
            native.put(self.array, data)
        return data

    def _write(self, buffer: int, size: int, lines: Iterable[str]) -> None:
        """Fill one log as far as it goes, a NUL at its end; a buffer that cannot be written is left alone."""
        room, address = self.rooms.get(buffer, 0), self.given.get(buffer, 0)
        text = "\n".join(lines).encode()[: max(room - 1, 0)]
        if address and room and native.writable(address, len(text) + 1):
            native.put(address, text + b"\0")
            self._set(size, len(text))

    def _set(self, option: int, word: int) -> None:
        """Replace the lower half of an option's value: what these options hold is 32 bits wide."""
        if option in self.options:
            at = self.options.index(option)
            self.values[at] = self.values[at] & ~0xFFFFFFFF | word


def place(text: Text, line: int) -> str:
    """Name a line of a text as ptxas does; nothing but the program where no line is known."""
    return f"ptxas {text.name}, line {line}; " if line else "ptxas "


def _properties(image: Image, sm: int) -> list[str]:
    size = sum(variable.size for variable in image.variables if variable.space == "global")
    lines = [f"ptxas info    : {size} bytes gmem"]
    for kernel in image.kernels.values():
        lines += [
            f"ptxas info    : Compiling entry function '{kernel.name}' for 'sm_{sm}'",
            f"ptxas info    : Function properties for {kernel.name}",
            f"ptxas         .     {kernel.local_size} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            f"ptxas info    : Used {kernel.registers} registers, {kernel.static_shared} bytes smem",
        ]
    return lines
