"""What the cache keeps of an image and of a kernel, as bytes and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from cumulticast.ptx.compiled import Compiled
from cumulticast.ptx.syntax import Relocation, Variable


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a kernel without its statements. Sizes are bytes.

    Attributes
    ----------
    offsets
        Of the parameters.
    shared_size, local_size
        Static, a block, a thread.
    directives
        As in `syntax.Function`.
    """

    name: str
    parameters: tuple[Variable, ...]
    offsets: tuple[int, ...]
    shared_size: int
    local_size: int
    directives: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of an image without its statements.

    Attributes
    ----------
    variables
        Those that need memory.
    functions
        Addresses of device functions, as pointers to them hold them.
    """

    kernels: tuple[Outline, ...]
    variables: tuple[Variable, ...]
    functions: dict[str, int]

    def pack(self) -> bytes:
        """Answer the summary as bytes."""
        return json.dumps(asdict(self), default=_bytes).encode()

    @classmethod
    def unpack(cls, content: bytes) -> Summary:
        """Answer what `pack` was given."""
        found: dict[str, Any] = json.loads(content)
        kernels = tuple(_outline(one) for one in found["kernels"])
        return cls(kernels, tuple(_variable(one) for one in found["variables"]), found["functions"])


def _bytes(value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()


def _outline(found: dict[str, Any]) -> Outline:
    return Outline(
        found["name"],
        tuple(_variable(one) for one in found["parameters"]),
        tuple(found["offsets"]),
        found["shared_size"],
        found["local_size"],
        {name: tuple(numbers) for name, numbers in found["directives"].items()},
    )


def _variable(found: dict[str, Any]) -> Variable:
    found["relocations"] = tuple(Relocation(**one) for one in found["relocations"])
    found["initial"] = bytes.fromhex(found["initial"])
    return Variable(**found)


# ---- a kernel: its numbers as one line of JSON, then its object code


def pack_kernel(compiled: Compiled) -> bytes:
    """Answer a compiled kernel as bytes."""
    numbers = asdict(compiled)
    code = numbers.pop("code")
    return json.dumps(numbers).encode() + b"\n" + code


def unpack_kernel(content: bytes) -> Compiled:
    """Answer what `pack_kernel` was given."""
    head, _, code = content.partition(b"\n")
    found: dict[str, Any] = json.loads(head)
    found["lines"] = tuple(found["lines"])
    return Compiled(code=code, **found)
