"""IR of memory accesses: small functions that a module holds once each and that are inlined at every access.

A warp that reads or writes one contiguous, aligned stretch of memory it may touch does so with one plain vector load or
store; so does an access with one address for all lanes, with one scalar. Whether that is so is asked at run time in a
dozen instructions. Anything else (lanes that are off, scattered addresses, every fault) goes to memory.c, out of line:
so faults have one home, and an access costs the compiler little.

A vector access is of ``lanes * count`` elements in the order of memory: lane 0's ``count`` first.
"""

from __future__ import annotations

from collections.abc import Iterable

from cumulticast.ptx import layout
from cumulticast.ptx.lower.access import Access, Space
from cumulticast.ptx.lower.emitter import LANES

READABLE = layout.RIGHT_READ | layout.RIGHT_MIXED
WRITABLE = layout.RIGHT_WRITE | layout.RIGHT_MIXED


def field(name: str, value: str, *, base: str = "%warp", launch: bool = False) -> str:
    """Write IR that reads a field of the warp (or of the launch at ``base``) into ``value``."""
    fields, at = (layout.LAUNCH, layout.LAUNCH_AT) if launch else (layout.WARP, layout.WARP_AT)
    kind = {"ptr": "ptr", "u32": "i32", "u64": "i64"}[next(kind for field, kind, _ in fields if field == name)]
    return f"  {value}.at = getelementptr i8, ptr {base}, i64 {at[name]}\n  {value} = load {kind}, ptr {value}.at"


def function(access: Access) -> str:
    """Write the inlined function of an access: fast where that is right, else its ``.slow``."""
    value, result = ("", access.wide) if not access.write else (f", {access.wide} %value", "void")
    call = f"call {result} @{access.way}.slow({access.parameters}{value})"
    return "\n".join(
        [
            f"define internal {result} @{access.way}({access.parameters}{value}) alwaysinline {{",
            *checks(access),
            "  br i1 %ok, label %fast, label %slow",
            "fast:",
            *note(),
            *plain(access),
            "slow:",
            f"  {call}\n  ret void" if access.write else f"  %rest = {call}\n  ret {result} %rest",
            "}",
        ]
    )


def every_address(access: Access) -> list[str]:
    """Write the addresses of all lanes (%a), which the fast way did without."""
    index = access.index
    if index is None:
        return []
    narrow, wide = f"<{LANES} x {index.kind}>", f"<{LANES} x i64>"
    widen = "bitcast" if index.kind == "i64" else "sext" if index.signed else "zext"
    spread = f"poison, <{LANES} x i32> zeroinitializer"
    return [
        f"  %wide = {widen} {narrow} %index to {wide}",
        f"  %wide0 = shufflevector {wide} %wide, {wide} {spread}",
        f"  %ahead = sub {wide} %wide, %wide0",
        f"  %bytes = mul {wide} %ahead, splat (i64 {index.scale})",
        f"  %first1 = insertelement {wide} poison, i64 %first, i64 0",
        f"  %firsts = shufflevector {wide} %first1, {wide} {spread}",
        f"  %a = add {wide} %firsts, %bytes",
    ]


def note() -> list[str]:
    """Write down which instruction touches memory: a fault that the host's MMU raises is put down to it."""
    at = layout.WARP_AT["instruction"]
    return [f"  %instruction = getelementptr i8, ptr %warp, i64 {at}", "  store volatile i32 %number, ptr %instruction"]


def plain(access: Access) -> list[str]:
    """Write the load or store itself."""
    order, how = "", "volatile " if access.strong else ""
    if access.strong and not access.vector and access.count == 1:
        how, order = "atomic volatile ", " monotonic"
    if access.write:
        return [f"  store {how}{access.wide} %value, ptr %place{order}, align {access.bytes}", "  ret void"]
    return [
        f"  %plain = load {how}{access.wide}, ptr %place{order}, align {access.bytes}",
        f"  ret {access.wide} %plain",
    ]


def checks(access: Access) -> list[str]:
    """Write the question whether the fast way is right (%ok), and where it leads (%place)."""
    if access.space in (Space.LOCAL, Space.PARAM) and access.vector:
        return ["  %ok = icmp eq i32 0, 1", "  %place = inttoptr i64 0 to ptr"]  # every lane has its own stretch
    lines = contiguous(access) if access.vector else ["  %line = icmp ne i32 %active, 0", *first(access, "%a")]
    lines += window(access) if access.space is Space.SHARED else rights(access)
    return [
        *lines,
        f"  %low = and i64 %first, {access.bytes - 1}",
        "  %aligned = icmp eq i64 %low, 0",
        "  %ok1 = and i1 %line, %aligned",
        "  %ok = and i1 %ok1, %allowed",
    ]


def first(access: Access, value: str) -> list[str]:
    """Write %first, the lowest address as 64 bits."""
    kind = access.offset
    return [f"  %first = {'zext' if kind == 'i32' else 'bitcast'} {kind} {value} to i64"]


def contiguous(access: Access) -> list[str]:
    """Write the question (%line) whether all lanes are on and their addresses one stretch, from %first on."""
    if access.index is not None:
        return ["  %full = icmp eq i32 %active, -1", "  %line = and i1 %full, %even"]
    return [
        *even_steps(access.offset, access.bytes),
        "  %full = icmp eq i32 %active, -1",
        "  %line = and i1 %full, %even",
        *first(access, "%a0"),
    ]


