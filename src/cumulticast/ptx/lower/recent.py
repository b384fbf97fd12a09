"""What is known of registers within a block, until they are written again: how they were made, what was found out."""

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
        self._found: dict[str, dict[str, tuple[str, int]]] = {}

    def clear(self) -> None:
        """Begin a block."""
        self._made.clear()
        self._readers.clear()
        self._found.clear()

    def note(self, ins: Instruction, written: Iterable[str], read: Iterable[str]) -> None:
        """Take an instruction in: it wrote and read these registers."""
        names = tuple(written)
        for name in names:
            self._made.pop(name, None)
            self._found.pop(name, None)
            for reader in self._readers.pop(name, ()):
                self._made.pop(reader, None)
        if ins.opcode in OPCODES and ins.guard is None and len(names) == 1 and names[0] not in (sources := tuple(read)):
            self._made[names[0]] = ins
            for source in sources:
                self._readers.setdefault(source, []).append(names[0])

    def of(self, name: str) -> Instruction | None:
        """Answer what wrote a register, if its operands still have the values of then."""
        return self._made.get(name)

    def keep(self, name: str, question: str, answer: str, line: int) -> None:
        """Remember a value in IR that depends on a register only; ``line`` is where the IR goes on behind it."""
        self._found.setdefault(name, {})[question] = answer, line

    def kept(self, name: str, question: str, lines: list[str]) -> str | None:
        """Answer a value that was found before in the same basic block of the IR."""
        answer, line = self._found.get(name, {}).get(question, (None, 0))
        return None if answer is None or any(text.endswith(":") for text in lines[line:]) else answer
