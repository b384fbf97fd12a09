"""mma.sync, every form and type: held to numpy's product, and to the bits that an H200 answered for the same inputs."""

from __future__ import annotations

import errno
import io
import lzma
from functools import cache
from pathlib import Path

import mma_model as model
import numpy as np
import pytest
from grid import Grid
from mma_model import Form

from cumulticast.ptx.runtime import lib

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
NAMES = [form.name for form in model.FORMS]
RECORDING = Path(__file__).parent / "data" / "h200_mma.npz.xz"
#: What an H200 adds to the bound, in 2^-24: it cuts bits off where this rounds.
CUT = 2

pytestmark = pytest.mark.filterwarnings("ignore:invalid value|overflow:RuntimeWarning")


@cache
def recording() -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(lzma.decompress(RECORDING.read_bytes()))) as found:
        return dict(found)


@cache
def answers(form: Form) -> np.ndarray:
    """Run all trials of a form, each a block; D's registers by trial."""
    memory = np.concatenate([model.image(form, *model.inputs(form, trial)) for trial in model.TRIALS])
    fault = Grid(HEADER + model.kernel(form))("k", len(model.TRIALS), 32, [memory])
    assert fault.status == 0, fault
    return memory.reshape(len(model.TRIALS), -1)[:, -model.registers(form)["d"] * model.LANES :]


def matrix(form: Form, registers: np.ndarray) -> np.ndarray:
    """D as a matrix of bits."""
    return model.unpack(registers.reshape(-1, model.LANES), model.places(form)["d"], form.d, model.sizes(form)["d"])


