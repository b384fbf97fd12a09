"""Floating point on hosts that can do less: no fused multiply-add, no F16C, no AVX; never a call of a library."""

from __future__ import annotations

import float_model as model
import gpu_recording
import pytest
from float_bench import carry_out, floats, near, register, wrong
from llvmlite import binding as llvm
from straight import HEADER, _ir

from cumulticast.ptx import machine_code
from cumulticast.ptx.lower import float_exact, float_round
from cumulticast.ptx.lower.emitter import Emitter, Slot
from cumulticast.ptx.parser import parse

COUNT = 128


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_fma_without_such_an_instruction(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_exact, "has_fma", lambda: False)
    inputs = {"%a": floats(name, COUNT, 1), "%b": floats(name, COUNT, 2)}
    inputs["%c"] = near(name, inputs["%a"], 3)
    line = f"fma.rn.{name} {{d}}, %a, %b, %c;"
    results = carry_out({line: name}, inputs, dict.fromkeys(inputs, name))
    want = []
    for row in zip(*(column.tolist() for column in inputs.values()), strict=True):
        bits = model.encode(model.fuse(*(model.decode(each, name) for each in row)), name)
        want.append(model.first_nan([row[1], row[2], row[0]], bits) if name == "f64" else bits)
    assert not wrong(results[line], want, inputs)


@pytest.mark.parametrize(
    "name", ["f16", "f16x2", "cvt.f16", "cvt.f32", "cvt.u64", "nan.cvt.f16", "border.f16", "pairs.f16x2"]
)
def test_halves_without_such_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_round, "has_f16c", lambda: False)
    asked = gpu_recording.recording()[name]
    lines = {line: kind for line, kind in asked.lines.items() if "f16" in line and not line.startswith(INTEGER_ONLY)}
    for line, ours in carry_out(lines, asked.inputs, asked.types, target="sm_90").items():
        assert not wrong(ours, asked.answers[line].tolist(), asked.inputs), line


def called(group: gpu_recording.Asked, processor: str) -> set[str]:
    """Compile a group's instructions for another processor and answer what the code calls."""
    lines = [line for line in group.lines if not line.startswith(INTEGER_ONLY)]
    declared = [f".reg .{register(kind)} {name};" for name, kind in group.types.items()]
    declared += [f".reg .{register(group.lines[line])} %d{i};" for i, line in enumerate(lines)]
    body = "\n".join(line.format(d=f"%d{i}") for i, line in enumerate(lines))
    function = parse(HEADER.format(target="sm_90") + "\n".join(declared) + "\n" + body + "\nret;\n}\n").functions["k"]
    em = Emitter({name: Slot(Emitter.kind(kind)) for name, kind in function.registers.items()})
    module = llvm.parse_assembly(_ir(em, function.body or [], list(group.types), [f"%d{i}" for i in range(len(lines))]))
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    code = target.create_target_machine(cpu=processor, reloc="pic", codemodel="default", opt=0).emit_object(module)
    return set(machine_code.undefined(llvm.ObjectFileRef.from_data(code)))


#: Comparisons and the like, which are not this test's.
INTEGER_ONLY = ("setp", "slct")


@pytest.mark.parametrize(
    "name", ["f32", "f64", "f16x2", "bf16x2", "cvt.f32", "cvt.f64", "cvt.f16", "cvt.u64", "approx.f32"]
)
def test_no_library_is_called(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """x86-64-v2 has SSE4.1 and no more."""
    monkeypatch.setattr(float_exact, "has_fma", lambda: False)
    monkeypatch.setattr(float_round, "has_f16c", lambda: False)
    assert {symbol for symbol in called(gpu_recording.recording()[name], "x86-64-v2") if symbol[:4] != "ptx_"} == set()


def test_library_calls_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_exact, "has_fma", lambda: True)
    monkeypatch.setattr(float_round, "has_f16c", lambda: True)
    assert "fmaf" in called(gpu_recording.recording()["f32"], "x86-64-v2")
    assert "__truncsfhf2" in called(gpu_recording.recording()["cvt.f16"], "x86-64-v2")
