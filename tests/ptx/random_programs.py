"""Random structured programs of one block, as PTX and as what they mean, thread by thread.

A program is a list of statements, tuples whose first element says what they are:

    op d name a b        r[d] = a <name> b; ``a`` and ``b`` are ("r", i), ("u", i) or ("c", number)
    uop d name a b       the same for u[d], which is the same in all threads
    guarded c d name a b @p, without a branch
    if c then else
    switch a bodies      brx.idx by a & 3
    loop bound flavour body     the bound is ("c", n) or ("r", i) & 3; see FLAVOURS
    break c / continue c / return c
    vote d kind c        vote.sync, of the lanes that are known to be here
    shfl d mode a b clamp
    match d a / redux d name a
    sync                 bar.warp.sync
    parted c             bar.warp.sync in both arms of a branch
    exchange d a step    a value goes to another thread through shared memory, between barriers
    barred d kind c      barrier.red
    arms c               barrier.sync in both arms of a branch
    add cell a           red.global.add: the sum of a cell does not depend on the order
    call d f a           a device function; f calls itself with one less to go
    store space i a      a word of the thread's own in local, shared or global memory, by i & 7
    load d space i       back again; load2 reads that word's pair into d and the next register

A condition is (comparison, a, b).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

REGISTERS, UNIFORMS, CELLS, FUNCTIONS, DEPTH, WORDS, MOST_THREADS = 5, 2, 4, 2, 3, 8, 96
SPACES = ("local", "shared", "global")
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "xor.b32": lambda a, b: a ^ b,
    "and.b32": lambda a, b: a & b,
    "min.u32": min,
    "max.s32": lambda a, b: max(a, b, key=lambda x: x - (x >> 31 << 32)),
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "lt.u32": lambda a, b: a < b,
    "eq.u32": lambda a, b: a == b,
    "ge.s32": lambda a, b: a - (a >> 31 << 32) >= b - (b >> 31 << 32),
}
REDUX = {"add.u32": sum, "min.u32": min, "max.u32": max}
#: plain: a budget of rounds; memory: hands over every time; watching: as if it waited for others.
FLAVOURS = ("plain", "memory", "watching")
WORD = 0xFFFFFFFF
Statement = tuple[Any, ...]


# ---- generation


@dataclass(frozen=True, slots=True)
class Region:
    """What may stand in a place: operations of the lanes known to be here, of the whole block, break and continue."""

    warp: bool = True
    block: bool = True
    loop: bool = False
    calls: bool = True
    function: bool = False
    whole: bool = True  # no lane has returned: their registers can be read
    depth: int = 0


@st.composite
def operands(draw: st.DrawFn, uniform: bool = False) -> tuple[str, int]:
    kind = draw(st.sampled_from("uc" if uniform else "rrruc"))
    limit = {"r": REGISTERS - 1, "u": UNIFORMS - 1}.get(kind)
    return kind, draw(st.integers(0, limit if limit is not None else 40))


@st.composite
def conditions(draw: st.DrawFn, uniform: bool = False) -> Statement:
    return draw(st.sampled_from(list(COMPARISONS))), draw(operands(uniform)), draw(operands(uniform))


def kinds(region: Region) -> list[str]:
    """List what may be drawn in a region."""
    found = ["op", "op", "guarded", "add", "store", "load", "load2"]
    if region.calls:
        found.append("call")
    if region.depth < 3:
        found += ["if", "if", "loop", "loop", "switch"]
    if region.loop:
        found += ["break", "continue"]
    if not region.function and region.depth:
        found.append("return")
    if region.warp:
        found += ["vote", "match", "redux", "sync", "parted", *(["shfl"] if region.whole else [])]
    if region.block:
        found += ["uop", "exchange", "barred", "arms"]
    return found


@st.composite
def statements(draw: st.DrawFn, region: Region) -> list[Statement]:
    return [draw(statement(region)) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def statement(draw: st.DrawFn, region: Region) -> Statement:
    kind = draw(st.sampled_from(kinds(region)))
    target = draw(st.integers(0, REGISTERS - 1))
    operation = (draw(st.sampled_from(list(OPERATIONS))), draw(operands()), draw(operands()))
    match kind:
        case "op":
            return kind, target, *operation
        case "uop":
            name = draw(st.sampled_from(list(OPERATIONS)))
            return kind, target % UNIFORMS, name, draw(operands(True)), draw(operands(True))
        case "guarded":
            return kind, draw(conditions()), target, *operation
        case "add":
            return kind, draw(st.integers(0, CELLS - 1)), draw(operands())
        case "call":
            return kind, target, draw(st.integers(0, FUNCTIONS - 1)), draw(operands())
        case "store":
            return kind, draw(st.sampled_from(SPACES)), draw(operands()), draw(operands())
        case "load" | "load2":
            return kind, target, draw(st.sampled_from(SPACES)), draw(operands())
        case "if" | "switch" | "loop":
            return draw(nested(kind, region))
        case "break" | "continue" | "return" | "arms" | "parted":
            return kind, draw(conditions())
        case "vote":
            return kind, target, draw(st.sampled_from(["ballot.b32", "any.pred", "all.pred"])), draw(conditions())
        case "shfl":
            mode = draw(st.sampled_from(["up", "down", "bfly", "idx"]))
            segment = draw(st.sampled_from([0, 16, 24]))
            return kind, target, mode, draw(operands()), draw(operands()), segment << 8 | (0 if mode == "up" else 31)
        case "match":
            return kind, target, draw(operands())
        case "redux":
            return kind, target, draw(st.sampled_from(list(REDUX))), draw(operands())
        case "exchange":
            return kind, target, draw(operands()), draw(st.integers(1, 40))
        case "barred":
            return (
                kind,
                target % UNIFORMS,
                draw(st.sampled_from(["popc.u32", "and.pred", "or.pred"])),
                draw(conditions()),
            )
        case _:
            return (kind,)


@st.composite
def nested(draw: st.DrawFn, kind: str, region: Region) -> Statement:
    """A statement with statements in it; what all threads decide alike keeps them together."""
    uniform = region.block and draw(st.booleans())
    inner = Region(
        region.warp,
        region.block and uniform,
        region.loop,
        region.calls,
        region.function,
        region.whole,
        region.depth + 1,
    )
    if kind == "if":
        return kind, draw(conditions(uniform)), draw(statements(inner)), draw(statements(inner))
    if kind == "switch":
        return kind, draw(operands(uniform)), [draw(statements(inner)) for _ in range(draw(st.integers(2, 4)))]
    leaves = draw(st.booleans())  # a loop out of which lanes break has no operations of the warp
    body = Region(
        inner.warp and not leaves,
        inner.block and not leaves,
        leaves,
        inner.calls,
        inner.function,
        inner.whole,
        inner.depth,
    )
    bound = ("c", draw(st.integers(0, 5))) if uniform else draw(operands())
    return kind, bound, draw(st.sampled_from(FLAVOURS)), draw(statements(body))


@dataclass(slots=True)
class Program:
    """Statements of the kernel and of its functions, and how many threads run it."""

    body: list[Statement]
    functions: list[list[Statement]]
    threads: int = 32
    returning: bool = False


@st.composite
def programs(draw: st.DrawFn) -> Program:
    returning = draw(st.booleans())
    region = Region(whole=not returning)
    body = [one for _ in range(draw(st.integers(1, 3))) for one in draw(statements(region))]
    if not returning:
        body = without_returns(body)
    inside = Region(warp=False, block=False, function=True, calls=True, depth=1)
    functions = [draw(statements(inside)) for _ in range(FUNCTIONS)]
    return Program(body, functions, draw(st.sampled_from([32, 7, 40, 64, 96])), returning)


def without_returns(body: Sequence[Statement]) -> list[Statement]:
    """Leave returns out, wherever they stand."""
    found: list[Statement] = []
    for one in body:
        if one[0] == "return":
            continue
        parts = [without_returns(part) if is_body(part) else part for part in one]
        if one[0] == "switch":
            parts[2] = [without_returns(arm) for arm in one[2]]
        found.append(tuple(parts))
    return found


def is_body(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(one, tuple) for one in part)


# ---- as PTX


@dataclass(slots=True)
class Text:
    """Writes a program as PTX."""

    lines: list[str] = field(default_factory=list)
    count: int = 0
    masks: int = 1

    def label(self) -> str:
        self.count += 1
        return f"L{self.count}"

    def do(self, *lines: str) -> None:
        self.lines += lines

    def value(self, operand: tuple[str, int]) -> str:
        kind, number = operand
        return str(number) if kind == "c" else f"%{kind}{number}"

    def condition(self, condition: Statement) -> None:
        name, a, b = condition
        self.do(f"mov.u32 %x, {self.value(a)};", f"setp.{name} %p, %x, {self.value(b)};")

    def operation(self, target: str, name: str, a: Any, b: Any, guard: str = "") -> None:
        self.do(f"mov.u32 %x, {self.value(a)};", f"mov.u32 %y, {self.value(b)};", f"{guard}{name} {target}, %x, %y;")

    def parted(self, mask: str | None) -> tuple[str | None, str | None]:
        """By %p: the masks of the lanes for which it holds, and of the others."""
        if mask is None:
            return None, None
        one, two = f"%m{self.masks}", f"%m{self.masks + 1}"
        self.masks += 2
        self.do(f"vote.sync.ballot.b32 {one}, %p, {mask};", f"not.b32 {two}, {one};", f"and.b32 {two}, {two}, {mask};")
        return one, two

    def body(self, body: Sequence[Statement], mask: str | None, loop: tuple[str, str] | None = None) -> None:
        for one in body:
            getattr(self, f"_{one[0]}")(mask, loop, *one[1:])

    def _op(self, mask: Any, loop: Any, target: int, name: str, a: Any, b: Any) -> None:
        self.operation(f"%r{target}", name, a, b)

    def _uop(self, mask: Any, loop: Any, target: int, name: str, a: Any, b: Any) -> None:
        self.operation(f"%u{target}", name, a, b)

    def _guarded(self, mask: Any, loop: Any, condition: Any, target: int, name: str, a: Any, b: Any) -> None:
        self.condition(condition)
        self.operation(f"%r{target}", name, a, b, "@%p ")

    def _if(self, mask: Any, loop: Any, condition: Any, then: Any, other: Any) -> None:
        self.condition(condition)
        one, two = self.parted(mask)
        no, end = self.label(), self.label()
        self.do(f"@!%p bra {no};")
        self.body(then, one, loop)
        self.do(f"bra {end};", f"{no}:")
        self.body(other, two, loop)
        self.do(f"{end}:")

    def _switch(self, mask: Any, loop: Any, operand: Any, arms: Any) -> None:
        number = f"%m{self.masks}"
        self.masks += 1
        self.do(f"mov.u32 %x, {self.value(operand)};", f"and.b32 {number}, %x, 3;")
        labels, end = [self.label() for _ in range(4)], self.label()
        masks: list[str | None] = []
        for arm in range(len(arms)):
            self.do(f"min.u32 %y, {number}, {len(arms) - 1};", f"setp.eq.u32 %p, %y, {arm};")
            masks.append(self.parted(mask)[0])
        table = self.label()
        names = ", ".join(labels[min(n, len(arms) - 1)] for n in range(4))
        self.do(f"{table}: .branchtargets {names};", f"brx.idx {number}, {table};")
        for label, arm, own in zip(labels, arms, masks, strict=False):
            self.do(f"{label}:")
            self.body(arm, own, loop)
            self.do(f"bra {end};")
        self.do(f"{end}:")

    def _loop(self, mask: Any, loop: Any, bound: Any, flavour: str, body: Any) -> None:
        counter, limit, inside = (f"%m{self.masks + n}" for n in range(3))
        self.masks += 3
        head, next_, end = self.label(), self.label(), self.label()
        self.do(f"mov.u32 {limit}, {self.value(bound)};", f"mov.u32 {counter}, 0;")
        if bound[0] != "c":
            self.do(f"and.b32 {limit}, {limit}, 3;")
        leaving = any(found in ("break", "continue") for found in words(body))
        if mask is not None and not leaving:
            self.do(f"mov.u32 {inside}, {mask};")
        self.do(f"{head}:")
        if flavour != "plain":
            self.do(f"ld.{'volatile.' if flavour == 'watching' else ''}global.u32 %z, [%zero];")
            self.do(f"add.u32 %y, {limit}, %z;" if flavour == "watching" else f"mov.u32 %y, {limit};")
        else:
            self.do(f"mov.u32 %y, {limit};")
        self.do(f"setp.lt.u32 %p, {counter}, %y;")
        if mask is not None and not leaving:
            self.do(f"vote.sync.ballot.b32 {inside}, %p, {inside};")
        self.do(f"@!%p bra {end};")
        self.body(body, None if leaving or mask is None else inside, (next_, end))
        self.do(f"{next_}:", f"add.u32 {counter}, {counter}, 1;", f"bra {head};", f"{end}:")

    def _break(self, mask: Any, loop: Any, condition: Any) -> None:
        self.condition(condition)
        self.do(f"@%p bra {loop[1]};")

    def _continue(self, mask: Any, loop: Any, condition: Any) -> None:
        self.condition(condition)
        self.do(f"@%p bra {loop[0]};")

    def _return(self, mask: Any, loop: Any, condition: Any) -> None:
        self.condition(condition)
        self.do("@%p bra out;")

    def _vote(self, mask: Any, loop: Any, target: int, kind: str, condition: Any) -> None:
        self.condition(condition)
        if kind == "ballot.b32":
            self.do(f"vote.sync.ballot.b32 %r{target}, %p, {mask};")
        else:
            self.do(f"vote.sync.{kind} %q, %p, {mask};", f"selp.u32 %r{target}, 1, 0, %q;")

    def _shfl(self, mask: Any, loop: Any, target: int, mode: str, a: Any, b: Any, clamp: int) -> None:
        self.do(f"mov.u32 %x, {self.value(a)};", f"mov.u32 %y, {self.value(b)};")
        self.do(f"shfl.sync.{mode}.b32 %z|%q, %x, %y, {clamp}, {mask};")
        self.here(target, mode, clamp, mask)

    def here(self, target: int, mode: str, clamp: int, mask: str) -> None:
        """Take what was read only from a lane that takes part."""
        segment = clamp >> 8
        own, rest = f"%m{self.masks}", 31 ^ segment
        self.masks += 1
        source = {
            "up": ["sub.u32 %w, %lane, %v;"],
            "down": ["add.u32 %w, %lane, %v;"],
            "bfly": ["xor.b32 %w, %lane, %v;"],
            "idx": [f"and.b32 %w, %lane, {segment};", f"and.b32 %v, %v, {rest};", "or.b32 %w, %w, %v;"],
        }[mode]
        self.do("and.b32 %v, %y, 31;", *source, "selp.u32 %w, %w, %lane, %q;", f"shr.u32 {own}, {mask}, %w;")
        self.do(f"and.b32 {own}, {own}, 1;", f"setp.ne.u32 %q, {own}, 0;", f"selp.u32 %r{target}, %z, 77, %q;")

    def _match(self, mask: Any, loop: Any, target: int, a: Any) -> None:
        self.do(f"mov.u32 %x, {self.value(a)};", f"match.any.sync.b32 %r{target}, %x, {mask};")

    def _redux(self, mask: Any, loop: Any, target: int, name: str, a: Any) -> None:
        self.do(f"mov.u32 %x, {self.value(a)};", f"redux.sync.{name} %r{target}, %x, {mask};")

    def _sync(self, mask: Any, loop: Any) -> None:
        self.do(f"bar.warp.sync {mask};")

    def _parted(self, mask: Any, loop: Any, condition: Any) -> None:
        no, end = self.label(), self.label()
        self.condition(condition)
        self.do(
            f"@!%p bra {no};", f"bar.warp.sync {mask};", f"bra {end};", f"{no}:", f"bar.warp.sync {mask};", f"{end}:"
        )

    def _exchange(self, mask: Any, loop: Any, target: int, a: Any, step: int) -> None:
        self.do(
            f"mov.u32 %x, {self.value(a)};", "st.shared.u32 [%own], %x;", "bar.sync 0;", f"add.u32 %y, %tid_, {step};"
        )
        self.do("rem.u32 %y, %y, %threads;", "shl.b32 %y, %y, 2;", "mov.u32 %x, room;", "add.u32 %x, %x, %y;")
        self.do(f"ld.shared.u32 %r{target}, [%x];", "barrier.sync 0;")

    def _barred(self, mask: Any, loop: Any, target: int, kind: str, condition: Any) -> None:
        self.condition(condition)
        if kind == "popc.u32":
            self.do(f"barrier.red.popc.u32 %u{target}, 0, %p;")
        else:
            self.do(f"barrier.red.{kind} %q, 0, !%p;", f"selp.u32 %u{target}, 1, 0, %q;")

    def _arms(self, mask: Any, loop: Any, condition: Any) -> None:
        no, end = self.label(), self.label()
        self.condition(condition)
        self.do(f"@!%p bra {no};", "barrier.sync 0;", f"bra {end};", f"{no}:", "barrier.sync 0;", f"{end}:")

    def _add(self, mask: Any, loop: Any, cell: int, a: Any) -> None:
        self.do(f"mov.u32 %x, {self.value(a)};", f"red.global.add.u32 [%cells+{4 * cell}], %x;")

    def place(self, space: str, index: Any, keep: int) -> None:
        """Let %at be the address of a word."""
        self.do(f"mov.u32 %w, {self.value(index)};", f"and.b32 %w, %w, {keep};", "mul.wide.u32 %at, %w, 4;")
        self.do(f"add.u64 %at, %at, %{space}_row;")

    def _store(self, mask: Any, loop: Any, space: str, index: Any, a: Any) -> None:
        self.place(space, index, WORDS - 1)
        self.do(f"mov.u32 %x, {self.value(a)};", f"st.{space}.u32 [%at], %x;")

    def _load(self, mask: Any, loop: Any, target: int, space: str, index: Any) -> None:
        self.place(space, index, WORDS - 1)
        self.do(f"ld.{space}.u32 %r{target}, [%at];")

    def _load2(self, mask: Any, loop: Any, target: int, space: str, index: Any) -> None:
        self.place(space, index, WORDS - 2)
        self.do(f"ld.{space}.v2.u32 {{%r{target}, %r{(target + 1) % REGISTERS}}}, [%at];")

    def _call(self, mask: Any, loop: Any, target: int, function: int, a: Any) -> None:
        number = self.count
        self.count += 1
        self.do(f"mov.u32 %x, {self.value(a)};", f"mov.u32 %y, {self.value(('r', target))};", "{")
        self.do(f".param .b32 a{number}; .param .b32 b{number}; .param .b32 c{number}; .param .b32 d{number};")
        self.do(
            f"st.param.b32 [a{number}], %x;", f"st.param.b32 [b{number}], %y;", f"st.param.b32 [c{number}], %depth;"
        )
        self.do(f"call.uni (d{number}), f{function}, (a{number}, b{number}, c{number});")
        self.do(f"ld.param.b32 %r{target}, [d{number}];", "}")


def words(body: Sequence[Statement]) -> list[str]:
    """List the kinds of all statements of a loop's body, those of loops in it left out."""
    found: list[str] = []
    for one in body:
        found.append(one[0])
        if one[0] != "loop":
            bodies = one[2] if one[0] == "switch" else [part for part in one if is_body(part)]
            found += [word for inner in bodies for word in words(inner)]
    return found


