"""The form of messages between a rank and the hub: a prefix of fixed size, a JSON header, bytes.

Nothing is ever unpickled, every length is checked before it is believed, and what does not look like a message of ours
ends the connection it came on.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

MAGIC = b"cuMc"
VERSION = 1
ENCODER = json.JSONEncoder(separators=(",", ":"))
PREFIX = struct.Struct(">4sII")  # magic, bytes of the header, bytes of the payload
HEADER_LIMIT = 1 << 16
PART_LIMIT = 1 << 22  # what one rank brings to an exchange
ANSWER_LIMIT = (1 << 32) - 1
SECONDS_LIMIT = 1e9  # no time is as long


class FrameError(ValueError):
    """What came is no message of ours. The connection is of no use any more."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message.

    Attributes
    ----------
    header
        What it says; ``do`` names the kind.
    payload
        Bytes that are passed on unread.
    """

    header: Mapping[str, Any]
    payload: bytes = b""

    def text(self, name: str) -> str:
        """Answer an entry of the header that is a text; FrameError for anything else."""
        value = self.header.get(name)
        if not isinstance(value, str):
            raise FrameError(f"{name} is {value!r}, not a text")
        return value

    def number(self, name: str) -> int:
        """Answer an entry that is an integer from 0; FrameError for anything else."""
        value = self.header.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FrameError(f"{name} is {value!r}, not a number from 0")
        return value

    def seconds(self, name: str) -> float:
        """Answer an entry that is a time; FrameError for anything else."""
        value = self.header.get(name)
        if not isinstance(value, (int, float)) or not 0 <= value < SECONDS_LIMIT:
            raise FrameError(f"{name} is {value!r}, not a time in seconds")
        return float(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        """Answer an entry that is a list of integers from 0; FrameError for anything else."""
        value = self.header.get(name)
        if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in cast("list[Any]", value)):
            raise FrameError(f"{name} is {value!r}, not a list of numbers")
        return tuple(cast("list[int]", value))

    def culprits(self) -> dict[int, str]:
        """Answer what the header says of each rank that failed; FrameError if it says something else."""
        value = self.header.get("culprits")
        if not isinstance(value, dict):
            raise FrameError(f"culprits is {value!r}")
        try:
            return {int(rank): str(what) for rank, what in cast("dict[str, Any]", value).items()}
        except ValueError as error:
            raise FrameError(f"culprits is {value!r}") from error

    def encode(self) -> bytes:
        """Answer the bytes to send."""
        header = ENCODER.encode(self.header).encode()
        return PREFIX.pack(MAGIC, len(header), len(self.payload)) + header + self.payload


class FrameReader:
    """Makes frames of the bytes of a stream, however these are cut.

    Parameters
    ----------
    payload_limit
        The largest payload that is believed; it can be changed between frames.
    """

    def __init__(self, payload_limit: int) -> None:
        self.payload_limit = payload_limit
        self._held = bytearray()

    def feed(self, received: bytes) -> Iterator[Frame]:
        """Take bytes and answer the frames that are complete.

        Raises
        ------
        FrameError
            These are no frames.
        """
        self._held += received
        while self._held and (frame := self._next()):
            yield frame

    def _next(self) -> Frame | None:
        held = self._held
        if not MAGIC.startswith(bytes(held[:4])):
            raise FrameError(f"a message begins with {bytes(held[:4])!r}, not with {MAGIC!r}")
        if len(held) < PREFIX.size:
            return None
        _, header, payload = PREFIX.unpack_from(held)
        if header > HEADER_LIMIT or payload > self.payload_limit:
            raise FrameError(f"a message of {header} + {payload} bytes; at most {HEADER_LIMIT} + {self.payload_limit}")
        end = PREFIX.size + header + payload
        if len(held) < end:
            return None
        frame = Frame(_parsed(held[PREFIX.size : PREFIX.size + header]), bytes(held[PREFIX.size + header : end]))
        del held[:end]
        return frame


def _parsed(header: bytearray) -> dict[str, Any]:
    try:
        value = json.loads(str(header, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a header that is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise FrameError(f"a header that is no JSON object: {value!r}")
    return cast("dict[str, Any]", value)
