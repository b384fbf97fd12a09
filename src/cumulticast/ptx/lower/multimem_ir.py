"""IR of multimem for a warp that moves one contiguous stretch: a loop over the replicas, in registers.

As in access_ir, a module holds each function once and it is inlined; what is not one stretch goes to multimem.c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cumulticast.ptx.lower import access_ir
from cumulticast.ptx.lower.access_ir import Access
from cumulticast.ptx.lower.elements import Element, Operation
from cumulticast.ptx.lower.emitter import LANES, NAN_BITS

SEGMENT = "declare ptr @ptx_even_segment(ptr, i64, i32)"
#: Where struct ptx_segment (multicast.h) has its fields.
BEGIN, BASE, STRIDE, REPLICAS = 0, 16, 24, 40

_FLOATS = {Element.F32: "float", Element.F64: "double"}
_BITWISE = {Operation.ADD: "add", Operation.AND: "and", Operation.OR: "or", Operation.XOR: "xor"}


def combines(element: Element, operation: Operation) -> bool:
    """Tell whether IR does the arithmetic; the 16- and 8-bit floats are multimem.c's."""
    return (element in _FLOATS and operation is Operation.ADD) or element in range(Element.U32, Element.S64 + 1)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A multimem.ld_reduce that IR carries out.

    Attributes
    ----------
    access
        What is read of every replica.
    element, operation
        How it is combined.
    code
        The same for multimem.c.
    """

    access: Access
    element: Element
    operation: Operation
    code: int

    @property
    def name(self) -> str:
        """Name of the IR function."""
        return f"multimem.{self.operation.name.lower()}.{self.element.name.lower()}.x{self.access.count}"

    @property
    def way(self) -> str:
        """Name of the function with what the caller has found out."""
        return f"{self.name}.indexed" if self.access.indexed else self.name

    def combine(self, total: str, value: str) -> list[str]:
        """Write %next, the combination of two values."""
        wide, kind = self.access.wide, _FLOATS.get(self.element)
        if kind:
            vector = _vector(self.access, kind)
            return [
                f"  %total.f = bitcast {wide} {total} to {vector}",
                f"  %value.f = bitcast {wide} {value} to {vector}",
                f"  %sum.f = fadd {vector} %total.f, %value.f",
                f"  %next = bitcast {vector} %sum.f to {wide}",
            ]
        if self.operation in _BITWISE:
            return [f"  %next = {_BITWISE[self.operation]} {wide} {total}, {value}"]
        order = f"{'s' if self.element in (Element.S32, Element.S64) else 'u'}{_ORDERS[self.operation]}"
        return [
            f"  %better = icmp {order} {wide} {value}, {total}",
            f"  %next = select <{self.access.count * LANES} x i1> %better, {wide} {value}, {wide} {total}",
        ]

    def finish(self, total: str) -> list[str]:
        """Write %result: an f32 that is not a number gets its canonical bits."""
        wide = self.access.wide
        if self.element is not Element.F32:
            return [f"  %result = bitcast {wide} {total} to {wide}"]
        vector = _vector(self.access, "float")
        return [
            f"  %last.f = bitcast {wide} {total} to {vector}",
            f"  %nan = fcmp uno {vector} %last.f, %last.f",
            f"  %result = select <{self.access.count * LANES} x i1> %nan, {wide} splat (i32 {NAN_BITS['float']}),"
            f" {wide} {total}",
        ]


_ORDERS = {Operation.MIN: "lt", Operation.MAX: "gt"}


def _vector(access: Access, kind: str) -> str:
    return f"<{access.count * LANES} x {kind}>"


def _field(name: str, at: int, kind: str) -> list[str]:
    return [f"  %{name}.at = getelementptr i8, ptr %segment, i64 {at}", f"  %{name} = load {kind}, ptr %{name}.at"]


def _find(access: Access) -> list[str]:
    """Write the way to block ``fast`` with the place of the first replica, or to ``slow``."""
    return [
        *access_ir.contiguous(access),
        f"  %low = and i64 %first, {access.bytes - 1}",
        "  %aligned = icmp eq i64 %low, 0",
        "  %stretch.ok = and i1 %line, %aligned",
        "  br i1 %stretch.ok, label %look, label %slow",
        "look:",
        *access_ir.note(),
        f"  %segment = call ptr @ptx_even_segment(ptr %warp, i64 %first, i32 {access.span})",
        "  %none = icmp eq ptr %segment, null",
        "  br i1 %none, label %slow, label %fast",
        "fast:",
        *_field("begin", BEGIN, "i64"),
        *_field("base", BASE, "i64"),
        *_field("stride", STRIDE, "i64"),
        *_field("replicas", REPLICAS, "i32"),
        "  %offset = sub i64 %first, %begin",
        "  %start = add i64 %base, %offset",
        "  %place0 = inttoptr i64 %start to ptr",
    ]


def load_functions(reduction: Reduction) -> dict[str, str]:
    """Write the function that reads and combines, and the one for lanes that are no stretch."""
    access = reduction.access
    wide, align = access.wide, f"align {access.size}"
    fast = [
        f"define internal {wide} @{reduction.way}({access.parameters}) alwaysinline {{",
        *_find(access),
        f"  %value0 = load {wide}, ptr %place0, {align}",
        "  %single = icmp eq i32 %replicas, 1",
        "  br i1 %single, label %done, label %loop",
        "loop:",
        "  %i = phi i32 [1, %fast], [%i1, %loop]",
        "  %before = phi ptr [%place0, %fast], [%place, %loop]",
        f"  %total = phi {wide} [%value0, %fast], [%next, %loop]",
        "  %place = getelementptr i8, ptr %before, i64 %stride",
        f"  %value = load {wide}, ptr %place, {align}",
        *reduction.combine("%total", "%value"),
        "  %i1 = add i32 %i, 1",
        "  %more = icmp ult i32 %i1, %replicas",
        "  br i1 %more, label %loop, label %done",
        "done:",
        f"  %last.total = phi {wide} [%value0, %fast], [%next, %loop]",
        *reduction.finish("%last.total"),
        f"  ret {wide} %result",
        "slow:",
        f"  %rest = call {wide} @{reduction.name}.slow({_plain(access)})",
        f"  ret {wide} %rest",
        "}",
    ]
    slow = [
        f"define internal {wide} @{reduction.name}.slow({_plain(access)}) noinline cold {{",
        *_rooms(access),
        f"  call void @ptx_multimem_load(ptr %warp, i32 %number, i32 %active, i32 {access.word}, "
        f"i32 {reduction.code}, ptr %addresses, ptr %data)",
        f"  %r = load {wide}, ptr %data, align 64",
        f"  ret {wide} %r",
        "}",
    ]
    return {reduction.way: "\n".join(fast), f"{reduction.name}.slow": "\n".join(slow)}


def _plain(access: Access) -> str:
    return replace(access, indexed=False).parameters


def _rooms(access: Access) -> list[str]:
    return [
        f"  %data = alloca {access.wide}, align 64",
        f"  %addresses = alloca <{LANES} x i64>, align 64",
        f"  store <{LANES} x i64> %a, ptr %addresses, align 64",
    ]


def store_way(access: Access) -> str:
    """Name the function that writes."""
    return f"multimem.st.{access.element}x{access.count}{'.indexed' if access.indexed else ''}"


def store_functions(access: Access) -> dict[str, str]:
    """Write the function that writes the same into every replica, and the one for lanes that are no stretch."""
    wide = access.wide
    other = f"multimem.st.{access.element}x{access.count}.slow"
    fast = [
        f"define internal void @{store_way(access)}({access.parameters}, {wide} %value) alwaysinline {{",
        *_find(access),
        "  br label %loop",
        "loop:",
        "  %i = phi i32 [0, %fast], [%i1, %loop]",
        "  %place = phi ptr [%place0, %fast], [%next, %loop]",
        f"  store {wide} %value, ptr %place, align {access.size}",
        "  %next = getelementptr i8, ptr %place, i64 %stride",
        "  %i1 = add i32 %i, 1",
        "  %more = icmp ult i32 %i1, %replicas",
        "  br i1 %more, label %loop, label %done",
        "done:",
        "  ret void",
        "slow:",
        f"  call void @{other}({_plain(access)}, {wide} %value)",
        "  ret void",
        "}",
    ]
    slow = [
        f"define internal void @{other}({_plain(access)}, {wide} %value) noinline cold {{",
        *_rooms(access),
        f"  store {wide} %value, ptr %data, align 64",
        f"  call void @ptx_multimem_store(ptr %warp, i32 %number, i32 %active, i32 {access.word}, "
        "ptr %addresses, ptr %data)",
        "  ret void",
        "}",
    ]
    return {store_way(access): "\n".join(fast), other: "\n".join(slow)}
