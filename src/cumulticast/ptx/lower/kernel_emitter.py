"""The emitter of a whole kernel: it knows variables, special registers and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulticast.ptx.lower.address import symbol_address
from cumulticast.ptx.lower.emitter import Emitter, Slot
from cumulticast.ptx.lower.special import special
from cumulticast.ptx.syntax import Symbol


@dataclass(frozen=True, slots=True)
class Places:
    """Where the variables that a kernel can name lie.

    Attributes
    ----------
    numbers
        Module variables (and functions whose address is taken) → their place in the table of addresses.
    offsets
        Others → (space, offset): shared memory of the block, local memory of the lane, kernel parameters.
    shared_size, local_size
        Bytes of static shared memory, and of local memory a lane, both without what is dynamic.
    """

    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    offsets: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    shared_size: int = 0
    local_size: int = 0


class KernelEmitter(Emitter):
    """See the module."""

    def __init__(self, slots: Mapping[str, Slot], places: Places, constants: Mapping[str, int]) -> None:
        super().__init__(slots)
        self.places = places
        self.constants = dict(constants)

    def symbol(self, name: str) -> tuple[str, int | str]:
        """Answer (space, offset), or for a variable of the module ("global", its address as a scalar i64)."""
        if name in self.places.offsets:
            return self.places.offsets[name]
        number = self.places.numbers.get(name)
        if number is None:
            raise self.fail(f"{name} is declared nowhere")
        place = self.emit(f"getelementptr i64, ptr {self.field('symbols')}, i64 {number}")
        return "global", self.emit(f"load i64, ptr {place}")

    def address_of(self, symbol: Symbol) -> str:
        """Answer the address of a variable in its own space."""
        return symbol_address(self, symbol)

    def special(self, name: str) -> tuple[str, str]:
        """Answer (kind, value) of a special register."""
        return special(self, name)
