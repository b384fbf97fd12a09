"""Which PTX instructions a real GPU is asked about, and with what inputs.

    python tests/recording/instruction_questions.py QUESTIONS.npz

instruction_probe.py carries the file's instructions out on a GPU; tests/ptx/test_gpu_recording.py carries them out on
this package's lowering and compares. A group is a set of inputs and instructions that read them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ptx"))

import edges
from float_bench import ELEMENT, floats, near, register
from special_questions import all_special

COUNT = 256
APPROXIMATED = 2048
MODES = ("rn", "rz", "rm", "rp")
INTEGRAL = ("rni", "rzi", "rmi", "rpi")
INTEGERS = tuple(f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64))


@dataclass
class Group:
    """Inputs (register → type, register → bits) and instructions (text → type of the result)."""

    types: dict[str, str]
    inputs: dict[str, np.ndarray]
    lines: dict[str, str]


def float_operands(ptx_type: str, seed: int, count: int = COUNT) -> dict[str, np.ndarray]:
    """Draw three operands: a third at random, the rest near each other."""
    inputs = {f"%{letter}": floats(ptx_type, count, seed + i) for i, letter in enumerate("abc")}
    if ptx_type not in ELEMENT:
        part = slice(count // 3, None)
        inputs["%b"][part] = near(ptx_type, inputs["%a"][part], seed + 5)
        inputs["%c"][part] = near(ptx_type, inputs["%a"][part], seed + 6)
    return inputs


def arithmetic(name: str) -> dict[str, str]:
    """List IEEE arithmetic of f32 or f64."""
    lines: list[str] = []
    for mode in MODES:
        for tail in ["", ".ftz", ".sat", ".ftz.sat"] if name == "f32" else [""]:
            for op, operands in (("add", "%a, %b"), ("sub", "%a, %b"), ("mul", "%a, %b"), ("fma", "%a, %b, %c")):
                lines.append(f"{op}.{mode}{tail}.{name} {{d}}, {operands};")
        for tail in ["", ".ftz"] if name == "f32" else [""]:
            lines += [f"div.{mode}{tail}.{name} {{d}}, %a, %b;"]
            lines += [f"{op}.{mode}{tail}.{name} {{d}}, %a;" for op in ("rcp", "sqrt")]
    return dict.fromkeys(lines, name)


def choice(name: str) -> dict[str, str]:
    """List min, max, neg, abs, copysign, testp and comparisons of a float type."""
    flush = [""] + ([".ftz"] if name in ("f32", "f16", "f16x2") else [])
    tails = [""] if name == "f64" else [f"{f}{n}{x}" for f in flush for n in ("", ".NaN") for x in ("", ".xorsign.abs")]
    lines = {f"{op}{tail}.{name} {{d}}, %a, %b;": name for op in ("min", "max") for tail in tails}
    lines |= {f"{op}{f}.{name} {{d}}, %a;": name for op in ("neg", "abs") for f in flush}
    if name in ("f32", "f64"):
        lines[f"copysign.{name} {{d}}, %a, %b;"] = name
        words = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
        lines |= {f"testp.{word}.{name} {{d}}, %a;": "pred" for word in words}
    if name not in ELEMENT:
        words = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
        lines |= {f"setp.{word}{f}.{name} {{d}}, %a, %b;": "pred" for word in words for f in flush}
    return lines


def halves(name: str) -> dict[str, str]:
    """List arithmetic of f16, bf16 and pairs of them."""
    tails = ["", ".ftz", ".sat", ".ftz.sat"] if name[0] == "f" else [""]
    lines = [f"{op}.rn{tail}.{name} {{d}}, %a, %b;" for op in ("add", "sub", "mul") for tail in tails]
    lines += [f"fma.rn{tail}.{name} {{d}}, %a, %b, %c;" for tail in tails]
    lines += [f"fma.rn{tail}.relu.{name} {{d}}, %a, %b, %c;" for tail in tails if "sat" not in tail]
    return dict.fromkeys(lines, name)


def approximations() -> dict[str, Group]:
    """List .approx functions with inputs over their whole range, and dense where they are used."""
    unary = [f"{op}.approx{f}.f32 {{d}}, %a;" for op in UNARY for f in ("", ".ftz")] + ["tanh.approx.f32 {d}, %a;"]
    a = approximated("f32", 301)
    found = {"approx.f32": Group({"%a": "f32"}, {"%a": a}, dict.fromkeys(unary, "f32"))}
    b = a.copy()
    b[: APPROXIMATED // 2] = near("f32", a[: APPROXIMATED // 2], 302)
    b[APPROXIMATED // 2 :] = floats("f32", APPROXIMATED // 2, 303)
    lines = [f"div.{word}{f}.f32 {{d}}, %a, %b;" for word in ("approx", "full") for f in ("", ".ftz")]
    found["approx.div"] = Group({"%a": "f32", "%b": "f32"}, {"%a": a, "%b": b}, dict.fromkeys(lines, "f32"))
    lines = ["rcp.approx.ftz.f64 {d}, %a;", "rsqrt.approx.f64 {d}, %a;", "rsqrt.approx.ftz.f64 {d}, %a;"]
    wide = floats("f64", 512, 304)
    found["approx.f64"] = Group({"%a": "f64"}, {"%a": wide}, dict.fromkeys(lines, "f64"))
    for name, ends in (("f16", ("", "x2")), ("bf16", ("", "x2"))):
        ftz = ".ftz" if name == "bf16" else ""
        for end in ends:
            column = half_inputs(name) if not end else floats(f"{name}x2", COUNT, 305)
            lines = [f"ex2.approx{ftz}.{name}{end} {{d}}, %a;", f"tanh.approx.{name}{end} {{d}}, %a;"]
            found[f"approx.{name}{end}"] = Group({"%a": name + end}, {"%a": column}, dict.fromkeys(lines, name + end))
    return found


UNARY = ("sin", "cos", "ex2", "lg2", "rcp", "sqrt", "rsqrt")


def half_inputs(name: str) -> np.ndarray:
    """Take every 16th bit pattern of a half, and the edges."""
    column = np.arange(0, 1 << 16, 16, dtype=np.uint16) + np.arange(4096, dtype=np.uint16) % 13
    column[: len(edges.float_edges(name))] = edges.float_edges(name)
    return column


def approximated(name: str, seed: int) -> np.ndarray:
    """Draw f32 inputs of a function: edges, every exponent, and many of ordinary size."""
    rng = np.random.default_rng(seed)
    column = np.zeros(APPROXIMATED, np.uint32)
    column[:512] = floats(name, 512, seed)
    column[512:1024] = np.arange(512) << 23 | rng.integers(0, 1 << 23, 512)
    column[1024:1536] = rng.uniform(-10, 10, 512).astype(np.float32).view(np.uint32)
    column[1536:1792] = rng.uniform(-140, 140, 256).astype(np.float32).view(np.uint32)
    column[1792:] = rng.uniform(0.5, 2, 256).astype(np.float32).view(np.uint32)
    return column


def conversions(source: str) -> dict[str, str]:
    """List conversions of a float type to every other type."""
    flush = ["", ".ftz"] if source == "f32" else [""]
    lines = {f"cvt.{m}{f}.{t}.{source} {{d}}, %a;": t for m in INTEGRAL for t in INTEGERS for f in flush}
    if source == "bf16":  # has no .sat, and wants 8-bit registers for 8-bit integers
        lines = {line: {"s8": "b8", "u8": "b8"}.get(kind, kind) for line, kind in lines.items()}
    else:
        lines |= {f"cvt.rzi.sat.{t}.{source} {{d}}, %a;": t for t in ("s8", "u8", "s32", "u64")}
    for m in INTEGRAL:
        for tail in ("", ".ftz", ".sat", ".ftz.sat"):
            if ("ftz" not in tail or source == "f32") and ("sat" not in tail or source != "bf16"):
                lines[f"cvt.{m}{tail}.{source}.{source} {{d}}, %a;"] = source
    return lines | float_conversions(source)


def float_conversions(source: str) -> dict[str, str]:
    """List conversions of a float type to other float types."""
    if source == "f64":
        lines = {f"cvt.{m}{f}.f32.f64 {{d}}, %a;": "f32" for m in MODES for f in ("", ".ftz", ".sat")}
        return lines | {f"cvt.{m}.{t}.f64 {{d}}, %a;": t for m in MODES for t in ("f16", "bf16")}
    if source in ("f16", "bf16"):
        other = "bf16" if source == "f16" else "f16"
        lines = {f"cvt.{t}.{source} {{d}}, %a;": t for t in ("f32", "f64")}
        lines |= {"cvt.ftz.f32.f16 {d}, %a;": "f32", "cvt.sat.f32.f16 {d}, %a;": "f32"} if source == "f16" else {}
        return lines | {f"cvt.{m}.{other}.{source} {{d}}, %a;": other for m in MODES}
    lines = {"cvt.f64.f32 {d}, %a;": "f64", "cvt.ftz.f64.f32 {d}, %a;": "f64", "cvt.sat.f64.f32 {d}, %a;": "f64"}
    lines |= {f"cvt.{m}.{t}.f32 {{d}}, %a;": t for m in MODES for t in ("f16", "bf16")}
    lines |= {f"cvt.{m}.{t}.f16.f32 {{d}}, %a;": "f16" for m in MODES for t in ("ftz", "sat")}
    lines |= {
        f"cvt.{m}{r}{s}.{t}.f32 {{d}}, %a;": t
        for m in ("rn", "rz")
        for t in ("f16", "bf16", "tf32")
        for r in RELU
        for s in FINITE
        if t != "tf32" or not s  # that needs sm_100
    }
    lines |= {f"cvt.rna{s}.tf32.f32 {{d}}, %a;": "tf32" for s in FINITE}
    return lines


RELU, FINITE = ("", ".relu"), ("", ".satfinite")


def pairs() -> dict[str, Group]:
    """List conversions to and from pairs."""
    inputs = float_operands("f32", 401)
    inputs = {"%a": inputs["%a"], "%b": inputs["%b"]}
    small = np.random.default_rng(402).uniform(-500, 500, 128).astype(np.float32).view(np.uint32)
    inputs["%a"][:128] = small
    inputs["%b"][:128] = near("f32", small, 403)
    ends = [(r, s) for r in RELU for s in FINITE]
    lines = {
        f"cvt.{m}{r}{s}.{t}x2.f32 {{d}}, %a, %b;": f"{t}x2"
        for m in ("rn", "rz")
        for t in ("f16", "bf16")
        for r, s in ends
    }
    eight = [
        (f"cvt.rn.satfinite{r}.{t}x2.%s" % source, f"{t}x2")
        for source in ("f32", "f16x2")
        for t in ("e4m3", "e5m2")
        for r in RELU
    ]
    lines |= {f"{text} {{d}}, %a, %b;": kind for text, kind in eight if text.endswith("f32")}
    found = {"pairs.f32": Group({"%a": "f32", "%b": "f32"}, inputs, lines)}
    lines = {f"{text} {{d}}, %a;": kind for text, kind in eight if text.endswith("f16x2")}
    found["pairs.f16x2"] = Group({"%a": "f16x2"}, {"%a": floats("f16x2", COUNT, 404)}, lines)
    for kind in ("e4m3x2", "e5m2x2"):
        column = np.arange(256, dtype=np.uint16) << 8 | np.arange(255, -1, -1, dtype=np.uint16)
        found[f"pairs.{kind}"] = Group(
            {"%a": kind}, {"%a": column}, {f"cvt.rn{r}.f16x2.{kind} {{d}}, %a;": "f16x2" for r in RELU}
        )
    return found


def of_integers(source: str) -> Group:
    """List conversions of an integer type to floats."""
    bits = int(source[1:])
    column = edges.integers(bits, COUNT, 501).astype(np.uint64)
    column[:64] = [((1 << n) + d) & ((1 << bits) - 1) for n, d in zip(range(64), [-1, 1] * 32, strict=True)]
    lines = {f"cvt.{m}.{t}.{source} {{d}}, %a;": t for m in MODES for t in ("f16", "bf16", "f32", "f64")}
    lines |= {f"cvt.{m}.sat.{t}.{source} {{d}}, %a;": t for m in MODES for t in ("f32", "f64")}
    lines = {line: kind for line, kind in lines.items() if bits > 8 or kind != "bf16"}
    lines |= {f"cvt.{t}.{source} {{d}}, %a;": t for t in INTEGERS if t != source}
    lines |= {f"cvt.sat.{t}.{source} {{d}}, %a;": t for t in INTEGERS if not holds(t, source)}
    width = {8: "u16", 16: "u16", 32: "u32", 64: "u64"}[bits]
    return Group({"%a": width}, {"%a": column.astype(edges.DTYPES[max(bits, 16)])}, lines)


def holds(target: str, source: str) -> bool:
    """Tell whether an integer type has all numbers of another (then .sat is not allowed)."""
    wide, narrow = int(target[1:]), int(source[1:])
    return wide >= narrow if target[0] == source[0] else target[0] == "s" and wide > narrow


def integers(bits: int) -> Group:
    """List integer instructions of a width: division by zero, shifts by too much, bit fields, multiplication."""
    s, u, b = f"s{bits}", f"u{bits}", f"b{bits}"
    lines: dict[str, str] = {}
    for kind in (s, u):
        lines |= {f"{op}.{kind} {{d}}, %a, %b;": kind for op in ("div", "rem", "min", "max", "add", "sub")}
        lines |= {f"{op}.{kind} {{d}}, %a, %b;": kind for op in ("mul.lo", "mul.hi")}
        lines |= {f"mad.{part}.{kind} {{d}}, %a, %b, %c;": kind for part in ("lo", "hi")}
        lines |= {f"shr.{kind} {{d}}, %a, %s;": kind, f"sad.{kind} {{d}}, %a, %b, %c;": kind}
        words = ("eq", "ne", "lt", "le", "gt", "ge")
        lines |= {f"setp.{word}.{kind} {{d}}, %a, %b;": "pred" for word in words}
    lines |= {f"{op}.{s} {{d}}, %a;": s for op in ("neg", "abs")}
    lines |= {f"shl.{b} {{d}}, %a, %s;": b, f"not.{b} {{d}}, %a;": b, f"cnot.{b} {{d}}, %a;": b}
    if bits > 16:
        lines |= wide_integers(bits)
    return integer_group(bits, lines)


def wide_integers(bits: int) -> dict[str, str]:
    """List instructions that 32 and 64 bits have."""
    s, u, b = f"s{bits}", f"u{bits}", f"b{bits}"
    lines = {f"bfe.{kind} {{d}}, %a, %s, %t;": kind for kind in (s, u)}
    lines |= {f"bfi.{b} {{d}}, %a, %b, %s, %t;": b, f"brev.{b} {{d}}, %a;": b}
    lines |= {f"{op}.{b} {{d}}, %a;": "u32" for op in ("popc", "clz")}
    lines |= {f"bfind{w}.{kind} {{d}}, %a;": "u32" for w in ("", ".shiftamt") for kind in (s, u)}
    if bits == 64:
        return lines
    lines |= {f"{op}.sat.s32 {{d}}, %a, %b;": "s32" for op in ("add", "sub")} | {
        "mad.hi.sat.s32 {d}, %a, %b, %c;": "s32"
    }
    lines |= {
        f"{op}24.{part}.{kind} {{d}}, %a, %b{rest};": kind
        for op, rest in (("mul", ""), ("mad", ", %c"))
        for part in ("lo", "hi")
        for kind in (s, u)
    }
    lines |= {f"mul.wide.{kind} {{d}}, %a, %b;": f"{kind[0]}64" for kind in (s, u)}
    lines |= {f"shf.{side}.{m}.b32 {{d}}, %a, %b, %s;": "b32" for side in "lr" for m in ("clamp", "wrap")}
    lines |= {f"prmt.b32{m} {{d}}, %a, %b, %c;": "b32" for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")}
    lines |= {f"lop3.b32 {{d}}, %a, %b, %c, {i};": "b32" for i in (0x1B, 0x96, 0xE8, 0x7F)}
    lines |= {f"bmsk.{m}.b32 {{d}}, %a, %s;": "b32" for m in ("clamp", "wrap")}
    lines |= {f"szext.{m}.{kind} {{d}}, %a, %s;": kind for m in ("clamp", "wrap") for kind in (s, u)}
    lines |= {
        f"dp4a.{x}.{y} {{d}}, %a, %b, %c;": "s32" if "s" in x[0] + y[0] else "u32" for x in (s, u) for y in (s, u)
    }
    lines |= {
        f"dp2a.{h}.{x}.{y} {{d}}, %a, %b, %c;": "s32" if "s" in x[0] + y[0] else "u32"
        for h in ("lo", "hi")
        for x in (s, u)
        for y in (s, u)
    }
    lines |= {f"{op}.{k}x2 {{d}}, %a, %b;": "b32" for op in ("add", "min", "max") for k in ("s16", "u16")}
    lines |= {"slct.u32.s32 {d}, %a, %b, %c;": "u32", "fns.b32 {d}, %a, %s, %n;": "b32"}
    return lines


def integer_group(bits: int, lines: dict[str, str]) -> Group:
    """Give integer instructions operands %a %b %c, amounts %s %t, and a small count %n."""
    types = dict.fromkeys(("%a", "%b", "%c"), f"b{bits}")
    inputs = {name: edges.integers(bits, COUNT, 600 + i) for i, name in enumerate(types)}
    inputs["%b"][:24] = 0
    for i, name in enumerate(("%s", "%t")):
        inputs[name] = np.random.default_rng(610 + i).integers(0, 80, COUNT).astype(np.uint32)
        inputs[name][::8] = edges.integers(32, COUNT, 620 + i)[::8]
        types[name] = "u32"
    if any("%n" in line for line in lines):
        inputs["%n"] = np.random.default_rng(630).integers(-40, 40, COUNT).astype(np.uint32)
        inputs["%s"] = np.where(inputs["%n"] % 2 == 0, inputs["%s"] % 32, inputs["%s"]).astype(np.uint32)
        types["%n"] = "u32"
    return Group(types, inputs, lines)


def groups() -> dict[str, Group]:
    """Answer all that is asked."""
    found: dict[str, Group] = {}
    for i, name in enumerate(("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")):
        inputs = float_operands(name, 100 * i)
        lines = choice(name) | (arithmetic(name) if name in ("f32", "f64") else halves(name))
        found[name] = Group(dict.fromkeys(inputs, name), inputs, lines)
    for i, name in enumerate(("f32", "f64", "f16", "bf16")):
        column = converted(name, 700 + i)
        found[f"cvt.{name}"] = Group({"%a": name}, {"%a": column}, conversions(name))
    found |= approximations() | pairs()
    found |= {f"cvt.{name}": of_integers(name) for name in INTEGERS}
    found |= {f"integers{bits}": integers(bits) for bits in (16, 32, 64)}
    return found | {name: Group(*parts) for name, parts in all_special().items()}


def converted(name: str, seed: int) -> np.ndarray:
    """Draw floats, half of them about the limits of integers, with halves between them."""
    column = floats(name, COUNT, seed)
    if name in ("f32", "f64"):
        rng, kind = np.random.default_rng(seed), {"f32": np.float32, "f64": np.float64}[name]
        sizes = 2.0 ** rng.integers(-2, 66, COUNT // 2) * rng.choice([-1, 1], COUNT // 2)
        moved = (sizes + rng.choice([-1.5, -1, -0.5, 0, 0.5, 1], COUNT // 2)).astype(kind)
        column[: COUNT // 2] = moved.view(column.dtype)
    return column


def main(path: str) -> None:
    """Write the questions: inputs as arrays ``group/register``, the rest as JSON under ``questions``."""
    asked = groups()
    arrays = {f"{name}/{key}": column for name, group in asked.items() for key, column in group.inputs.items()}
    text = {name: {"types": group.types, "lines": group.lines} for name, group in asked.items()}
    registers = {
        kind: register(kind) for group in asked.values() for kind in [*group.types.values(), *group.lines.values()]
    }
    np.savez_compressed(path, questions=np.array(json.dumps({"groups": text, "registers": registers})), **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
