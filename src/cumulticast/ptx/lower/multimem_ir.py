"""IR of multimem for a warp that moves one contiguous stretch: a loop over the replicas, in registers.

As in access_ir, a module holds each function once and it is inlined; what is not one stretch goes to multimem.c.
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulticast.ptx.lower import access_ir
from cumulticast.ptx.lower.access import Access
from cumulticast.ptx.lower.elements import Element, Operation
from cumulticast.ptx.lower.emitter import LANES, NAN_BITS

DECLARATIONS = ("ptr @ptx_even_segment(ptr, i64, i32)", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
#: Where struct ptx_segment (multicast.h) has its fields; and struct ptx_multicast its guess.
BEGIN, END, BASE, STRIDE, BASES, REPLICAS, USABLE, SEGMENT_BYTES = 0, 8, 16, 24, 32, 40, 44, 48
COUNT, LAST = 8, 32
#: A warp's own work leaves the processor no room to look ahead at the next one's, as it does in a plain loop. Fetching
#: three warps ahead into the L2 cache gave 15 % over 8 replicas of 64 MiB; into the L1 cache it cost 10 %.
AHEAD, LINE = 3, 64

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
        return f"{self.name}{self.access.by}"

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


def _field(name: str, at: int, kind: str, base: str = "segment") -> list[str]:
    return [f"  %{name}.at = getelementptr i8, ptr %{base}, i64 {at}", f"  %{name} = load {kind}, ptr %{name}.at"]


def _find(access: Access) -> list[str]:
    """Write the way to block ``fast`` with the place of the first replica, or to ``slow``.

    The segment that was used last is asked first, here; a search is the runtime's.
    """
    return [
        *access_ir.contiguous(access),
        f"  %low = and i64 %first, {access.bytes - 1}",
        "  %aligned = icmp eq i64 %low, 0",
        "  %stretch.ok = and i1 %line, %aligned",
        "  br i1 %stretch.ok, label %table, label %slow",
        "table:",
        *access_ir.note(),
        access_ir.field("launch", "%launch"),
        access_ir.field("multicast", "%table.all", base="%launch", launch=True),
        "  %no.table = icmp eq ptr %table.all, null",
        "  br i1 %no.table, label %slow, label %count",
        "count:",
        *_field("segment.count", COUNT, "i64", "table.all"),
        *_field("last", LAST, "i64", "table.all"),
        "  %in.table = icmp ult i64 %last, %segment.count",
        "  br i1 %in.table, label %guess, label %look",
        "guess:",
        *_field("segments", 0, "ptr", "table.all"),
        f"  %guessed = getelementptr [{SEGMENT_BYTES} x i8], ptr %segments, i64 %last",
        *_field("from", BEGIN, "i64", "guessed"),
        *_field("to", END, "i64", "guessed"),
        *_field("bases", BASES, "ptr", "guessed"),
        *_field("usable", USABLE, "i32", "guessed"),
        f"  %end = add i64 %first, {access.span}",
        "  %behind = icmp uge i64 %first, %from",
        "  %before.end = icmp ule i64 %end, %to",
        "  %is.even = icmp eq ptr %bases, null",
        "  %is.usable = icmp ne i32 %usable, 0",
        "  %right1 = and i1 %behind, %before.end",
        "  %right2 = and i1 %is.even, %is.usable",
        "  %right = and i1 %right1, %right2",
        "  br i1 %right, label %fast, label %look",
        "look:",
        f"  %looked = call ptr @ptx_even_segment(ptr %warp, i64 %first, i32 {access.span}) cold",
        "  %none = icmp eq ptr %looked, null",
        "  br i1 %none, label %slow, label %fast",
        "fast:",
        "  %segment = phi ptr [%guessed, %guess], [%looked, %look]",
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
        *_ahead(access, "%place0"),
        "  %single = icmp eq i32 %replicas, 1",
        "  br i1 %single, label %done, label %loop",
        "loop:",
        "  %i = phi i32 [1, %fast], [%i1, %loop]",
        "  %before = phi ptr [%place0, %fast], [%place, %loop]",
        f"  %total = phi {wide} [%value0, %fast], [%next, %loop]",
        "  %place = getelementptr i8, ptr %before, i64 %stride",
        f"  %value = load {wide}, ptr %place, {align}",
        *_ahead(access, "%place"),
        *reduction.combine("%total", "%value"),
        "  %i1 = add i32 %i, 1",
        "  %more = icmp ult i32 %i1, %replicas",
        "  br i1 %more, label %loop, label %done",
        "done:",
        f"  %last.total = phi {wide} [%value0, %fast], [%next, %loop]",
        *reduction.finish("%last.total"),
        f"  ret {wide} %result",
        "slow:",
        f"  %rest = call {wide} @{reduction.way}.slow({access.parameters})",
        f"  ret {wide} %rest",
        "}",
    ]
    slow = [
        f"define internal {wide} @{reduction.way}.slow({access.parameters}) noinline cold {{",
        *_rooms(access),
        f"  call void @ptx_multimem_load(ptr %warp, i32 %number, i32 %active, i32 {access.word}, "
        f"i32 {reduction.code}, ptr %addresses, ptr %data)",
        f"  %r = load {wide}, ptr %data, align 64",
        f"  ret {wide} %r",
        "}",
    ]
    return {reduction.way: "\n".join(fast), f"{reduction.way}.slow": "\n".join(slow)}


def _ahead(access: Access, place: str) -> list[str]:
    """Fetch what the warps that come next are going to read; an address that is not mapped is no fault here."""
    start = AHEAD * access.span
    lines: list[str] = []
    for at in range(start, start + access.span, LINE):
        there = f"{place}.{at}"
        lines.append(f"  {there} = getelementptr i8, ptr {place}, i64 {at}")
        lines.append(f"  call void @llvm.prefetch.p0(ptr {there}, i32 0, i32 2, i32 1)")
    return lines


def _rooms(access: Access) -> list[str]:
    return [
        *access_ir.every_address(access),
        f"  %data = alloca {access.wide}, align 64",
        f"  %addresses = alloca <{LANES} x i64>, align 64",
        f"  store <{LANES} x i64> %a, ptr %addresses, align 64",
    ]


def store_way(access: Access) -> str:
    """Name the function that writes."""
    return f"multimem.st.{access.element}x{access.count}{access.by}"


def store_functions(access: Access) -> dict[str, str]:
    """Write the function that writes the same into every replica, and the one for lanes that are no stretch."""
    wide = access.wide
    other = f"{store_way(access)}.slow"
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
        f"  call void @{other}({access.parameters}, {wide} %value)",
        "  ret void",
        "}",
    ]
    slow = [
        f"define internal void @{other}({access.parameters}, {wide} %value) noinline cold {{",
        *_rooms(access),
        f"  store {wide} %value, ptr %data, align 64",
        f"  call void @ptx_multimem_store(ptr %warp, i32 %number, i32 %active, i32 {access.word}, "
        "ptr %addresses, ptr %data)",
        "  ret void",
        "}",
    ]
    return {store_way(access): "\n".join(fast), other: "\n".join(slow)}
