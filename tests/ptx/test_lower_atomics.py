"""atom and red against a model in plain Python: every operation and type, collisions, lanes that are off, threads."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest
import straight
from warps import Warp

LANES = np.arange(32, dtype=np.uint64)
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
PLACES = {"own": LANES, "same": LANES * 0, "pairs": LANES // 2, "scattered": LANES * 7 % 32}


def integer(op: str, kind: str, old: int, b: int, c: int) -> int:
    """Answer what an operation leaves in memory: unsigned bits."""
    bits = int(kind[1:])
    signed = (lambda v: v - (v >> (bits - 1) << bits)) if kind[0] == "s" else (lambda v: v)
    match op:
        case "add":
            new = old + b
        case "min" | "max":
            new = {"min": min, "max": max}[op](signed(old), signed(b))
        case "and" | "or" | "xor":
            new = {"and": old & b, "or": old | b, "xor": old ^ b}[op]
        case "inc":
            new = 0 if old >= b else old + 1
        case "dec":
            new = b if old == 0 or old > b else old - 1
        case "exch":
            new = b
        case _:
            new = c if old == b else old
    return new % (1 << bits)


INTEGER_FORMS = [
    *((op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
    *(("add", kind) for kind in ("u32", "s32", "u64")),
    *((op, kind) for op in ("and", "or", "xor", "exch", "cas") for kind in ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
    ("cas", "b16"),
]


@pytest.mark.parametrize(("op", "kind"), INTEGER_FORMS)
@pytest.mark.parametrize(
    ("place", "space"), [*((place, "global") for place in PLACES), ("pairs", "shared"), ("pairs", "generic")]
)
@pytest.mark.parametrize("active", [None, 0xF00F_1235])
def test_integers(op: str, kind: str, place: str, space: str, active: int | None) -> None:
    bits, random = int(kind[1:]), np.random.default_rng(3)
    warp = Warp(granules=1)
    limit = 4 if op in ("cas", "inc", "dec") else 1 << bits
    memory, b, c = (random.integers(0, limit, 32, np.uint64) for _ in range(3))
    room = (warp.shared if space == "shared" else warp.memory)[: 4 * bits].view(f"u{bits // 8}")
    room[:] = memory
    olds, model = [0] * 32, [int(value) for value in room]
    for lane in range(32):
        if active is None or active >> lane & 1:
            at = int(PLACES[place][lane])
            olds[lane] = model[at]
            model[at] = integer(op, kind, model[at], int(b[lane]), int(c[lane]))
    start = 0 if space == "shared" else warp.base
    word = "" if space == "generic" else f".{space}"
    source = "%b, %c" if op == "cas" else "%b"
    out = straight.run(
        f".reg .b64 %a; .reg .b{bits} %d, %b, %c;",
        f"atom{word}.{op}.{kind} %d, [%a], {source};",
        {"%a": start + PLACES[place] * (bits // 8), "%b": b, "%c": c},
        ["%d"],
        warp=warp.address,
        active=active,
    )
    on = np.array([active is None or active >> lane & 1 for lane in range(32)], bool)
    assert (out["%d"][on] == np.array(olds, np.uint64)[on]).all()
    assert room.tolist() == model


@pytest.mark.parametrize("op", ["exch", "cas"])
def test_128_bits(op: str) -> None:
    warp, random = Warp(granules=1), np.random.default_rng(4)
    memory = random.integers(0, 3, (32, 2), np.uint64)
    warp.memory[:512].view(np.uint64)[:] = memory.ravel()
    b, c = random.integers(0, 3, (32, 2), np.uint64), random.integers(0, 1 << 63, (32, 2), np.uint64)
    warp.memory[1024:1536].view(np.uint64)[:] = b.ravel()
    warp.memory[2048:2560].view(np.uint64)[:] = c.ravel()
    places = np.array(PLACES["pairs"], int)
    olds, model = np.zeros((32, 2), np.uint64), memory.copy()
    for lane, at in enumerate(places):
        olds[lane] = model[at]
        if op == "exch" or (model[at] == b[lane]).all():
            model[at] = b[lane] if op == "exch" else c[lane]
    source = "%b, %c" if op == "cas" else "%b"
    straight.run(
        ".reg .b64 %a, %l; .reg .b128 %d, %b, %c;",
        f"ld.global.b128 %b, [%l+1024]; ld.global.b128 %c, [%l+2048]; atom.global.{op}.b128 %d, [%a], {source};"
        "st.global.b128 [%l+4096], %d;",
        {"%a": warp.base + places.astype(np.uint64) * 16, "%l": warp.base + LANES * 16},
        [],
        warp=warp.address,
    )
    assert (warp.memory[:512].view(np.uint64).reshape(32, 2) == model).all()
    assert (warp.memory[4096:4608].view(np.uint64).reshape(32, 2) == olds).all()


def flush(value: np.floating) -> np.floating:
    """Replace a subnormal f32 by zero of its sign."""
    return np.copysign(np.float32(0), value) if abs(value) < np.float32(2**-126) else value


def combined(op: str, kind: str, old: np.generic, b: np.generic, *, flushing: bool) -> np.generic:
    """Answer what an operation on floats leaves in memory."""
    number = FLOATS[kind]
    if op == "add":
        wide = np.float64 if kind == "f64" else np.float32
        result = flush(flush(old) + flush(b)) if flushing else number(wide(old) + wide(b))
    else:
        numbers = sorted((v for v in (old, b) if v == v), key=lambda v: (float(v), not np.signbit(v)))
        result = numbers[0 if op == "min" else -1] if numbers else number("nan")
    if result != result and kind in NAN:
        return np.array(NAN[kind], f"u{np.dtype(number).itemsize}").view(number)[()]
    return result


ORDERS = ("add", "min", "max")
FLOAT_FORMS = [
    ("add", "f32", 1, ""),
    ("add", "f64", 1, ""),
    *(("add.noftz", f"{half}{packed}", 1, "") for half in ("f16", "bf16") for packed in ("", "x2")),
    *(("add", "f32", count, f".v{count}") for count in (2, 4)),
    *((f"{op}.noftz", half, count, f".v{count}") for op in ORDERS for half in ("f16", "bf16") for count in (2, 4, 8)),
    *(
        (f"{op}.noftz", f"{half}x2", count, f".v{count}")
        for op in ORDERS
        for half in ("f16", "bf16")
        for count in (2, 4)
    ),
]


def edges(kind: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Answer random numbers, among them infinities, NaN, zeros and subnormals."""
    random = np.random.default_rng(seed)
    number = FLOATS[kind]
    tiny = float(ml_dtypes.finfo(number).smallest_subnormal)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -3 * tiny, 1.0], np.float64)
    values = np.where(random.random(shape) < 0.3, random.choice(special, shape), random.standard_normal(shape))
    return values.astype(number)