def even_steps(kind: str, step: int) -> list[str]:
    """Write the question (%even) whether the lanes of %a are ``step`` apart; %a0 is the first."""
    vector, eight = f"<{LANES} x {kind}>", f"<{LANES // 4} x {kind}>"
    quarters = [mask(range(i * 8, i * 8 + 8)) for i in range(4)]
    return [
        f"  %a0 = extractelement {vector} %a, i64 0",
        f"  %one = insertelement {vector} poison, {kind} %a0, i64 0",
        f"  %all = shufflevector {vector} %one, {vector} poison, <{LANES} x i32> zeroinitializer",
        f"  %stretch = add {vector} %all, {constant(kind, range(0, LANES * step, step))}",
        f"  %differ = xor {vector} %a, %stretch",
        *(f"  %q{i} = shufflevector {vector} %differ, {vector} poison, {quarters[i]}" for i in range(4)),
        f"  %q01 = or {eight} %q0, %q1",
        f"  %q23 = or {eight} %q2, %q3",
        f"  %q = or {eight} %q01, %q23",
        f"  %odd = icmp ne {eight} %q, zeroinitializer",
        "  %odd8 = bitcast <8 x i1> %odd to i8",
        "  %even = icmp eq i8 %odd8, 0",
    ]


def constant(kind: str, values: Iterable[int]) -> str:
    """Write a constant vector."""
    return f"<{', '.join(f'{kind} {value}' for value in values)}>"


def mask(places: Iterable[int]) -> str:
    """Write the mask of a shufflevector."""
    listed = list(places)
    return f"<{len(listed)} x i32> {constant('i32', listed)}"


def rights(access: Access) -> list[str]:
    """Write the question (%allowed) whether the device may touch a global stretch; one in two granules is left over."""
    right = WRITABLE if access.write else READABLE
    granule = (1 << layout.RIGHTS_SHIFT) - 1
    return [
        field("rights", "%rights"),
        f"  %within = and i64 %first, {granule}",
        f"  %inside = icmp ule i64 %within, {granule + 1 - access.span}",
        f"  %number.granule = lshr i64 %first, {layout.RIGHTS_SHIFT}",
        f"  %near = icmp ult i64 %number.granule, {layout.GRANULES}",
        "  %known = select i1 %near, i64 %number.granule, i64 0",  # granule 0 is nobody's
        "  %right.at = getelementptr i8, ptr %rights, i64 %known",
        "  %right = load i8, ptr %right.at",
        f"  %wanted = and i8 %right, {right}",
        "  %granted = icmp ne i8 %wanted, 0",
        "  %allowed = and i1 %inside, %granted",
        "  %place = inttoptr i64 %first to ptr",
    ]


def window(access: Access) -> list[str]:
    """Write the question (%allowed) whether a stretch lies within the block's shared memory."""
    return [
        field("launch", "%launch"),
        field("shared_window", "%size", base="%launch", launch=True),
        field("shared", "%shared"),
        "  %limit = zext i32 %size to i64",
        f"  %end = add i64 %first, {access.span}",
        "  %begins = icmp ule i64 %first, %limit",
        "  %ends = icmp ule i64 %end, %limit",
        "  %allowed = and i1 %begins, %ends",
        "  %place = getelementptr i8, ptr %shared, i64 %first",
    ]


def slow_function(access: Access) -> str:
    """Write what hands an access over to memory.c."""
    value, result = ("", access.wide) if not access.write else (f", {access.wide} %value", "void")
    lines = [
        f"define internal {result} @{access.way}.slow({access.parameters}{value}) noinline cold {{",
        *every_address(access),
        f"  %data = alloca {access.wide}, align 64",
        *([f"  store {access.wide} %value, ptr %data, align 64"] if access.write else []),
        *(_hand_over_warp(access) if access.vector else _hand_over_one(access)),
    ]
    lines += ["  ret void"] if access.write else [f"  %r = load {access.wide}, ptr %data", f"  ret {result} %r"]
    return "\n".join([*lines, "}"])


def _widen(access: Access) -> str:
    wide = f"<{LANES} x i64>" if access.vector else "i64"
    return f"  %b = {'zext' if access.offset == 'i32' else 'bitcast'} {access.address} %a to {wide}"


def _hand_over_warp(access: Access) -> list[str]:
    arguments = f"ptr %warp, i32 %number, i32 %active, i32 {access.word}, ptr %addresses, ptr %data"
    return [
        f"  %addresses = alloca <{LANES} x i64>, align 64",
        _widen(access),
        f"  store <{LANES} x i64> %b, ptr %addresses, align 64",
        f"  call void @{runtime(access)}({arguments})",
    ]


def _hand_over_one(access: Access) -> list[str]:
    arguments = f"ptr %warp, i32 %number, i32 %active, i32 {access.word}, i64 %b, ptr %data"
    return [_widen(access), f"  call void @{runtime(access)}({arguments})"]


def runtime(access: Access) -> str:
    """Name the function of memory.c."""
    return f"ptx_{'store' if access.write else 'load'}{'' if access.vector else '_one'}"


def declaration(access: Access) -> str:
    """Declare it."""
    return f"void @{runtime(access)}(ptr, i32, i32, i32, {'ptr' if access.vector else 'i64'}, ptr)"
