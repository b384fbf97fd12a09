"""Questions about what the documents leave open: NaNs that meet, results on the border of the subnormal numbers."""

from __future__ import annotations

from itertools import product

import numpy as np

MODES = ("rn", "rz", "rm", "rp")
#: NaNs (signs, quiet and signalling, payloads low and high) and numbers that make new NaNs of them.
NAN_64 = [0x7FF8000000000001, 0xFFF8000000000002, 0x7FF0000000000003, 0xFFF4000000000004, 0x7FFFFFFFFFFFFFFF]
NUMBERS_64 = [0, 0x8000000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x3FF8000000000000]
Parts = tuple[dict[str, str], dict[str, np.ndarray], dict[str, str]]


def nans(name: str) -> Parts:
    """Let every pair and triple of NaNs and numbers meet."""
    values = np.array([*NAN_64, *NUMBERS_64], np.uint64)
    if name == "f32":
        values = (values >> np.uint64(32) & np.uint64(0x80000000)) | (values >> np.uint64(29) & np.uint64(0x7FFFFFFF))
        values = np.where(values & np.uint64(0x7FFFFFFF) == 0x7F800000, values | (np.arange(10) < 5), values)
    rows = np.array(list(product(values, repeat=3)))[:, ::-1]
    rows = np.concatenate([rows, rows[: 1024 - len(rows)]]).astype(np.uint32 if name == "f32" else np.uint64)
    inputs = {f"%{letter}": np.ascontiguousarray(rows[:, i]) for i, letter in enumerate("abc")}
    lines = [f"{op}.rn.{name} {{d}}, %a, %b;" for op in ("add", "sub", "mul", "div")]
    lines += [f"{op}.{name} {{d}}, %a, %b;" for op in ("min", "max", "copysign")] + [
        f"fma.rn.{name} {{d}}, %a, %b, %c;"
    ]
    lines += [f"{op}.{name} {{d}}, %a;" for op in ("rcp.rn", "sqrt.rn", "neg", "abs", "rsqrt.approx")]
    lines += [f"sub.rm.{name} {{d}}, %a, %b;", f"fma.rz.{name} {{d}}, %a, %b, %c;"]
    return dict.fromkeys(inputs, name), inputs, dict.fromkeys(lines, name)


def border() -> Parts:
    """Multiply, divide and convert to about 2^-126, where .ftz may look before or after rounding."""
    rng = np.random.default_rng(900)
    steps = np.concatenate([rng.integers(1, 40, 256), rng.integers(1, 4096, 128), rng.integers(1, 1 << 23, 128)])
    a = 1 + steps * 2.0**-23
    near = np.concatenate([1 / a, 1 - steps * 2.0**-23])[rng.integers(0, 2, 512) * 512 + np.arange(512)]
    exponent = rng.integers(-90, -30, 512)
    left = np.ldexp(a, exponent).astype(np.float32)
    right = np.ldexp(near, -126 - exponent).astype(np.float32)
    quotient = np.ldexp(1 / near, exponent + 126).astype(np.float32)
    wide = np.ldexp(1 + rng.choice([-1.0, 1.0], 512) * np.ldexp(1.0, -rng.integers(20, 50, 512)), -126)
    wide[::7] = np.ldexp(rng.uniform(0.5, 1, 74), -126)
    inputs = {"%a": left.view(np.uint32), "%b": right.view(np.uint32), "%q": quotient.view(np.uint32)}
    inputs["%r"] = np.ldexp((1 / near).astype(np.float32), 126).astype(np.float32).view(np.uint32)
    inputs["%c"] = (rng.integers(0, 3, 512) * rng.integers(0x00800000, 0x01000000, 512)).astype(np.uint32)
    inputs["%w"] = wide.view(np.uint64)
    for name in ("%a", "%b"):
        inputs[name] = inputs[name] | (rng.integers(0, 2, 512) << 31).astype(np.uint32)
    lines = [f"mul.{m}{f}{s}.f32 {{d}}, %a, %b;" for m in MODES for f in ("", ".ftz") for s in ("", ".sat")]
    lines += [
        f"fma.{m}{f}{s}.f32 {{d}}, %a, %b, {z};"
        for m in MODES
        for f in ("", ".ftz")
        for s in ("", ".sat")
        for z in ("%c", "0f80000000")
    ]
    lines += [f"div.{m}{f}.f32 {{d}}, %a, %q;" for m in MODES for f in ("", ".ftz")]
    lines += [f"rcp.{m}{f}.f32 {{d}}, %r;" for m in MODES for f in ("", ".ftz")]
    lines += [f"cvt.{m}{f}.f32.f64 {{d}}, %w;" for m in MODES for f in ("", ".ftz")]
    return {name: "f64" if name == "%w" else "f32" for name in inputs}, inputs, dict.fromkeys(lines, "f32")


