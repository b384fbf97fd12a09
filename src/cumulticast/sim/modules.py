"""Modules, and the functions and variables in them. A module belongs to a context and ends with it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.sim import native
from cumulticast.sim.contexts import Context

if TYPE_CHECKING:
    from cumulticast.ptx.syntax import Variable
    from cumulticast.sim.blocks import Block
    from cumulticast.sim.engine_launch import Ready
    from cumulticast.sim.images import Code, Image, Kernel, Text
    from cumulticast.sim.launches import Shape, Shape3
    from cumulticast.sim.libraries import Library
    from cumulticast.sim.process import Process

FIRST_MODULE = 0x6D6F_0000_0000
FIRST_FUNCTION = 0x666E_0000_0000
STEP = 0x100
GLOBAL = 1  # CU_MEM_ATTACH_GLOBAL


@dataclass(slots=True, eq=False)
class Module:
    """A CUmodule.

    Attributes
    ----------
    value
        The handle.
    image
        The compiled text.
    texts, sm
        What it was compiled from, and for which architecture.
    variables
        Its variables' memory, by name.
    functions
        Its functions, by name, in the text's order.
    library
        The library it came from, or None.
    """

    value: int
    context: Context
    image: Image
    texts: Sequence[Text]
    sm: int
    library: Library | None = None
    variables: dict[str, Block] = field(default_factory=dict[str, "Block"])
    functions: dict[str, Function] = field(default_factory=dict[str, "Function"])

    @property
    def text(self) -> Text:
        """What it was compiled from, or the first of several."""
        return self.texts[0]

    @property
    def constant_size(self) -> int:
        """Bytes of constant memory that its text declares."""
        return sum(variable.size for variable in self.image.variables if variable.space == "const")

    def address(self, symbol: str) -> int:
        """Answer what stands for a variable or a device function in initial values."""
        block = self.variables.get(symbol)
        return self.image.functions[symbol] if block is None else block.base


@dataclass(slots=True, eq=False)
class Function:
    """A CUfunction.

    Attributes
    ----------
    value
        The handle.
    kernel
        What the compiler made.
    settings
        CUfunction_attribute → value, as far as set for this function.
    cache_config
        CUfunc_cache; a preference that nothing here depends on.
    loaded
        Whether its machine code was made (lazy loading).
    proven
        Launch shapes that were found legal, with their clusters; forgotten when a setting changes.
    ready
        What all its launches have in common, for the engine.
    gather
        What reads its parameters.
    """

    value: int
    module: Module
    kernel: Kernel
    settings: dict[int, int] = field(default_factory=dict[int, int])
    cache_config: int = 0
    loaded: bool = False
    proven: dict[Shape, Shape3] = field(default_factory=dict["Shape", "Shape3"])
    ready: Ready | None = None
    gather: native.Gather | None = None
    _making: threading.Lock = field(default_factory=threading.Lock)

    def load(self) -> Code:
        """Make the machine code, the first time.

        Raises
        ------
        PtxError
            218: something in it cannot be compiled.
        """
        with self._making:
            code = self.kernel.code()
        self.loaded = True
        return code


class Modules:
    """All modules and functions of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._modules: dict[int, Module] = {}
        self._functions: dict[int, Function] = {}
        self._made = 0
        self._functions_made = 0
        self.workspaces: dict[int, Block] = {}  # of streams, by their serial number: see engine_launch

    def find(self, value: int) -> Module | None:
        """Answer a module that is loaded."""
        return self._modules.get(value)

    def find_function(self, value: int) -> Function | None:
        """Answer a function of a module that is loaded."""
        return self._functions.get(value)

    def add(
        self, context: Context, image: Image, texts: Sequence[Text], sm: int, library: Library | None = None
    ) -> Module:
        """Place an image's variables in a context's memory, and register it.

        Raises
        ------
        Refused
            2: no memory for its variables; nothing is left behind.
        """
        self._made += 1
        module = Module(FIRST_MODULE + STEP * self._made, context, image, texts, sm, library)
        try:
            for variable in image.variables:
                self._place(module, variable)
        except BaseException:
            self._free(module)
            raise
        image.place({name: block.base for name, block in module.variables.items()})
        for variable in image.variables:
            self._fill(module, variable)
        self._modules[module.value] = module
        for kernel in image.kernels.values():
            self._functions_made += 1
            function = Function(FIRST_FUNCTION + STEP * self._functions_made, module, kernel)
            module.functions[kernel.name] = self._functions[function.value] = function
        return module

    def remove(self, module: Module) -> None:
        """Unload a module and free its variables."""
        del self._modules[module.value]
        for function in module.functions.values():
            del self._functions[function.value]
        self._free(module)

    def end_context(self, context: Context) -> None:
        """Forget the modules of a context that ends, before its memory is freed."""
        self.workspaces = {key: block for key, block in self.workspaces.items() if block.context is not context}
        for module in [module for module in self._modules.values() if module.context is context]:
            self.remove(module)
            if module.library is not None:
                module.library.modules.pop(context.value, None)

    def own(self, context: Context, size: int, data: bytes) -> Block:
        """Allocate device memory of the driver's own in a context, and write its first bytes."""
        block = self._process.heap.allocate(context, size)
        block.in_module = True
        self._write(block, data)
        return block

    def _place(self, module: Module, variable: Variable) -> None:
        heap = self._process.heap
        size = max(variable.size, 1)
        if variable.managed:
            block = heap.allocate_pages(module.context, size, "cuMemAllocManaged", GLOBAL)
        else:
            block = heap.allocate(module.context, size)
        block.in_module = True
        module.variables[variable.name] = block

    def _fill(self, module: Module, variable: Variable) -> None:
        """Write a variable's first bytes: zeros, its initial values, and addresses of others."""
        data = bytearray(variable.initial.ljust(max((r.at + r.size for r in variable.relocations), default=0), b"\0"))
        for relocation in variable.relocations:
            word = module.address(relocation.symbol) + relocation.offset & (1 << 8 * relocation.size) - 1
            data[relocation.at : relocation.at + relocation.size] = word.to_bytes(relocation.size, "little")
        self._write(module.variables[variable.name], bytes(data))

    def _write(self, block: Block, data: bytes) -> None:
        """Write a block's first bytes, and zeros behind them; it gets its memory before."""
        try:
            if block.chunk is not None:
                self._process.backing.ensure(block.chunk.handle.obj, block.base - block.chunk.base, block.size)
        except OSError as error:
            raise self._process.no_room("the variables of a module", error) from error
        native.fill8(block.base, 0, block.size)
        native.put(block.base, data)

    def _free(self, module: Module) -> None:
        heap = self._process.heap
        for block in module.variables.values():
            if block.chunk is not None:
                heap.free(block)
            else:
                heap.forget_pages(block)
        module.variables.clear()