def registers(text: Text) -> str:
    names = [f"%r{n}" for n in range(REGISTERS)] + [f"%u{n}" for n in range(UNIFORMS)]
    return f""".reg .pred %p, %q; .reg .b32 {", ".join(names)}, %x, %y, %z, %v, %w;
    .reg .b32 %lane, %depth, %tid_, %own, %threads;
    .reg .b32 %m<{text.masks + 1}>; .reg .b64 %zero, %out, %at, %cells;
    .reg .b64 {", ".join(f"%{space}_row" for space in SPACES)};
    .local .align 8 .b8 stack[{4 * WORDS}];
    mov.u64 %zero, zero; mov.u64 %cells, cells;
    mov.u32 %x, %tid.x; mul.wide.u32 %at, %x, {4 * WORDS};
    mov.u64 %local_row, stack;
    mov.u64 %shared_row, shared_rows; add.u64 %shared_row, %shared_row, %at;
    mov.u64 %global_row, global_rows; add.u64 %global_row, %global_row, %at;
    {" ".join(f"st.local.u32 [%local_row+{4 * n}], {n};" for n in range(WORDS))}"""


def function_text(number: int, body: Sequence[Statement]) -> str:
    text = Text()
    text.count = 1000 * (number + 1)
    text.body(body, None)
    zeros = "\n".join(
        f"mov.u32 %{kind}{n}, 0;" for kind, count in (("r", REGISTERS), ("u", UNIFORMS)) for n in range(count)
    )
    return f""".func (.param .b32 result) f{number}(.param .b32 a, .param .b32 b, .param .b32 c) {{
    {registers(text)}
    {zeros}
    ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; ld.param.b32 %depth, [c];
    setp.eq.u32 %p, %depth, 0; @%p bra out;
    sub.u32 %depth, %depth, 1;
    {chr(10).join(text.lines)}
    out: st.param.b32 [result], %r0; ret; }}"""


