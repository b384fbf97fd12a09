"""Matrices of mma: the forms, where the PTX ISA puts each element, and what the product is. Needs nothing but numpy.

Elements are places: ``a_places(form)`` answers for every lane and every element of its fragment, in the order of the
manual (a0, a1, …), the row and the column, as the formulas of "Matrix Fragments for mma.…" say for each shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

LANES = 32
Array = np.ndarray
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s32": 32}
BITS |= {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64}
FLOATS |= {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
INTEGERS = ("s8", "u8", "s4", "u4")


@dataclass(frozen=True)
class Form:
    """One mma: words between shape and types in ``words``, behind the types in ``tail``."""

    shape: str
    words: str
    d: str
    a: str
    b: str
    c: str
    tail: str = ""

    @property
    def name(self) -> str:
        return f"mma.sync.aligned.{self.shape}.{self.words}.{self.d}.{self.a}.{self.b}.{self.c}{self.tail}"

    @property
    def m(self) -> int:
        return int(self.shape[1:].split("n")[0])

    @property
    def k(self) -> int:
        return int(self.shape.split("k")[1])

    @property
    def quads(self) -> bool:
        return (self.shape, self.a) == ("m8n8k4", "f16")

    @property
    def exact(self) -> bool:
        """Tell whether hardware's result is the only right one."""
        return self.a in (*INTEGERS, "b1", "f64")


def _forms() -> Iterator[Form]:
    for layouts in ("row.row", "row.col", "col.row", "col.col"):
        for d, c in (("f16", "f16"), ("f32", "f32"), ("f32", "f16")):
            yield Form("m8n8k4", layouts, d, "f16", "f16", c)
    for k in (8, 16):
        yield from (Form(f"m16n8k{k}", "row.col", kind, "f16", "f16", kind) for kind in ("f16", "f32"))
        yield Form(f"m16n8k{k}", "row.col", "f32", "bf16", "bf16", "f32")
        yield Form(f"m16n8k{k // 2}", "row.col", "f32", "tf32", "tf32", "f32")
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        for words in ("row.col", "row.col.rn", "row.col.rz", "row.col.rm", "row.col.rp"):
            yield Form(shape, words, *["f64"] * 4)
    for kinds, shapes in (
        (("s8", "u8"), ("m8n8k16", "m16n8k16", "m16n8k32")),
        (("s4", "u4"), ("m8n8k32", "m16n8k32", "m16n8k64")),
    ):
        for shape in shapes:
            for words in ("row.col", "row.col.satfinite"):
                yield from (Form(shape, words, "s32", a, b, "s32") for a in kinds for b in kinds)
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        yield from (Form(shape, "row.col", "s32", "b1", "b1", "s32", f".{op}.popc") for op in ("xor", "and"))
    for k in (16, 32):
        for kind in ("f16", "f32"):
            for a, b in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
                yield Form(f"m16n8k{k}", "row.col", kind, a, b, kind)


FORMS = list(_forms())

# ---- places


def _grid(count: int, place: Callable[[int, int, int], tuple[int, int]]) -> tuple[Array, Array]:
    """Answer rows and columns as arrays [lane][element] of ``place(groupID, threadID_in_group, i)``."""
    found = np.array([[place(lane >> 2, lane % 4, i) for i in range(count)] for lane in range(LANES)])
    return found[..., 0], found[..., 1]


