"""Libraries and their kernels: code that is loaded without a context, and becomes a module in each that uses it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.sim import images
from cumulticast.sim.contexts import Context
from cumulticast.sim.modules import STEP, Module

if TYPE_CHECKING:
    from cumulticast.sim.images import Image, Kernel, Text, Version
    from cumulticast.sim.process import Process

FIRST_LIBRARY = 0x6C69_0000_0000
FIRST_KERNEL = 0x6B65_0000_0000


@dataclass(slots=True, eq=False)
class LibraryKernel:
    """A CUkernel.

    Attributes
    ----------
    value
        The handle.
    kernel
        What the compiler made of it for the library's first user; every context's own is alike.
    settings, cache_configs
        Ordinal → CUfunction_attribute → value, and ordinal → CUfunc_cache, as far as set.
    """

    value: int
    library: Library
    kernel: Kernel
    settings: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    cache_configs: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(slots=True, eq=False)
class Library:
    """A CUlibrary.

    Attributes
    ----------
    value
        The handle.
    texts
        Its PTX; it is not looked at before something in it is asked for, as a real driver does.
    sm, isa
        What it is compiled for.
    modules
        Its modules, by the handle of their context.
    kernels
        Its kernels by name; None before they were asked for.
    constant_size
        Bytes of constant memory that its text declares, once its kernels are known.
    """

    value: int
    texts: list[Text]
    sm: int
    isa: Version
    modules: dict[int, Module] = field(default_factory=dict[int, Module])
    kernels: dict[str, LibraryKernel] | None = None
    constant_size: int = 0
    _spare: Image | None = None
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def parse(self) -> None:
        """Have an image ready that no module uses; called without the driver's lock.

        Raises
        ------
        PtxError
            The text is not compiled.
        """
        with self._reading:
            if self._spare is None:
                self._spare = images.load(self.texts, self.sm, self.isa)

    @property
    def known(self) -> bool:
        """Whether its kernels have been read."""
        return self.kernels is not None

    def peek(self) -> Image | None:
        """Answer the image that `parse` left, unless a module took it since."""
        return self._spare

    def take(self) -> Image | None:
        """Answer that image for a module of its own: the next one needs another."""
        image, self._spare = self._spare, None
        return image


class Libraries:
    """All libraries and kernels of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._libraries: dict[int, Library] = {}
        self._kernels: dict[int, LibraryKernel] = {}
        self._made = 0
        self._kernels_made = 0

    def find(self, value: int) -> Library | None:
        """Answer a library that is loaded."""
        return self._libraries.get(value)

    def find_kernel(self, value: int) -> LibraryKernel | None:
        """Answer a kernel of a library that is loaded."""
        return self._kernels.get(value)

    def add(self, texts: list[Text], sm: int, isa: Version) -> Library:
        """Register a library."""
        self._made += 1
        library = Library(FIRST_LIBRARY + STEP * self._made, texts, sm, isa)
        self._libraries[library.value] = library
        return library

    def read(self, library: Library) -> None:
        """Give the kernels of a library handles, from the image that it has ready."""
        image = library.peek()
        if library.kernels is not None or image is None:
            return
        library.constant_size = sum(variable.size for variable in image.variables if variable.space == "const")
        library.kernels = {}
        for kernel in image.kernels.values():
            self._kernels_made += 1
            made = LibraryKernel(FIRST_KERNEL + STEP * self._kernels_made, library, kernel)
            library.kernels[kernel.name] = self._kernels[made.value] = made

    def module(self, library: Library, context: Context) -> Module | None:
        """Answer the module of a library in a context; None where it has none yet and no image is ready for it."""
        module = library.modules.get(context.value)
        image = None if module is not None else library.take()
        if image is not None:
            module = self._process.modules.add(context, image, library.texts, library.sm, library)
            library.modules[context.value] = module
        return module

    def remove(self, library: Library) -> None:
        """Unload a library and its modules."""
        for module in library.modules.values():
            self._process.modules.remove(module)
        for kernel in (library.kernels or {}).values():
            del self._kernels[kernel.value]
        del self._libraries[library.value]
