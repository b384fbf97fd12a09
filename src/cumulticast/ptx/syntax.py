"""A PTX module as values: what the parser makes, and all that analysis and lowering know of the text.

Names are unique within a function: the parser renames registers, labels and variables that a ``{ … }`` block declares
anew. Modifiers are kept in the order in which they were written, without dots: ``ld.relaxed.gpu.global.v4.f32`` is
opcode ``ld``, modifiers ``("relaxed", "gpu", "global", "v4", "f32")``; ``::`` stays inside of a modifier.
Source of the words: PTX ISA 9.x.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Bits of every fundamental type that a register or a memory access can have.
TYPE_BITS: dict[str, int] = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 128,
    "f16": 16,
    "bf16": 16,
    "f16x2": 32,
    "bf16x2": 32,
    "u16x2": 32,
    "s16x2": 32,
    "tf32": 32,
    "f32": 32,
    "f32x2": 64,
    "f64": 64,
    "e4m3": 8,
    "e5m2": 8,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "e4m3x4": 32,
    "e5m2x4": 32,
}

SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared")


# ---- operands


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the function: ``%r1``."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register: ``%tid.x``, ``%laneid``, ``%clock64``, ``%envreg1``."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, any size, signed as written."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant: its value as 64-bit pattern (decimal, 0d…) or as 32-bit pattern (0f…)."""

    bits: int
    single: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a variable, parameter, function or label, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``: base is a register, a symbol, or an integer (an absolute address)."""

    base: Register | Symbol | Integer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, …}``; in call lists also ``(a, b, …)``."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """``!%p``."""

    register: Register


@dataclass(frozen=True, slots=True)
class Pair:
    """``%a|%b``: the two destinations of setp, shfl, match."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Sink:
    """``_``: a destination or list place that is not wanted."""


Operand = Register | Special | Integer | Float | Symbol | Address | Vector | Negated | Pair | Sink


# ---- statements


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    opcode
        The first word: ``ld``, ``multimem``, ``cp`` (``cp.async…``), ``mma``, ``bar``.
    modifiers
        The other words.
    operands
        As written, destinations first.
    guard
        The predicate register of ``@%p``, or None.
    inverted
        Whether the guard was ``@!%p``.
    line
        1-based line of the text.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None = None
    inverted: bool = False
    line: int = 0

    @property
    def name(self) -> str:
        """The whole mnemonic: ``ld.global.f32``."""
        return ".".join((self.opcode, *self.modifiers))

    def has(self, modifier: str) -> bool:
        """Tell whether a modifier was written."""
        return modifier in self.modifiers

    @property
    def types(self) -> tuple[str, ...]:
        """The type modifiers in order: of ``cvt.rn.f16.f32``, ``("f16", "f32")``."""
        return tuple(word for word in self.modifiers if word in TYPE_BITS)


@dataclass(frozen=True, slots=True)
class Label:
    """A place that branches go to."""

    name: str
    line: int = 0


Statement = Instruction | Label


# ---- declarations


@dataclass(frozen=True, slots=True)
class Relocation:
    """In a variable's initial bytes: at ``at`` stands the address of ``symbol`` plus ``offset``.

    ``generic`` addresses are written ``generic(symbol)``; of global and const variables both are the same here.
    """

    at: int
    symbol: str
    offset: int
    size: int = 8
    generic: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, or a parameter (space ``param``).

    Attributes
    ----------
    space
        global, const, shared, local or param.
    type
        The element type (``b8``, ``f32``, …).
    size
        Bytes in all; 0 for ``.extern .shared name[]`` (dynamic shared memory).
    align
        Bytes.
    initial
        Initial bytes (global, const), or b"" for zero.
    relocations
        Addresses within the initial bytes.
    linkage
        "", "visible", "extern", "weak" or "common".
    managed
        Whether ``.attribute(.managed)`` stands there.
    """

    space: str
    name: str
    type: str
    size: int
    align: int
    initial: bytes = b""
    relocations: tuple[Relocation, ...] = ()
    linkage: str = ""
    managed: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Prototype:
    """``label: .callprototype (ret) _ (params)``: the shape of an indirect call."""

    name: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]


@dataclass(slots=True)
class Function:
    """An ``.entry`` (kernel) or a ``.func``.

    Attributes
    ----------
    registers
        Every register's type by name (with ``%r<10>`` written out).
    variables
        What the body declares: shared, local, param (call arguments), by name.
    body
        None for a declaration without body.
    tables
        ``.branchtargets`` (label → labels) and ``.calltargets`` (label → functions).
    directives
        ``maxntid``, ``reqntid``, ``minnctapersm``, ``maxnreg``, ``reqnctapercluster``, … → numbers.
    """

    name: str
    kernel: bool
    parameters: tuple[Variable, ...] = ()
    returns: tuple[Variable, ...] = ()
    registers: dict[str, str] = field(default_factory=dict[str, str])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    body: list[Statement] | None = None
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    prototypes: dict[str, Prototype] = field(default_factory=dict[str, Prototype])
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    linkage: str = ""
    noreturn: bool = False
    line: int = 0


@dataclass(slots=True)
class Module:
    """One PTX text.

    Attributes
    ----------
    version
        ``.version``: (9, 0).
    target
        The architecture of ``.target``: ``sm_90a``.
    address_size
        64.
    """

    version: tuple[int, int]
    target: str
    address_size: int
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
