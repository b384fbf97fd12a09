"""What registers were made of, as long as it still holds: within a block, until an operand is written again."""

from __future__ import annotations

from collections.abc import Iterable

from cumulticast.ptx.syntax import Instruction

#: What addresses are made of.
OPCODES = frozenset(("add", "mul", "mad", "shl", "cvt", "cvta", "mov"))


class Recent:
    """The instructions of a block so far that addresses may be made of, by the register that each wrote."""

    def __init__(self) -> None:
        self._made: dict[str, Instruction] = {}
        self._readers: dict[str, list[str]] = {}

    def clear(self) -> None:
        """Begin a block."""
        self._made.clear()
        self._readers.clear()

    def note(self, ins: Instruction, written: Iterable[str], read: Iterable[str]) -> None:
        """Take an instruction in: it wrote and read these registers."""
        names = tuple(written)
        for name in names:
            self._made.pop(name, None)
            for reader in self._readers.pop(name, ()):
                self._made.pop(reader, None)
        if ins.opcode in OPCODES and ins.guard is None and len(names) == 1 and names[0] not in (sources := tuple(read)):
            self._made[names[0]] = ins
            for source in sources:
                self._readers.setdefault(source, []).append(names[0])

    def of(self, name: str) -> Instruction | None:
        """Answer what wrote a register, if its operands still have the values of then."""
        return self._made.get(name)
