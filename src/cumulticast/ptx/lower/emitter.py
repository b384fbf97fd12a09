"""Writes LLVM IR for one PTX function: values, registers, and the two shapes an instruction can have.

A register holds bits: its kind is ``i1`` (predicate), ``i8`` to ``i128``. A register that has the same value in all
lanes of the warp is one scalar; any other is a vector of 32. While an instruction is lowered the emitter has a
*shape*: ``vector`` is True when the instruction is carried out for 32 lanes, False when once for all. Everything below
that takes a kind (``"i32"``, ``"float"``) gives it that shape, so that a lowering function is written once:

    @lowers("not")
    def lower_not(em: Emitter, ins: Instruction) -> None:
        kind = em.kind(ins.types[-1])
        em.set(ins.operands[0], kind, em.op("xor", kind, em.get(ins.operands[1], kind), em.const(kind, -1)))

Registers live in stack slots; LLVM makes values of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cumulticast.ptx import layout
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.lower.recent import Recent
from cumulticast.ptx.syntax import TYPE_BITS, Float, Instruction, Integer, Negated, Operand, Register, Sink, Symbol

LANES = layout.LANES
IR_TYPES = {"ptr": "ptr", "u64": "i64", "i64": "i64", "u32": "i32", "i32": "i32", "u8": "i8"}
#: The bits that an arithmetic result has which is not a number (CUDA C++ Programming Guide, "Floating-point standard").
NAN_BITS = {"float": 0x7FFFFFFF, "double": 0xFFF8000000000000}
BITS_OF = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "fp128": 128}


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a register lives.

    Attributes
    ----------
    kind
        i1 … i128.
    uniform
        Whether one scalar serves all lanes.
    lazy
        The float kind (``float``, ``double``) when all that is ever written to it are results of arithmetic of that
        kind: then a NaN in it gets its canonical bits only when somebody looks at the bits. "" otherwise.
    """

    kind: str
    uniform: bool = False
    lazy: str = ""