def ptx(program: Program) -> str:
    """Write a program as PTX: kernel ``k(out)`` leaves each thread's registers; the cells are a variable."""
    text = Text()
    text.body(program.body, "%m0")
    declared = "\n".join(
        f".func (.param .b32 result) f{n}(.param .b32 a, .param .b32 b, .param .b32 c);" for n in range(FUNCTIONS)
    )
    functions = "\n".join(function_text(n, body) for n, body in enumerate(program.functions))
    width = REGISTERS + UNIFORMS
    stores = "\n".join(f"st.global.u32 [%at+{4 * n}], %r{n};" for n in range(REGISTERS))
    stores += "".join(f"st.global.u32 [%at+{4 * (REGISTERS + n)}], %u{n};" for n in range(UNIFORMS))
    full = (1 << min(program.threads, 32)) - 1
    last = program.threads % 32
    return f""".version 8.8
.target sm_90
.address_size 64
.global .u32 zero;
.global .u32 cells[{CELLS}];
.global .align 8 .b8 global_rows[{4 * WORDS * MOST_THREADS}];
.shared .align 8 .b8 shared_rows[{4 * WORDS * MOST_THREADS}];
{declared}
{functions}
.visible .entry k(.param .u64 out_) {{
    {registers(text)}
    .shared .u32 room[{program.threads}];
    ld.param.u64 %out, [out_];
    mov.u32 %tid_, %tid.x; mov.u32 %threads, %ntid.x; mov.u32 %lane, %laneid; mov.u32 %depth, {DEPTH};
    shl.b32 %x, %tid_, 2; mov.u32 %own, room; add.u32 %own, %own, %x;
    mov.u32 %m0, {full};
    setp.ge.u32 %p, %tid_, {program.threads - last}; @%p mov.u32 %m0, {(1 << last) - 1};
    mov.u32 %y, 0; st.shared.u32 [%own], %y;
    {" ".join(f"st.shared.u32 [%shared_row+{4 * n}], %y;" for n in range(WORDS))}
    bar.sync 0;
    mov.u32 %r0, %tid_; mul.lo.u32 %r1, %tid_, 0x9E3779B1; shr.u32 %r2, %tid_, 3; mov.u32 %r3, 5; and.b32 %r4, %tid_, 1;
    mov.u32 %u0, 3; mov.u32 %u1, 0;
    {chr(10).join(text.lines)}
    out:
    mul.wide.u32 %at, %tid_, {4 * width}; add.u64 %at, %at, %out;
    {stores}
    ret;
}}"""


