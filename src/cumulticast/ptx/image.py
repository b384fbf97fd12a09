"""PTX as a driver loads it: read and checked at once, each kernel compiled when it is first wanted.

image = Image.load(text, sm=90)
image.place({"table": 0x7f…})                 # where the module's variables were put
code = image.kernels["add"].code()            # machine code in this process
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cumulticast.ptx import kernel, machine_code
from cumulticast.ptx.flow.calls import function_addresses
from cumulticast.ptx.forms import check
from cumulticast.ptx.join import join
from cumulticast.ptx.parser import parse
from cumulticast.ptx.syntax import Function, Module, Variable
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

    def __init__(self, image: Image, function: Function) -> None:
        self._image = image
        self._function = function
        self._lock = threading.Lock()
        self._code: Code | None = None
        self.name = function.name
        self.parameters: Sequence[Variable] = function.parameters
        placed = kernel.parameter_offsets(function)
        self.parameter_offsets: Sequence[int] = tuple(at for at, _ in placed)
        self.params_size = max((at + size for at, size in placed), default=0)

    @cached_property
    def _compiled(self) -> kernel.Compiled:
        return kernel.compile_kernel(self._image.module, self.name, self._image.numbers)

    @property
    def static_shared(self) -> int:
        """Shared memory of a block that the text declares."""
        return kernel.static_sizes(self._image.module, self._function)[0]

    @property
    def local_size(self) -> int:
        """Local memory of a thread that the text declares, calls included."""
        return kernel.static_sizes(self._image.module, self._function)[1]

    @property
    def registers(self) -> int:
        """An estimate of the 32-bit registers of a thread: what hardware would take is ptxas' secret."""
        return self._compiled.registers

    @property
    def max_threads(self) -> int | None:
        """The product of ``.maxntid`` or ``.reqntid``."""
        limits = self._function.directives.get("reqntid") or self._function.directives.get("maxntid")
        return int(np.prod(limits)) if limits else None

    @property
    def required_block(self) -> Block | None:
        """``.reqntid``."""
        return _three(self._function.directives.get("reqntid"))

    @property
    def required_cluster(self) -> Block | None:
        """``.reqnctapercluster``."""
        return _three(self._function.directives.get("reqnctapercluster"))

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
                    linked.address(kernel.ENTRY),
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
    symbols
        Addresses by number, as machine code reads them; its own address is ``symbols.ctypes.data``.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.variables: Sequence[Variable] = tuple(
            v for v in module.variables.values() if v.space in ("global", "const") and v.linkage != "extern"
        )
        self.numbers: Mapping[str, int] = {variable.name: n for n, variable in enumerate(self.variables)}
        self.symbols = np.zeros(max(1, len(self.variables)), np.uint64)
        self.kernels: Mapping[str, Kernel] = {
            name: Kernel(self, function) for name, function in module.functions.items() if function.kernel
        }

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
        module = parse(text)
        check(module, sm=sm, version=isa)
        return cls(module)

    @classmethod
    def link(cls, texts: Sequence[tuple[str, bytes]], sm: int, isa: Version = NEWEST) -> Image:
        """Read, check and join several texts; what one declares ``.extern`` another may define.

        Raises
        ------
        PtxError
            As `load`, and 218 for what is defined twice or nowhere.
        """
        joined = join([(name, parse(text)) for name, text in texts])
        check(joined, sm=sm, version=isa)
        return cls(joined)

    @property
    def functions(self) -> Mapping[str, int]:
        """Device functions' addresses, as they stand in initial values: no memory is there, only calls know them."""
        return function_addresses(self.module)

    def place(self, addresses: Mapping[str, int]) -> None:
        """Say where each of `variables` was put; before the first launch."""
        for name, number in self.numbers.items():
            self.symbols[number] = addresses[name]