class Emitter:
    """Text of one function in the making."""

    def __init__(self, slots: Mapping[str, Slot]) -> None:
        self.slots = slots
        self.lines: list[str] = []
        self.entry: list[str] = []  # allocas
        self.declared: set[str] = set()
        self.defined: dict[str, str] = {}  # functions of the module by name, as IR
        self.recent = Recent()
        self.constants: dict[str, int] = {}  # registers that are written once, with a number
        self.vector = True
        self.line = 0
        self.guarded = False  # a guard that differs between lanes: all that is written keeps other lanes' values
        self.blend: frozenset[str] = frozenset()  # registers of which lanes outside of the mask keep their values
        self.mask: str | None = None  # <32 x i1> of the lanes that carry the instruction out; None: all 32
        self.active = "-1"  # the same as i32
        self.number = 0  # of the instruction: what a fault names
        self.warp = "%warp"  # struct ptx_warp *
        self._count = 0
        self._scratch: dict[str, str] = {}

    # ---- text

    def name(self) -> str:
        """Answer a fresh name of a value."""
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> str:
        """Write an instruction that has a value, and answer the value's name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")

    def declare(self, text: str) -> None:
        """Declare an external function (once)."""
        self.declared.add(f"declare {text}")

    def define(self, name: str, text: str) -> None:
        """Give the module a function of its own (once): ``text`` is its definition in IR."""
        self.defined.setdefault(name, text)

    def fail(self, reason: str) -> PtxError:
        """Make the error (218) of the instruction at hand."""
        return PtxError(reason, self.line)

    # ---- shape

    def t(self, kind: str) -> str:
        """Answer a kind in the shape of the instruction: ``<32 x i32>`` or ``i32``."""
        return f"<{LANES} x {kind}>" if self.vector else kind

    @staticmethod
    def kind(ptx_type: str) -> str:
        """Answer the kind that holds the bits of a PTX type."""
        return f"i{TYPE_BITS[ptx_type]}"

    def const(self, kind: str, value: int) -> str:
        """Write an integer constant (any value; taken modulo the width)."""
        bits = int(kind[1:])
        value &= (1 << bits) - 1
        if bits > 1 and value >> (bits - 1):
            value -= 1 << bits
        text = ("true" if value else "false") if bits == 1 else str(value)
        return f"splat ({kind} {text})" if self.vector else text

    def float_const(self, kind: str, bits: int) -> str:
        """Write a floating constant (``half``, ``float``, ``double``) given by its bits."""
        whole = f"i{BITS_OF[kind]}"
        return self.bitcast(whole, kind, self.const(whole, bits))

    def splat(self, kind: str, scalar: str) -> str:
        """Spread a scalar value over all lanes."""
        one = self.emit(f"insertelement <{LANES} x {kind}> poison, {kind} {scalar}, i64 0")
        return self.emit(
            f"shufflevector <{LANES} x {kind}> {one}, <{LANES} x {kind}> poison, <{LANES} x i32> zeroinitializer"
        )

    def shaped(self, kind: str, scalar: str) -> str:
        """Give a scalar value the shape of the instruction."""
        return self.splat(kind, scalar) if self.vector else scalar

    # ---- operations

    def op(self, name: str, kind: str, *values: str) -> str:
        """Write ``name <type> a, b``: add, fmul, shl, xor, …"""
        return self.emit(f"{name} {self.t(kind)} {', '.join(values)}")

    def compare(self, name: str, predicate: str, kind: str, a: str, b: str) -> str:
        """Write an icmp or fcmp; the value is of kind i1."""
        return self.emit(f"{name} {predicate} {self.t(kind)} {a}, {b}")

    def select(self, condition: str, kind: str, a: str, b: str) -> str:
        """Write a select by a condition of kind i1."""
        return self.emit(f"select {self.t('i1')} {condition}, {self.t(kind)} {a}, {self.t(kind)} {b}")

    def cast(self, name: str, source: str, target: str, value: str) -> str:
        """Write a conversion: zext, sext, trunc, fpext, fptrunc, sitofp, …"""
        return self.emit(f"{name} {self.t(source)} {value} to {self.t(target)}")

    def bitcast(self, source: str, target: str, value: str) -> str:
        """Look at bits as another kind of the same width."""
        return value if source == target else self.cast("bitcast", source, target, value)

    def resize(self, source: str, target: str, value: str, *, signed: bool = False) -> str:
        """Widen or narrow an integer."""
        have, want = int(source[1:]), int(target[1:])
        if have == want:
            return value
        return self.cast(("sext" if signed else "zext") if want > have else "trunc", source, target, value)

    def intrinsic(self, name: str, kind: str, *values: str, extra: str = "", result: str = "") -> str:
        """Call an LLVM intrinsic overloaded on ``kind``: ``intrinsic("llvm.fma", "float", a, b, c)``.

        ``extra`` are further arguments as text (``"i1 false"``); ``result`` the kind of the value if it differs.
        """
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(kind, kind)
        full = f"{name}.v{LANES}{suffix}" if self.vector else f"{name}.{suffix}"
        kinds = [self.t(kind)] * len(values)
        types = kinds + ([part.split()[0] for part in extra.split(", ")] if extra else [])
        value = self.t(result or kind)
        self.declare(f"{value} @{full}({', '.join(types)})")
        arguments = [f"{t} {v}" for t, v in zip(kinds, values, strict=True)] + ([extra] if extra else [])
        return self.emit(f"call {value} @{full}({', '.join(arguments)})")

    def runtime(self, name: str, results: list[str], arguments: list[tuple[str, str]]) -> list[str]:
        """Call a function of the C runtime for each lane: ``void name(int n, out…, in…)``, arrays of ``n`` elements.

        Parameters
        ----------
        name
            The C function.
        results
            Kinds of its outputs.
        arguments
            (kind, value) of its inputs. Kind i1 is not passed: zext to i8 first.
        """
        outs = [self.room(kind, f"out{i}") for i, kind in enumerate(results)]
        ins = [self.room(kind, f"in{i}") for i, (kind, _) in enumerate(arguments)]
        for room, (kind, value) in zip(ins, arguments, strict=True):
            self.do(f"store {self.t(kind)} {value}, ptr {room}")
        pointers = [f"ptr {room}" for room in (*outs, *ins)]
        self.declare(f"void @{name}({', '.join(['i32', *['ptr'] * len(pointers)])})")
        self.do(f"call void @{name}({', '.join([f'i32 {LANES if self.vector else 1}', *pointers])})")
        return [self.emit(f"load {self.t(kind)}, ptr {room}") for room, kind in zip(outs, results, strict=True)]

    def room(self, kind: str, use: str) -> str:
        """Answer a stack slot for an argument of a runtime call; slots are used again."""
        key = f"{use}.{kind}.{self.vector}"
        if key not in self._scratch:
            self._scratch[key] = f"%s{len(self._scratch)}"
            self.entry.append(f"  {self._scratch[key]} = alloca {self.t(kind)}, align 64")
        return self._scratch[key]

    # ---- the warp

    def field(self, name: str, index: int = 0) -> str:
        """Read a field of the warp (layout.WARP), a scalar."""
        return self._field(self.warp, layout.WARP, layout.WARP_AT, name, index)

    def launch_field(self, name: str, index: int = 0) -> str:
        """Read a field of the launch (layout.LAUNCH), a scalar."""
        return self._field(self.field("launch"), layout.LAUNCH, layout.LAUNCH_AT, name, index)

    def _field(self, base: str, fields: tuple[layout.Field, ...], at: dict[str, int], name: str, index: int) -> str:
        kind = next(kind for field, kind, _ in fields if field == name)
        place = self.emit(f"getelementptr i8, ptr {base}, i64 {at[name] + index * layout.SIZES[kind]}")
        return self.emit(f"load {IR_TYPES[kind]}, ptr {place}")

    # ---- operands

    def get(self, operand: Operand, kind: str) -> str:
        """Answer an operand's value as ``kind``: an integer kind, i1, ``float``, ``double`` or ``half``.

        A register wider than ``kind`` gives its low bits. A register that holds results of arithmetic gives canonical
        NaNs when it is read as anything but that arithmetic's own kind.
        """
        match operand:
            case Register(name):
                return self._get_register(name, kind)
            case Negated(register):
                return self.op("xor", "i1", self.get(register, "i1"), self.const("i1", 1))
            case Integer(value):
                return self._get_integer(value, kind)
            case Float():
                return self._get_float(operand, kind)
            case _:
                raise self.fail(f"operand {operand} cannot be read as a value here")

    def _get_register(self, name: str, kind: str) -> str:
        slot = self.slots[name]
        value = self.load(name)
        if slot.lazy and slot.lazy != kind:
            value = self.canonical(slot.lazy, self.bitcast(slot.kind, slot.lazy, value))
            value = self.bitcast(slot.lazy, slot.kind, value)
        if kind in BITS_OF:
            whole = f"i{BITS_OF[kind]}"
            return self.bitcast(whole, kind, self.resize(slot.kind, whole, value))
        return self.resize(slot.kind, kind, value)

    @staticmethod
    def register(name: str) -> str:
        """Answer the name of a register's stack slot, unlike any label's and any name of ours."""
        return f'%"reg {name}"'

    def load(self, name: str) -> str:
        """Read a register as it is, in the shape of the instruction."""
        slot = self.slots[name]
        if slot.uniform:
            return self.shaped(slot.kind, self.emit(f"load {slot.kind}, ptr {self.register(name)}"))
        if not self.vector:
            raise AssertionError(f"{name} differs between lanes and is read by a uniform instruction")
        return self.emit(f"load <{LANES} x {slot.kind}>, ptr {self.register(name)}, align {alignment(slot)}")

    def _get_integer(self, value: int, kind: str) -> str:
        if kind in BITS_OF:
            return self.float_const(kind, value)
        return self.const(kind, value)

    def _get_float(self, operand: Float, kind: str) -> str:
        """Write a floating constant; its text decides its width, the instruction's type the width it is used with."""
        import struct

        double = (
            struct.unpack("<f", struct.pack("<I", operand.bits))[0]
            if operand.single
            else struct.unpack("<d", struct.pack("<Q", operand.bits))[0]
        )
        width = BITS_OF.get(kind) or int(kind[1:])
        if width == 32:
            bits = operand.bits if operand.single else struct.unpack("<I", struct.pack("<f", double))[0]
        elif width == 64:
            bits = operand.bits if not operand.single else struct.unpack("<Q", struct.pack("<d", double))[0]
        else:
            raise self.fail(f"a floating constant cannot be used with {width} bits")
        return self.float_const(kind, bits) if kind in BITS_OF else self.const(kind, bits)

    def constant(self, operand: Operand) -> int | None:
        """Answer the number that an operand always is, written there or in the one ``mov`` to its register."""
        if isinstance(operand, Register):
            return self.constants.get(operand.name)
        return operand.value if isinstance(operand, Integer) else None

    def is_constant(self, operand: Operand) -> bool:
        """Tell whether an operand is written as a number."""
        return isinstance(operand, Integer | Float)

    def symbol(self, name: str) -> tuple[str, int | str]:
        """Answer where a variable lies: its space, and its offset there (a global one: its address, a scalar i64)."""
        raise self.fail(f"{name} is not known here")

    def address_of(self, symbol: Symbol) -> str:
        """Answer the address that ``mov`` gives of a symbol, of kind i64."""
        raise self.fail(f"{symbol.name} is not known here")

    def special(self, name: str) -> tuple[str, str]:
        """Answer (kind, value) of a special register."""
        raise self.fail(f"{name} is not known here")

    # ---- results

    def set(self, operand: Operand, kind: str, value: str, *, signed: bool = False) -> None:
        """Write a destination register; wider than ``kind`` it is extended (by sign where ``signed``)."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise self.fail(f"destination {operand} is no register")
        slot = self.slots[operand.name]
        if kind in BITS_OF:
            value, kind = self.bitcast(kind, f"i{BITS_OF[kind]}", value), f"i{BITS_OF[kind]}"
        self._store(operand.name, slot, self.resize(kind, slot.kind, value, signed=signed))

    def set_float(self, operand: Operand, kind: str, value: str) -> None:
        """Write the result of floating-point arithmetic (``float``, ``double``): NaN becomes canonical."""
        lazy = isinstance(operand, Register) and self.slots[operand.name].lazy == kind
        self.set(operand, kind, value if lazy else self.canonical(kind, value))

    def canonical(self, kind: str, value: str) -> str:
        """Replace every NaN by the one that the hardware gives."""
        nan = self.compare("fcmp", "uno", kind, value, value)
        return self.select(nan, kind, self.float_const(kind, NAN_BITS[kind]), value)

    def _store(self, name: str, slot: Slot, value: str) -> None:
        if slot.uniform:
            if self.vector:
                raise AssertionError(f"{name} is uniform and is written lane by lane")
            self.do(f"store {slot.kind} {value}, ptr {self.register(name)}")
            return
        if not self.vector:  # the same value for all lanes that carry the instruction out
            self.vector = True
            value = self.splat(slot.kind, value)
            self._store(name, slot, value)
            self.vector = False
            return
        if self.mask is not None and (self.guarded or name in self.blend):
            old = self.emit(f"load <{LANES} x {slot.kind}>, ptr {self.register(name)}, align {alignment(slot)}")
            value = self.select(self.mask, slot.kind, value, old)
        self.do(f"store <{LANES} x {slot.kind}> {value}, ptr {self.register(name)}, align {alignment(slot)}")


def alignment(slot: Slot) -> int:
    """Answer how a register of all lanes is aligned at least, in bytes: as in a frame."""
    return min(layout.FRAME_ALIGN, max(1, int(slot.kind[1:]) * LANES // 8))


Lowering = Callable[[Emitter, Instruction], None]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*opcodes: str) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for opcodes; a dotted one (``cp.async``) goes before its first word."""

    def register(function: Lowering) -> Lowering:
        for opcode in opcodes:
            if opcode in LOWERINGS:
                raise TypeError(f"{opcode} is lowered twice")
            LOWERINGS[opcode] = function
        return function

    return register


def lowering(ins: Instruction) -> Lowering | None:
    """Find who lowers an instruction."""
    words = ins.name.split(".")
    for n in range(min(len(words), 3), 0, -1):
        found = LOWERINGS.get(".".join(words[:n]))
        if found is not None:
            return found
    return None