# ---- what a program means

Thread = Generator[tuple[Any, ...], Any, str | None]


@dataclass(slots=True)
class State:
    """One thread's registers in the kernel, or in a call."""

    tid: int
    r: list[int]
    u: list[int]
    depth: int = DEPTH
    local: list[int] = field(default_factory=lambda: list(range(WORDS)))
    shared: list[int] = field(default_factory=lambda: [0] * WORDS)
    global_: list[int] = field(default_factory=lambda: [0] * WORDS)

    def words(self, space: str) -> list[int]:
        return {"local": self.local, "shared": self.shared, "global": self.global_}[space]

    def value(self, operand: tuple[str, int]) -> int:
        kind, number = operand
        return number if kind == "c" else getattr(self, kind)[number]

    def holds(self, condition: Statement) -> bool:
        name, a, b = condition
        return COMPARISONS[name](self.value(a), self.value(b))

    def operation(self, name: str, a: Any, b: Any) -> int:
        return OPERATIONS[name](self.value(a), self.value(b)) & WORD


class Meaning:
    """Carries a program out, thread by thread; threads meet where the program says."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.cells = [0] * CELLS
        self.room = [0] * program.threads
        self.sites = 0
        self.states = [State(t, [t, t * 0x9E3779B1 & WORD, t >> 3, 5, t & 1], [3, 0]) for t in range(program.threads)]

    def run(self) -> tuple[list[list[int]], list[int]]:
        """Answer all registers and all cells at the end."""
        threads: dict[int, Thread] = {t: self.thread(state) for t, state in enumerate(self.states)}
        waits: dict[int, tuple[Any, ...] | None] = dict.fromkeys(threads)
        answers: dict[int, Any] = dict.fromkeys(threads)
        while threads:
            for t in [t for t, wait in waits.items() if wait is None]:
                try:
                    waits[t] = threads[t].send(answers.pop(t, None))
                except StopIteration:
                    del threads[t], waits[t]
            answers |= self.met(waits)
            for t in answers:
                waits[t] = None
            assert answers or not threads, f"threads wait for ever: {waits}"
        return [state.r + state.u for state in self.states], self.cells

    def met(self, waits: dict[int, Any]) -> dict[int, Any]:
        """Let those go on who have all come: answer what they have told each other, by thread."""
        if waits and all(wait[0] == "block" for wait in waits.values()):
            told = {t: wait[1] for t, wait in waits.items()}
            return {t: told for t in waits}
        found: dict[int, Any] = {}
        for t, wait in waits.items():
            if wait[0] != "warp":
                continue
            members = [t - t % 32 + lane for lane in range(32) if wait[1] >> lane & 1]
            living = [m for m in members if m in waits]
            if all(waits[m][:2] == wait[:2] for m in living):
                found[t] = {m % 32: waits[m][2] for m in living}
        return found

    def thread(self, state: State) -> Thread:
        whole = self.program.threads - state.tid // 32 * 32
        yield from self.body(state, self.program.body, (1 << min(whole, 32)) - 1)
        return None

    def body(self, s: State, body: Sequence[Statement], mask: int | None) -> Thread:
        for one in body:
            end = yield from getattr(self, f"_{one[0]}")(s, mask, *one[1:])
            if end:
                return end
        return None

    def ballot(self, mask: int, holds: bool) -> Generator[Any, Any, int]:
        told = yield "warp", mask, holds
        return sum(1 << lane for lane, held in told.items() if held)

    def _op(self, s: State, mask: Any, target: int, name: str, a: Any, b: Any) -> Thread:
        s.r[target] = s.operation(name, a, b)
        return None
        yield

    def _uop(self, s: State, mask: Any, target: int, name: str, a: Any, b: Any) -> Thread:
        s.u[target] = s.operation(name, a, b)
        return None
        yield

    def _guarded(self, s: State, mask: Any, condition: Any, target: int, name: str, a: Any, b: Any) -> Thread:
        if s.holds(condition):
            s.r[target] = s.operation(name, a, b)
        return None
        yield

    def parted(self, mask: int | None, holds: bool) -> Generator[Any, Any, int | None]:
        if mask is None:
            return None
        found = yield from self.ballot(mask, holds)
        return found if holds else mask & ~found

    def _if(self, s: State, mask: Any, condition: Any, then: Any, other: Any) -> Thread:
        holds = s.holds(condition)
        inner = yield from self.parted(mask, holds)
        return (yield from self.body(s, then if holds else other, inner))

    def _switch(self, s: State, mask: Any, operand: Any, arms: Any) -> Thread:
        chosen = min(s.value(operand) & 3, len(arms) - 1)
        own: int | None = None
        for arm in range(len(arms)):
            found = yield from self.parted(mask, arm == chosen)
            own = found if arm == chosen else own
        return (yield from self.body(s, arms[chosen], own))

    def _loop(self, s: State, mask: Any, bound: Any, flavour: str, body: Any) -> Thread:
        limit = s.value(bound) if bound[0] == "c" else s.value(bound) & 3
        leaving = any(found in ("break", "continue") for found in words(body))
        inside = None if leaving else mask
        count = 0
        while True:
            if inside is not None:
                found = yield from self.ballot(inside, count < limit)
                inside = found
            if count >= limit:
                return None
            end = yield from self.body(s, body, inside)
            if end == "break":
                return None
            if end == "return":
                return end
            count += 1

    def _jump(self, s: State, word: str, condition: Any) -> Thread:
        return word if s.holds(condition) else None
        yield

    def _break(self, s: State, mask: Any, condition: Any) -> Thread:
        return self._jump(s, "break", condition)

    def _continue(self, s: State, mask: Any, condition: Any) -> Thread:
        return self._jump(s, "continue", condition)

    def _return(self, s: State, mask: Any, condition: Any) -> Thread:
        return self._jump(s, "return", condition)

    def _vote(self, s: State, mask: Any, target: int, kind: str, condition: Any) -> Thread:
        told = yield "warp", mask, s.holds(condition)
        if kind == "ballot.b32":
            s.r[target] = sum(1 << lane for lane, held in told.items() if held)
        else:
            s.r[target] = int((any if kind == "any.pred" else all)(told.values()))
        return None

    def _shfl(self, s: State, mask: Any, target: int, mode: str, a: Any, b: Any, clamp: int) -> Thread:
        lane, step, segment = s.tid % 32, s.value(b) & 31, clamp >> 8
        told = yield "warp", mask, s.value(a)
        low = lane & segment
        high = low | clamp & 31 & ~segment
        source = {"up": lane - step, "down": lane + step, "bfly": lane ^ step, "idx": low | step & ~segment & 31}[mode]
        inside = source >= high if mode == "up" else source <= high
        s.r[target] = told.get(source if inside else lane, 77)
        return None

    def _match(self, s: State, mask: Any, target: int, a: Any) -> Thread:
        mine = s.value(a)
        told = yield "warp", mask, mine
        s.r[target] = sum(1 << lane for lane, value in told.items() if value == mine)
        return None

    def _redux(self, s: State, mask: Any, target: int, name: str, a: Any) -> Thread:
        told = yield "warp", mask, s.value(a)
        s.r[target] = REDUX[name](told.values()) & WORD
        return None

    def _sync(self, s: State, mask: Any) -> Thread:
        yield "warp", mask, None
        return None

    def _parted(self, s: State, mask: Any, condition: Any) -> Thread:
        return self._sync(s, mask)

    def _exchange(self, s: State, mask: Any, target: int, a: Any, step: int) -> Thread:
        self.room[s.tid] = s.value(a)
        yield "block", None
        s.r[target] = self.room[(s.tid + step) % self.program.threads]
        yield "block", None
        return None

    def _barred(self, s: State, mask: Any, target: int, kind: str, condition: Any) -> Thread:
        told = yield "block", s.holds(condition) if kind == "popc.u32" else not s.holds(condition)
        s.u[target] = int({"popc.u32": sum, "and.pred": all, "or.pred": any}[kind](told.values()))
        return None

    def _arms(self, s: State, mask: Any, condition: Any) -> Thread:
        yield "block", None
        return None

    def _add(self, s: State, mask: Any, cell: int, a: Any) -> Thread:
        self.cells[cell] = (self.cells[cell] + s.value(a)) & WORD
        return None
        yield

    def _store(self, s: State, mask: Any, space: str, index: Any, a: Any) -> Thread:
        s.words(space)[s.value(index) % WORDS] = s.value(a)
        return None
        yield

    def _load(self, s: State, mask: Any, target: int, space: str, index: Any) -> Thread:
        s.r[target] = s.words(space)[s.value(index) % WORDS]
        return None
        yield

    def _load2(self, s: State, mask: Any, target: int, space: str, index: Any) -> Thread:
        words, at = s.words(space), s.value(index) % WORDS & ~1
        s.r[target], s.r[(target + 1) % REGISTERS] = words[at : at + 2]
        return None
        yield

    def _call(self, s: State, mask: Any, target: int, function: int, a: Any) -> Thread:
        inner = State(s.tid, [0] * REGISTERS, [0] * UNIFORMS, s.depth, shared=s.shared, global_=s.global_)
        inner.r[:2] = s.value(a), s.r[target]
        if inner.depth:
            inner.depth -= 1
            yield from self.body(inner, self.program.functions[function], None)
        s.r[target] = inner.r[0]
        return None
