"""Compiled PTX as modules use it: the shape that `cumulticast.ptx.image` gives, and which language a device speaks.

The compiler is imported with the first module: programs that launch no kernel need not wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from cumulticast.ptx.errors import INVALID_IMAGE, PtxError

if TYPE_CHECKING:
    from cumulticast.ptx.syntax import Variable

Version = tuple[int, int]

#: CUDA release (major, minor) → PTX ISA version where both do not go in step (PTX ISA, release notes).
_ODD_RELEASES: Mapping[Version, Version] = {(12, 6): (8, 5), (12, 7): (8, 6), (12, 8): (8, 7), (12, 9): (8, 8)}
_FIRST_IN_STEP = {12: (8, 0), 13: (9, 0)}
_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)", re.MULTILINE)
_VERSION = re.compile(rb"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)


class Code(Protocol):
    """Machine code of a kernel, and what its warps need."""

    @property
    def address(self) -> int:
        """Where it begins."""
        ...

    @property
    def frame_size(self) -> int:
        """Bytes behind each warp."""
        ...

    @property
    def places(self) -> int:
        """How many pending masks begin the frame."""
        ...

    @property
    def fair(self) -> bool:
        """Whether lanes of a warp may wait for each other."""
        ...

    @property
    def lines(self) -> Sequence[int]:
        """Line of the text by the number of an instruction; 0 where there is none."""
        ...


class Kernel(Protocol):
    """An ``.entry`` of an image. Sizes are bytes; a limit that the text does not set is None."""

    @property
    def name(self) -> str:
        """As written."""
        ...

    @property
    def parameters(self) -> Sequence[Variable]:
        """In order."""
        ...

    @property
    def parameter_offsets(self) -> Sequence[int]:
        """Where each parameter lies."""
        ...

    @property
    def params_size(self) -> int:
        """Bytes of all parameters."""
        ...

    @property
    def static_shared(self) -> int:
        """Shared memory of a block that the text declares."""
        ...

    @property
    def local_size(self) -> int:
        """Local memory of a thread, without the stack."""
        ...

    @property
    def uses_stack(self) -> bool:
        """Whether calls need the context's stack beyond that."""
        ...

    @property
    def registers(self) -> int:
        """An estimate of 32-bit registers of a thread."""
        ...

    @property
    def max_threads(self) -> int | None:
        """The product of ``.maxntid``."""
        ...

    @property
    def required_block(self) -> tuple[int, int, int] | None:
        """``.reqntid``."""
        ...

    @property
    def required_cluster(self) -> tuple[int, int, int] | None:
        """``.reqnctapercluster``."""
        ...

    def code(self) -> Code:
        """Compile it, the first time; PtxError where that fails."""
        ...


class Image(Protocol):
    """PTX that was parsed and checked for one architecture."""

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """By name."""
        ...

    @property
    def variables(self) -> Sequence[Variable]:
        """Its .global and .const variables."""
        ...

    @property
    def symbols_address(self) -> int:
        """Where the addresses of the variables stand, in order, as machine code reads them."""
        ...

    @property
    def functions(self) -> Mapping[str, int]:
        """What stands for device functions in initial values."""
        ...

    def place(self, addresses: Mapping[str, int]) -> None:
        """Give the variables their addresses."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A PTX text and what log messages call it."""

    data: bytes
    name: str = "application ptx input"

    @property
    def target(self) -> int:
        """The number of ``.target``: 90 of ``sm_90a``; 0 where there is none."""
        found = _TARGET.search(self.data)
        return int(found[1]) if found else 0

    @property
    def version(self) -> str:
        """What stands behind ``.version``."""
        found = _VERSION.search(self.data)
        return found[0].split()[-1].decode() if found else "none"

    @property
    def version_line(self) -> int:
        """The line of ``.version``, from 1; 0 where there is none."""
        found = _VERSION.search(self.data)
        return self.data[: found.end()].count(b"\n") + 1 if found else 0


def isa_version(driver_version: int) -> Version:
    """Answer the newest PTX that a driver takes; NVRTC 13.5 writes 9.5, a driver of 13.0 takes 9.0 (recorded)."""
    major, minor = driver_version // 1000, driver_version % 1000 // 10
    first = _FIRST_IN_STEP[major]
    return _ODD_RELEASES.get((major, minor), (first[0], first[1] + minor))


def load(texts: Sequence[Text], sm: int, isa: Version) -> Image:
    """Parse and check texts for an architecture, and join them where there are several.

    Raises
    ------
    PtxError
        With status 200, 218 or 222.
    """
    from cumulticast.ptx.image import Image as Compiled

    for text in texts:
        if not text.data.strip():
            raise PtxError("the text is empty", status=INVALID_IMAGE)
    if len(texts) == 1:
        return Compiled.load(texts[0].data, sm, isa)
    return Compiled.link([(text.name, text.data) for text in texts], sm, isa)


def check(text: Text, sm: int, isa: Version) -> None:
    """Check a text by itself; what it declares without defining may come from another.

    Raises
    ------
    PtxError
        With status 200, 218 or 222.
    """
    from cumulticast.ptx.forms import check as check_module
    from cumulticast.ptx.parser import parse
    from cumulticast.ptx.syntax import Instruction

    module = parse(text.data)
    for name, function in module.functions.items():
        if function.body is None:
            module.functions[name] = replace(function, body=[Instruction("ret", (), ())])
    check_module(module, sm=sm, version=isa)


def agree(texts: Sequence[Text]) -> None:
    """Check that texts define nothing twice.

    Raises
    ------
    PtxError
        They do.
    """
    from cumulticast.ptx.join import join
    from cumulticast.ptx.parser import parse

    join([(text.name, parse(text.data)) for text in texts])