def _half(i: int, low: int) -> int:
    """Elements go in runs of ``low``, in turns for the upper and the lower eight rows."""
    return 8 * (i // low % 2)


def a_places(form: Form) -> tuple[Array, Array]:
    """Rows and columns of A."""
    run = max(1, 32 // BITS[form.a])  # elements that lie side by side in a register
    if form.m == 8:
        return _grid(run, lambda g, t, i: (g, t * run + i))
    count = 16 * form.k // LANES
    return _grid(count, lambda g, t, i: (g + _half(i, run), t * run + i % run + i // (2 * run) * 4 * run))


def b_places(form: Form) -> tuple[Array, Array]:
    """Rows and columns of B."""
    run = max(1, 32 // BITS[form.b])
    return _grid(8 * form.k // LANES, lambda g, t, i: (t * run + i % run + i // run * 4 * run, g))


def c_places(form: Form) -> tuple[Array, Array]:
    """Rows and columns of C and D."""
    return _grid(form.m * 8 // LANES, lambda g, t, i: (g + 8 * (i // 2), 2 * t + i % 2))


# ---- m8n8k4 of f16: the rows of matrix q are 8q to 8q + 7


def _quad_grid(count: int, place: Callable[[int, int], tuple[int, int]]) -> tuple[Array, Array]:
    found = np.array([[place(lane, i) for i in range(count)] for lane in range(LANES)])
    return found[..., 0] + 8 * (np.arange(LANES) % 16 // 4)[:, None], found[..., 1]


def quad_a(form: Form) -> tuple[Array, Array]:
    if form.words.startswith("row"):
        return _quad_grid(4, lambda lane, i: (lane % 4 + (0 if lane < 16 else 4), i))
    return _quad_grid(4, lambda lane, i: (i % 4 + (0 if lane < 16 else 4), lane % 4))


def quad_b(form: Form) -> tuple[Array, Array]:
    """Rows of four, 4q to 4q + 3, as _quad_grid makes them rows of eight."""
    if form.words.endswith("row"):
        return _quad_grid(4, lambda lane, i: (lane % 4, i + (0 if lane < 16 else 4)))
    return _quad_grid(4, lambda lane, i: (i, lane % 4 + (0 if lane < 16 else 4)))


def quad_c(kind: str) -> tuple[Array, Array]:
    if kind == "f16":
        return _quad_grid(8, lambda lane, i: (lane % 4 + (0 if lane < 16 else 4), i))
    return _quad_grid(
        8,
        lambda lane, i: ((lane & 1) + (i & 2) + (0 if lane < 16 else 4), (i & 4) + (lane & 2) + (i & 1)),
    )


def places(form: Form) -> dict[str, tuple[Array, Array]]:
    """Rows and columns of all four fragments; in m8n8k4 of f16 matrices lie below each other, eight rows apart."""
    if form.quads:
        return {"a": quad_a(form), "b": quad_b(form), "c": quad_c(form.c), "d": quad_c(form.d)}
    return {"a": a_places(form), "b": b_places(form), "c": c_places(form), "d": c_places(form)}


def sizes(form: Form) -> dict[str, tuple[int, int]]:
    """Rows and columns of the matrices."""
    if form.quads:
        return {"a": (32, 4), "b": (32, 8), "c": (32, 8), "d": (32, 8)}
    return {"a": (form.m, form.k), "b": (form.k, 8), "c": (form.m, 8), "d": (form.m, 8)}


# ---- registers


def word(kind: str) -> type:
    """The unsigned type of a register."""
    return np.uint64 if kind == "f64" else np.uint32


def pack(bits: Array, where: tuple[Array, Array], kind: str) -> Array:
    """Put a matrix of bits into registers [register][lane]."""
    own = bits[where].astype(np.uint64)  # [lane][element]
    each = max(1, 32 // BITS[kind])
    own = own.reshape(LANES, -1, each) << (np.arange(each, dtype=np.uint64) * np.uint64(BITS[kind] % 64))
    return np.bitwise_or.reduce(own, axis=2).T.astype(word(kind))


def unpack(registers: Array, where: tuple[Array, Array], kind: str, size: tuple[int, int]) -> Array:
    """Take a matrix of bits out of registers."""
    each = max(1, 32 // BITS[kind])
    mask = np.uint64((1 << BITS[kind]) - 1)
    wide = registers.astype(np.uint64).T[:, :, None] >> (np.arange(each, dtype=np.uint64) * np.uint64(BITS[kind] % 64))
    found = np.zeros(size, np.uint64)
    found[where] = (wide & mask).reshape(LANES, -1)
    return found


def values(bits: Array, kind: str) -> Array:
    """The numbers that bits mean: int64 or float64."""
    if kind in FLOATS:
        keep = ~np.uint64(0x1FFF) if kind == "tf32" else ~np.uint64(0)
        unsigned = (bits.astype(np.uint64) & keep).astype(f"u{BITS[kind] // 8}")
        return unsigned.view(FLOATS[kind]).astype(np.float64)
    signed = bits.astype(np.int64)
    return signed - ((signed >> (BITS[kind] - 1)) << BITS[kind]) if kind[0] == "s" else signed


def encode(numbers: Array, kind: str) -> Array:
    """The bits of numbers, rounded to nearest."""
    if kind in FLOATS:
        narrow = numbers.astype(FLOATS[kind])
        return narrow.view(f"u{BITS[kind] // 8}").astype(np.uint64)
    return numbers.astype(np.int64).astype(np.uint64) & np.uint64((1 << BITS[kind]) - 1)


def product(form: Form, a: Array, b: Array) -> Array:
    """A times B, matrix by matrix."""
    if form.quads:
        b = np.concatenate([b[8 * q : 8 * q + 4] for q in range(4)])
        return np.concatenate([a[8 * q : 8 * q + 8] @ b[4 * q : 4 * q + 4] for q in range(4)])
    if form.a == "b1":
        both = a[:, :, None] ^ b[None] if "xor" in form.tail else a[:, :, None] & b[None]
        return both.sum(axis=1)
    return a @ b


# ---- the kernel: one warp for each block, registers [register][lane] of a, b, c and d in memory


def kernel(form: Form, name: str = "k") -> str:
    """Write the PTX of a kernel that reads a, b and c of each block from memory and writes d."""
    counts = registers(form)
    kind, size = ("b64", 8) if form.a == "f64" else ("b32", 4)
    lines, at = [], 0
    for part in "abc":
        for r in range(counts[part]):
            lines.append(f"ld.global.{kind} %{part}{r}, [%at + {at}];")
            at += size * LANES
    lists = {part: "{" + ", ".join(f"%{part}{r}" for r in range(counts[part])) + "}" for part in "dabc"}
    lines.append(f"{form.name} {', '.join(lists.values())};")
    for r in range(counts["d"]):
        lines.append(f"st.global.{kind} [%at + {at}], %d{r};")
        at += size * LANES
    declared = " ".join(f".reg .{kind} %{part}<{counts[part]}>;" for part in "abcd")
    head = f"cvta.to.global.u64 %at, %at; mad.wide.u32 %at, %block, {at}, %at; mad.wide.u32 %at, %lane, {size}, %at;"
    return "\n".join(
        [
            f".visible .entry {name}(.param .u64 io)\n{{",
            f".reg .b64 %at; .reg .b32 %block, %lane; {declared}",
            f"ld.param.u64 %at, [io]; mov.u32 %block, %ctaid.x; mov.u32 %lane, %tid.x; {head}",
            *lines,
            "ret;\n}\n",
        ]
    )


def registers(form: Form) -> dict[str, int]:
    """Count a lane's registers."""
    kinds = {part: getattr(form, part) for part in "abcd"}
    found = places(form)
    return {part: -(-found[part][0].shape[1] * BITS[kinds[part]] // (64 if form.a == "f64" else 32)) for part in "abcd"}


def image(form: Form, a: Array, b: Array, c: Array) -> Array:
    """The memory of one block: a, b and c (matrices of bits) as registers, and room for d."""
    where = places(form)
    parts = [pack(bits, where[part], getattr(form, part)).ravel() for part, bits in zip("abc", (a, b, c), strict=True)]
    return np.concatenate([*parts, np.zeros(registers(form)["d"] * LANES, word(form.a))])


def result(form: Form, memory: Array) -> Array:
    """D, as a matrix of bits, of the memory of one block."""
    own = memory[-registers(form)["d"] * LANES :].reshape(-1, LANES)
    return unpack(own, places(form)["d"], form.d, sizes(form)["d"])


# ---- inputs that every numpy makes alike (the legacy generator's stream is frozen)

TRIALS = ("small", "normal", "wide", "odd")


def inputs(form: Form, trial: str) -> tuple[Array, Array, Array]:
    """Bits of A, B and C: small integers, ordinary numbers, numbers of very different size, infinities and NaN too."""
    random = np.random.RandomState(sum(map(ord, form.name + trial)))
    return tuple(_matrix(random, getattr(form, part), sizes(form)[part], trial) for part in "abc")  # type: ignore[return-value]


def _matrix(random: np.random.RandomState, kind: str, size: tuple[int, int], trial: str) -> Array:
    whole = random.randint(0, 1 << 16, (*size, 4)).astype(np.uint64)
    if kind not in FLOATS:
        near = kind == "s32" and trial != "small"  # sums that overflow
        full = whole[..., 0] | whole[..., 1] << np.uint64(16)
        edge = np.where(whole[..., 2] & np.uint64(1), 0x7FFFFFF0, 0x80000010).astype(np.uint64)
        return edge + (full & np.uint64(7)) if near else full & np.uint64((1 << min(BITS[kind], 8)) - 1)
    if trial == "small":
        return encode((whole[..., 0] % np.uint64(9)).astype(np.float64) - 4, kind)
    numbers = random.randn(*size)
    if trial in ("wide", "odd"):
        low, high = {"e4m3": (-8, 5), "e5m2": (-12, 9), "f16": (-18, 8)}.get(kind, (-30, 30))
        numbers = numbers * 2.0 ** random.randint(low, high, size)
    bits = encode(numbers, kind)
    if trial == "odd":
        special = [0, 1 << (BITS[kind] - 1), *_specials(kind)]
        chosen = random.randint(0, 40 * len(special), size)
        for i, value in enumerate(special):
            bits[chosen == i] = value
    return bits


def _specials(kind: str) -> list[int]:
    infinity = int(encode(np.array([np.inf]), kind)[0])
    if kind == "e4m3":
        return [0x7F, 1, 0x7E]
    if kind == "f64":  # NaN passes through, its payload too
        return [infinity, infinity | 1, infinity | 0x1234, infinity | 0xABCD | 1 << 63, infinity | 1 << 51 | 0x77, 1]
    return [infinity, infinity | 1 << (BITS[kind] - 1), infinity | 1, 1]