def border_of_halves() -> Parts:
    """The same for f16: products about 2^-14."""
    rng = np.random.default_rng(901)
    a = rng.integers(0x400, 0x800, 1024)
    b = np.clip((1 << 20) // np.maximum(a, 1) * 1 + rng.integers(-2, 3, 1024), 0x400, 0x7FF)
    shift = rng.integers(1, 14, 1024)
    left = (shift << 10) + a - 0x400
    right = ((15 - shift + rng.integers(0, 2, 1024)) << 10) + b - 0x400
    signs = rng.integers(0, 2, (2, 1024)) << 15
    inputs = {"%a": (left | signs[0]).astype(np.uint16), "%b": (right | signs[1]).astype(np.uint16)}
    inputs["%c"] = (rng.integers(0, 2, 1024) * rng.integers(0x400, 0x420, 1024)).astype(np.uint16)
    lines = [f"mul.rn{t}.f16 {{d}}, %a, %b;" for t in ("", ".ftz", ".sat", ".ftz.sat")]
    lines += [f"fma.rn{t}.f16 {{d}}, %a, %b, %c;" for t in ("", ".ftz", ".ftz.sat", ".ftz.relu")]
    return dict.fromkeys(inputs, "f16"), inputs, dict.fromkeys(lines, "f16")


def nan_conversions(name: str) -> Parts:
    """Convert NaNs with every kind of payload."""
    exponent, mantissa = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}[name]
    rng = np.random.default_rng(902)
    payload = rng.integers(1, 1 << mantissa, 256, np.uint64) >> rng.integers(0, mantissa, 256, np.uint64)
    payload = np.maximum(payload, np.uint64(1)) | (rng.integers(0, 2, 256, np.uint64) << np.uint64(mantissa - 1))
    bits = (
        rng.integers(0, 2, 256, np.uint64) << np.uint64(exponent + mantissa)
        | np.uint64((1 << exponent) - 1 << mantissa)
        | payload
    )
    kinds = {"f16": "f64 f32 bf16", "bf16": "f64 f32 f16", "f32": "f64 f16 bf16 tf32", "f64": "f32 f16 bf16"}[
        name
    ].split()
    sizes = {"f16": 16, "bf16": 16, "tf32": 19, "f32": 32, "f64": 64}
    lines = {}
    for kind in kinds:
        narrower = sizes[kind] < sizes[name] or {kind, name} == {"f16", "bf16"}
        for mode in (".rn", ".rz") if narrower else ("",):
            lines[f"cvt{mode}.{kind}.{name} {{d}}, %a;"] = kind
    lines |= {f"cvt.{word}.{name}.{name} {{d}}, %a;": name for word in ("rni", "rmi")}
    if name == "f32":
        lines |= {
            "cvt.rna.tf32.f32 {d}, %a;": "tf32",
            "cvt.rna.satfinite.tf32.f32 {d}, %a;": "tf32",
            "cvt.rzi.ftz.f32.f32 {d}, %a;": "f32",
        }
        lines |= {"cvt.ftz.f64.f32 {d}, %a;": "f64"}
    column = {16: np.uint16, 32: np.uint32, 64: np.uint64}[1 + exponent + mantissa]
    return {"%a": name}, {"%a": bits.astype(column)}, lines


def large_divisors() -> Parts:
    """Divide by numbers about 2^126, where div.approx begins to answer 0."""
    rng = np.random.default_rng(903)
    b = (np.uint32(0x7E800000) + rng.integers(-3, 4, 256).astype(np.int64)).astype(np.uint32)
    b[64:] = rng.integers(0x7E000000, 0x7F800001, 192)
    a = rng.integers(0, 0x7F800001, 256).astype(np.uint32)
    a[::16], a[1::16], a[2::16] = 0x7F800000, 0, 0xFF800000
    inputs = {"%a": a, "%b": b | (rng.integers(0, 2, 256) << 31).astype(np.uint32)}
    lines = [f"div.{w}{f}.f32 {{d}}, %a, %b;" for w in ("approx", "full") for f in ("", ".ftz")]
    return dict.fromkeys(inputs, "f32"), inputs, dict.fromkeys(lines, "f32")


def all_special() -> dict[str, Parts]:
    """Answer the groups by name."""
    found = {f"nan.{name}": nans(name) for name in ("f32", "f64")}
    found |= {f"nan.cvt.{name}": nan_conversions(name) for name in ("f16", "bf16", "f32", "f64")}
    return found | {"border.f32": border(), "border.f16": border_of_halves(), "approx.large": large_divisors()}