def numbers(form: Form, trial: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    bits = model.inputs(form, trial)
    return tuple(model.values(part, kind) for part, kind in zip(bits, (form.a, form.b, form.c), strict=True))  # type: ignore[return-value]


def exact(form: Form, trial: str) -> np.ndarray:
    a, b, c = numbers(form, trial)
    total = model.product(form, a, b) + c
    if form.d == "s32":
        low, high = -(2**31), 2**31 - 1
        return np.clip(total, low, high) if "satfinite" in form.words else (total - low) % 2**32 + low
    return total


def bound(form: Form, trial: str, places: float) -> np.ndarray:
    """How far D may be from the exact result: see lower/mma.py."""
    a, b, c = numbers(form, trial)
    error = places * 2.0**-24 * (model.product(form, np.abs(a), np.abs(b)) + np.abs(c))
    if form.d == "f16":
        error += np.maximum(np.abs(exact(form, trial)) * 2.0**-11, 2.0**-25)
    return error


def assert_near(form: Form, trial: str, registers: np.ndarray, allowed: np.ndarray) -> None:
    """Hold D to the exact result; infinities and NaN exactly, and NaN canonical."""
    bits = matrix(form, registers)
    found, want = model.values(bits, form.d), exact(form, trial)
    nan = np.isnan(want)
    assert (bits[nan] == {"f16": 0x7FFF, "f32": 0x7FFFFFFF}[form.d]).all()
    assert not np.isnan(found[~nan]).any()
    # f16 overflows from 65520 on; nothing in these trials overflows f32.
    infinite = np.isinf(want) | ((np.abs(want) >= 65520) if form.d == "f16" else False)
    assert (found[infinite] == np.copysign(np.inf, want[infinite])).all()
    rest = ~nan & ~infinite
    assert (np.abs(found - want)[rest] <= allowed[rest]).all()


@pytest.mark.parametrize("form", model.FORMS, ids=NAMES)
def test_small_integers_are_exact(form: Form) -> None:
    registers = answers(form)[model.TRIALS.index("small")]
    assert np.array_equal(model.values(matrix(form, registers), form.d), exact(form, "small"))


@pytest.mark.parametrize("form", [form for form in model.FORMS if not form.exact], ids=lambda form: form.name)
@pytest.mark.parametrize("trial", ["normal", "wide", "odd"])
def test_floats_stay_within_the_documented_bound(form: Form, trial: str) -> None:
    registers = answers(form)[model.TRIALS.index(trial)]
    assert_near(form, trial, registers, bound(form, trial, form.k + 1))


@pytest.mark.parametrize("form", [form for form in model.FORMS if form.d == "s32"], ids=lambda form: form.name)
def test_integers_wrap_or_saturate(form: Form) -> None:
    want = exact(form, "wide")
    assert np.array_equal(model.values(matrix(form, answers(form)[model.TRIALS.index("wide")]), "s32"), want)
    if form.a != "b1":
        a, b, c = numbers(form, "wide")
        assert (want != model.product(form, a, b) + c).any(), "the trial overflows nowhere"


def test_every_instruction_set_answers_the_same_bits() -> None:
    """The loop ends with the widest one in use, as it was."""
    forms = [form for form in model.FORMS if form.name.split(".")[3] in ("m16n8k8", "m16n8k16")][::2]
    widest, index = [answers(form) for form in forms], 0
    while (status := lib.mma_use_kernels(index)) != errno.ERANGE:
        assert status in (0, errno.ENOSYS)
        if not status:
            assert all(map(np.array_equal, widest, map(answers.__wrapped__, forms)))
        index += 1
    assert index > 0


# ---- against hardware


@pytest.mark.parametrize("form", [form for form in model.FORMS if form.exact], ids=lambda form: form.name)
def test_exact_forms_have_the_bits_of_an_h200(form: Form) -> None:
    """f64 in every rounding mode too, and with NaN payloads."""
    assert np.array_equal(answers(form), recording()[form.name])


@pytest.mark.parametrize("form", [form for form in model.FORMS if not form.exact], ids=lambda form: form.name)
def test_an_h200_is_as_near(form: Form) -> None:
    """That it answers within the bound for both shows that elements lie in the same places, and what NaN looks like."""
    ours, theirs = answers(form), recording()[form.name]
    assert np.array_equal(ours[0], theirs[0])
    # It sums products of 8-bit floats for an f16 D in f16, sixteen at a time.
    halves = (form.k // 16 + 1) * 2**13 if form.a in ("e4m3", "e5m2") and form.d == "f16" else 0
    for trial, registers in zip(model.TRIALS, theirs, strict=True):
        assert_near(form, trial, registers, bound(form, trial, form.k + 1 + CUT + halves))


# ---- what is refused


def broken(guard: str, condition: str) -> str:
    body = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r0, %r1};"
    return (
        HEADER + ".visible .entry k(.param .u64 io) {\n.reg .pred %p; .reg .b32 %lane, %n, %r<5>; .reg .b64 %at;\n"
        "ld.param.u64 %at, [io]; mov.u32 %lane, %tid.x; mad.wide.u32 %at, %lane, 4, %at;\n"
        "mov.u32 %r0, 0x3c003c00; mov.u32 %r1, %r0; mov.u32 %r2, %r0; mov.u32 %r3, %r0; mov.u32 %r4, %r0;\n"
        f"setp.{condition}.u32 %p, %lane, 16;\n"
        f"{guard}{body}\n"
        "st.global.b32 [%at], %r0;\nret;\n}\n"
    )


def test_a_part_of_a_warp_ends_the_kernel_and_the_whole_does_not() -> None:
    out = np.zeros(32, np.uint32)
    fault = Grid(broken("@%p ", "lt"))("k", 1, 32, [out])
    assert (fault.status, fault.line) == (719, 9) and ".aligned" in fault.reason
    assert Grid(broken("", "lt"))("k", 1, 32, [out]).status == 0
    assert (out == 0x48804880).all()  # 1 + 8


@pytest.mark.parametrize(("condition", "want"), [("ge", 0x3C003C00), ("lt", 0x48804880)])
def test_a_guard_that_all_lanes_evaluate_alike(condition: str, want: int) -> None:
    out = np.zeros(32, np.uint32)
    text = (
        broken("@%p ", condition).replace("%p, %lane, 16", "%p, %n, 16").replace("setp", "and.b32 %n, %lane, 0; setp")
    )
    assert Grid(text)("k", 1, 32, [out]).status == 0
    assert (out == want).all()