@pytest.mark.parametrize(("op", "kind", "count", "vector"), FLOAT_FORMS)
@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_floats(op: str, kind: str, count: int, vector: str, space: str) -> None:
    if space == "shared" and vector:
        space = "generic"  # vectors have no shared form; generic addresses of global memory do
    half, packed = kind.split("x")[0], 2 if "x2" in kind else 1
    elements, number = count * packed, FLOATS[half]
    size = np.dtype(number).itemsize
    warp = Warp(granules=1)
    room = (
        (warp.shared if space == "shared" else warp.memory)[: 32 * elements * size].view(number).reshape(32, elements)
    )
    room[:] = edges(half, room.shape, 1)
    b = edges(half, room.shape, 2)
    model, olds = room.copy(), np.zeros_like(room)
    flushing = half == "f32" and space != "shared"
    with np.errstate(all="ignore"):
        for lane, at in enumerate(PLACES["pairs"].astype(int)):
            olds[lane] = model[at]
            for i in range(elements):
                model[at, i] = combined(op.split(".")[0], half, model[at, i], b[lane, i], flushing=flushing)
    registers = size * packed
    sources, results = ([f"%{letter}{i}" for i in range(count)] for letter in "bd")
    source, result = ("{" + ", ".join(group) + "}" if vector else group[0] for group in (sources, results))
    inputs = dict(zip(sources, b.view(f"u{registers}").reshape(32, count).T, strict=True))
    start = 0 if space == "shared" else warp.base
    out = straight.run(
        f".reg .b64 %a; .reg .b{registers * 8} {', '.join(sources + results)};",
        f"atom{'' if space == 'generic' else '.' + space}.{op}{vector}.{kind} {result}, [%a], {source};",
        {"%a": start + PLACES["pairs"] * np.uint64(elements * size), **inputs},
        results,
        warp=warp.address,
    )
    got = np.array([out[name] for name in results]).T
    assert (got == olds.view(f"u{registers}").reshape(32, count)).all()
    assert (room.view(f"u{size}") == model.view(f"u{size}")).all()


def test_uniform_red_acts_once_for_each_lane() -> None:
    warp = Warp(granules=1)
    body = "red.global.add.u32 [%a], %b;"
    inputs = {"%a": warp.base + 0 * LANES, "%b": 3 + 0 * LANES}
    straight.run(".reg .b64 %a; .reg .b32 %b;", body, inputs, [], warp=warp.address, uniform=True)
    assert warp.memory[:4].view(np.uint32)[0] == 96
    straight.run(".reg .b64 %a; .reg .b32 %b;", body, inputs, [], warp=warp.address, uniform=True, active=0x70)
    assert warp.memory[:4].view(np.uint32)[0] == 105


#: An operation, the bits of 1 (or for inc, of no limit), and what memory is read as.
CONCURRENT = [
    ("add.u32", 1, np.uint32),
    ("add.u64", 1, np.uint64),
    ("add.f32", 0x3F800000, np.float32),
    ("add.f64", 0x3FF0000000000000, np.float64),
    ("add.noftz.f16x2", 0x3C003C00, np.float16),
    ("inc.u32", 0xFFFFFFFF, np.uint32),
]


@pytest.mark.parametrize(("what", "one", "kind"), CONCURRENT)
@pytest.mark.parametrize("order", ["relaxed", "acq_rel"])
def test_two_threads_lose_nothing(what: str, one: int, kind: type, order: str) -> None:
    warp, rounds, bits = Warp(granules=1), 40, 64 if what.endswith("64") else 32
    declare = f".reg .b64 %a; .reg .b{bits} %b, %d;"
    body = f"atom.{order}.gpu.global.{what} %d, [%a], %b;"
    compiled = straight.prepare(declare, body, ["%a", "%b"], ["%d"])
    inputs = {"%a": warp.base + 0 * LANES, "%b": np.full(32, one, np.uint64)}
    seen: list[np.ndarray] = []

    def work() -> None:
        for _ in range(rounds):
            seen.append(compiled(inputs, warp.address)["%d"])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = 2 * rounds * 32
    expected = min(total, 2048) if what == "add.noftz.f16x2" else total  # from 2048 on, adding 1 changes no f16
    assert (warp.memory[: bits // 8].view(kind) == expected).all()
    if "f" not in what:  # every old value was seen by one lane
        assert sorted(np.concatenate(seen).tolist()) == list(range(total))
