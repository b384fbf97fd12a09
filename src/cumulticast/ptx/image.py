"""PTX as a driver loads it: read and checked at once, each kernel compiled when it is first wanted.

image = Image.load(text, sm=90)
image.place({"table": 0x7f…})                 # where the module's variables were put
code = image.kernels["add"].code()            # machine code in this process
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from cumulticast.ptx import cache, machine_code
from cumulticast.ptx.compiled import ENTRY, Compiled
from cumulticast.ptx.stored import Outline, Summary, pack_kernel, unpack_kernel
from cumulticast.ptx.syntax import Module, Variable
from cumulticast.ptx.versions import NEWEST

Version = tuple[int, int]
Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of a kernel in this process.

    Attributes
    ----------
    address
        Of the function that carries one warp on.
    frame_size
        Bytes behind each warp.
    places
        How many masks of waiting lanes begin the frame; 1: the kernel never stops on its way.
    fair
        Whether lanes of a warp may wait for each other.
    lines
        Line of the PTX text by the number of an instruction, as a fault names it; 0 where there is none.
    """

    address: int
    frame_size: int
    places: int
    fair: bool
    lines: tuple[int, ...]
    linked: machine_code.Linked = field(repr=False)


class Kernel:
    """An ``.entry``. Sizes are bytes; a limit that the text does not set is None."""

    def __init__(self, image: Image, outline: Outline) -> None:
        self._image = image
        self._outline = outline
        self._lock = threading.Lock()
        self._code: Code | None = None
        self.name = outline.name
        self.parameters: Sequence[Variable] = outline.parameters
        self.parameter_offsets: Sequence[int] = outline.offsets
        ends = (at + one.size for at, one in zip(outline.offsets, outline.parameters, strict=True))
        self.params_size = max(ends, default=0)
        self.static_shared = outline.shared_size
        self.local_size = outline.local_size

    @cached_property
    def _compiled(self) -> Compiled:
        return self._image.compiled(self.name)

    @property
    def registers(self) -> int:
        """An estimate of the 32-bit registers of a thread: what hardware would take is ptxas' secret."""
        return self._compiled.registers

    @property
    def uses_stack(self) -> bool:
        """Whether calls need the context's stack (CU_LIMIT_STACK_SIZE) beyond ``local_size``."""
        return self._compiled.stack

    @property
    def max_threads(self) -> int | None:
        """The product of ``.maxntid`` or ``.reqntid``."""
        limits = self._outline.directives.get("reqntid") or self._outline.directives.get("maxntid")
        return prod(limits) if limits else None

    @property
    def required_block(self) -> Block | None:
        """``.reqntid``."""
        return _three(self._outline.directives.get("reqntid"))

    @property
    def required_cluster(self) -> Block | None:
        """``.reqnctapercluster``."""
        return _three(self._outline.directives.get("reqnctapercluster"))

    def code(self) -> Code:
        """Compile the kernel, the first time.

        Raises
        ------
        PtxError
            218: an instruction that is not simulated.
        """
        with self._lock:
            if self._code is None:
                compiled = self._compiled
                linked = machine_code.link(compiled.code)
                self._code = Code(
                    linked.address(ENTRY),
                    compiled.frame_size,
                    compiled.places,
                    compiled.turning,
                    compiled.lines,
                    linked,
                )
            return self._code


def _three(numbers: tuple[int, ...] | None) -> Block | None:
    if not numbers:
        return None
    padded = [*numbers, 1, 1]
    return padded[0], padded[1], padded[2]


class Image:
    """One or several PTX texts, read, checked and joined.

    Attributes
    ----------
    kernels
        By name.
    variables
        The .global and .const variables that need memory.
    functions
        Device functions' addresses, as they stand in initial values: no memory is there, only calls know them.
    """

    def __init__(self, key: str, summary: Summary, read: Callable[[], Module]) -> None:
        self._key = key
        self._read = read
        self.variables: Sequence[Variable] = summary.variables
        self.functions: Mapping[str, int] = summary.functions
        self.numbers: Mapping[str, int] = {variable.name: n for n, variable in enumerate(self.variables)}
        self._symbols = (ctypes.c_uint64 * max(1, len(self.variables)))()
        self.kernels: Mapping[str, Kernel] = {one.name: Kernel(self, one) for one in summary.kernels}

    @classmethod
    def load(cls, text: bytes, sm: int, isa: Version = NEWEST) -> Image:
        """Read and check a text.

        Parameters
        ----------
        text
            PTX.
        sm
            The device's compute capability times ten.
        isa
            The newest ``.version`` that is taken.

        Raises
        ------
        PtxError
            200, 218 or 222.
        """
        return cls._made([("", text)], sm, isa)

    @classmethod
    def link(cls, texts: Sequence[tuple[str, bytes]], sm: int, isa: Version = NEWEST) -> Image:
        """Read, check and join several texts; what one declares ``.extern`` another may define.

        Raises
        ------
        PtxError
            As `load`, and 218 for what is defined twice or nowhere.
        """
        return cls._made(texts, sm, isa)

    @classmethod
    def _made(cls, texts: Sequence[tuple[str, bytes]], sm: int, isa: Version) -> Image:
        """Make an image of what the cache knows of the texts, or of what they say."""
        key = cache.key(f"{sm} {isa} {machine_code.host()}".encode(), *(text for _, text in texts))
        stored = cache.read(key)
        if stored is not None:
            return cls(key, Summary.unpack(stored), lambda: read(texts))
        # A kernel out of the cache needs neither parser nor compiler, which take longer to import than it takes to run.
        from cumulticast.ptx.forms import check
        from cumulticast.ptx.kernel import summarise

        module = read(texts)
        check(module, sm=sm, version=isa)
        summary = summarise(module)
        cache.write(key, summary.pack())
        return cls(key, summary, lambda: module)

    def compiled(self, name: str) -> Compiled:
        """Answer a kernel's object code, from the cache or compiled now."""
        entry = cache.key(self._key.encode(), name.encode())
        stored = cache.read(entry)
        if stored is not None:
            return unpack_kernel(stored)
        with cache.turn(entry):
            stored = cache.read(entry)
            return self._compile(name, entry) if stored is None else unpack_kernel(stored)

    def _compile(self, name: str, entry: str) -> Compiled:
        """Compile a kernel now, and keep it as an entry of the cache."""
        from cumulticast.ptx.kernel import compile_kernel

        compiled = compile_kernel(self._read(), name, self.numbers)
        cache.write(entry, pack_kernel(compiled))
        return compiled

    @property
    def symbols_address(self) -> int:
        """Where the addresses of `variables` stand, in order, as machine code reads them (struct ptx_launch)."""
        return ctypes.addressof(self._symbols)

    def place(self, addresses: Mapping[str, int]) -> None:
        """Say where each of `variables` was put; before the first launch."""
        for name, number in self.numbers.items():
            self._symbols[number] = addresses[name]


def read(texts: Sequence[tuple[str, bytes]]) -> Module:
    """Parse texts and join them."""
    from cumulticast.ptx.parser import parse

    if len(texts) == 1:
        return parse(texts[0][1])
    from cumulticast.ptx.join import join

    return join([(name, parse(text)) for name, text in texts])
