"""multimem.ld_reduce, st and red: every form that ptxas accepts, against the model of the multicast arithmetic."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import straight
from multicasts import ADDRESS, Multicast
from warps import GRANULE, READ_WRITE, Warp

from cumulticast.ptx.runtime import ffi, lib
from native import multimem_model as model

LANES = np.arange(32, dtype=np.uint64)
MATRIX = json.loads((Path(__file__).parent / "data" / "ptxas_multimem_matrix.json").read_text(encoding="utf-8"))
FORMS = MATRIX["accepted"]["sm_100a"]
SMALL = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


class Form:
    """One form, such as ``ld_reduce.add.acc::f32.v4.f16x2``, taken apart."""

    def __init__(self, text: str) -> None:
        self.text, words = text, text.split(".")
        self.verb, self.type = words[0], words[-1]
        self.op = next((word for word in words if word in ("add", "min", "max", "and", "or", "xor")), "")
        self.vector = next((word for word in words if word in ("v2", "v4", "v8")), "")
        self.count = int(self.vector[1:] or 1)
        name, _, packed = self.type.partition("x")
        self.bits = {"e4m3": 8, "e5m2": 8, "bf16": 16}.get(name) or int(name[1:])
        self.packed, self.name = int(packed or 1), f"u{name[1:]}" if name[0] == "b" and name != "bf16" else name
        self.register = self.bits * self.packed
        self.bytes = self.register * self.count // 8
        self.elements = self.count * self.packed
        self.registers = [f"%d{i}" for i in range(self.count)]
        self.operand = "{" + ", ".join(self.registers) + "}" if self.vector else self.registers[0]
        self.declare = f".reg .b64 %a; .reg .b{self.register} {', '.join(self.registers)};"

    @property
    def number(self) -> np.dtype:
        return np.dtype(SMALL[self.name]) if self.name in SMALL else model.NUMPY[self.name]

    def values(self, rows: int, seed: int) -> np.ndarray:
        """Answer rows of 32 lanes' elements: random bits, moderate numbers, and edges."""
        if self.name in SMALL:
            return np.random.default_rng(seed).integers(0, 256, (rows, 32 * self.elements), np.uint8).view(self.number)
        values = model.random_rows(self.name, rows, 32 * self.elements, seed)
        values[:, ::5] = np.random.default_rng(seed).choice(model.edge_values(self.name), values[:, ::5].shape)
        return values

    def combine(self, rows: np.ndarray) -> np.ndarray:
        """Answer what the operation makes of rows, in order."""
        if self.name not in SMALL:
            return model.combine(rows, self.name, self.op)
        wide = rows.astype(np.float32)
        total = wide[0]
        for row in wide[1:]:
            with np.errstate(invalid="ignore"):
                total = total + row if self.op == "add" else self.better(total, row)
        limit = LARGEST[self.name]
        narrow = np.clip(total, -limit, limit).astype(self.number)
        narrow.view(np.uint8)[np.isnan(total)] = 0x7F
        return narrow

    def one_nan(self, words: np.ndarray) -> np.ndarray:
        """Make all NaN of f64 alike: PTX leaves their payload open."""
        if self.name != "f64":
            return words
        return np.where(np.isnan(np.ascontiguousarray(words).view(np.float64)), 0, words)

    def better(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        first = (a < b) | ((a == b) & np.signbit(a))
        best = np.where(first == (self.op == "min"), a, b)
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, best))

    def words(self, values: np.ndarray) -> np.ndarray:
        """Answer 32 lanes' elements as the registers' bits: (registers, lanes)."""
        return np.ascontiguousarray(values).view(f"u{self.register // 8}").reshape(32, self.count).T


def of(verb: str) -> list[Form]:
    return [Form(text) for text in FORMS if text.startswith(f"{verb}.")]


def ids(form: object) -> str:
    return form.text if isinstance(form, Form) else str(form)


def spaced(form: Form, order: str, rest: str) -> str:
    """Write an instruction: the order goes behind the verb, the operation behind the space."""
    return f"multimem.{form.verb}{order}.global{form.text.removeprefix(form.verb)} {rest};"


@pytest.mark.parametrize("form", of("ld_reduce"), ids=ids)
def test_ld_reduce(form: Form) -> None:
    warp = Warp(granules=1)
    for replicas in (1, 3, 8):
        multicast = Multicast(warp, replicas)
        rows = form.values(replicas, replicas)
        for row, values in zip(multicast.rows, rows, strict=True):
            row[: 32 * form.bytes] = values.view(np.uint8)
        body = spaced(form, ".relaxed.sys", f"{form.operand}, [%a]")
        inputs = {"%a": ADDRESS + LANES * np.uint64(form.bytes)}
        out = straight.run(form.declare, body, inputs, form.registers, warp=warp.address, target="sm_100a")
        expected = form.words(form.combine(rows))
        got = np.array([out[name] for name in form.registers])
        assert (form.one_nan(got) == form.one_nan(expected)).all()


PLACES = {"row": LANES, "back": 31 - LANES, "same": LANES * 0, "stride": LANES * 5}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("active", [None, 0x0F0F_00F1])
@pytest.mark.parametrize("uneven", [False, True])
def test_ld_reduce_wherever_lanes_are(place: str, active: int | None, uneven: bool) -> None:
    warp, form = Warp(granules=1), Form("ld_reduce.add.v4.f32")
    multicast = Multicast(warp, 5, uneven=uneven)
    random = np.random.default_rng(2)
    for row in multicast.rows:
        row[:8192].view(np.float32)[:] = random.standard_normal(2048)
    on = np.array([active is None or active >> lane & 1 for lane in range(32)], bool)
    addresses = np.where(on, ADDRESS + 16 * PLACES[place], 5)
    body = spaced(form, ".weak", f"{form.operand}, [%a]")
    out = straight.run(form.declare, body, {"%a": addresses}, form.registers, warp=warp.address, active=active)
    rows = np.array([row[:8192].view(np.float32) for row in multicast.rows])
    expected = model.combine(rows, "f32", "add").reshape(-1, 4)[PLACES[place].astype(int)].T.view(np.uint32)
    assert (np.array([out[name] for name in form.registers])[:, on] == expected[:, on]).all()


@pytest.mark.parametrize("active", [None, 0x0000_0040])
def test_uniform_ld_reduce(active: int | None) -> None:
    warp = Warp(granules=1)
    for i, row in enumerate(Multicast(warp, 8).rows):
        row[16:20].view(np.uint32)[0] = 1 << i
    declare, body = ".reg .b64 %a; .reg .b32 %d;", "multimem.ld_reduce.acquire.sys.global.add.u32 %d, [%a+16];"
    inputs = {"%a": ADDRESS + 0 * LANES}
    out = straight.run(declare, body, inputs, ["%d"], warp=warp.address, uniform=True, active=active)
    assert (out["%d"] == 255).all()


@pytest.mark.parametrize("form", of("st"), ids=ids)
@pytest.mark.parametrize("place", ["row", "stride"])
def test_st(form: Form, place: str) -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 3)
    values = np.random.default_rng(1).integers(0, 256, 32 * form.bytes, np.uint8)
    expected = np.zeros(multicast.extent, np.uint8)
    for lane, at in enumerate(PLACES[place].astype(int)):
        expected[at * form.bytes : (at + 1) * form.bytes] = values[lane * form.bytes : (lane + 1) * form.bytes]
    inputs = {"%a": ADDRESS + PLACES[place] * np.uint64(form.bytes)}
    inputs |= dict(zip(form.registers, form.words(values), strict=True))
    body = spaced(form, ".release.sys", f"[%a], {form.operand}")
    straight.run(form.declare, body, inputs, [], warp=warp.address, target="sm_100a")
    for row in multicast.rows:
        assert (row == expected).all()


def test_st_of_some_lanes_leaves_the_rest() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 4, uneven=True)
    inputs = {"%a": ADDRESS + LANES * 4, "%d": LANES + 1}
    declare, body = ".reg .b64 %a; .reg .b32 %d;", "multimem.st.weak.global.u32 [%a], %d;"
    straight.run(declare, body, inputs, [], warp=warp.address, active=0x8000_0021)
    for row in multicast.rows:
        words = row[:128].view(np.uint32)
        assert words[[0, 5, 31]].tolist() == [1, 6, 32] and words.sum() == 39


@pytest.mark.parametrize("form", of("red"), ids=ids)
def test_red(form: Form) -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 3)
    rows, values = form.values(3, 1), form.values(1, 2)[0]
    for row, held in zip(multicast.rows, rows, strict=True):
        row[: 32 * form.bytes] = held.view(np.uint8)
    inputs = {"%a": ADDRESS + LANES * np.uint64(form.bytes)}
    inputs |= dict(zip(form.registers, form.words(values), strict=True))
    body = spaced(form, ".release.sys", f"[%a], {form.operand}")
    straight.run(form.declare, body, inputs, [], warp=warp.address, target="sm_100a")
    for row, held in zip(multicast.rows, rows, strict=True):
        expected = form.words(form.combine(np.array([held, values])))
        got = form.words(row[: 32 * form.bytes])
        assert (form.one_nan(got) == form.one_nan(expected)).all()
        assert not row[32 * form.bytes :].any()


def test_red_of_lanes_that_meet() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 8, uneven=True)
    declare, body = ".reg .b64 %a; .reg .b32 %d;", "multimem.red.relaxed.sys.global.add.u32 [%a], %d;"
    for uniform, expected in ((False, 496), (True, 496)):  # uniform: lane 0's 0, 32 times
        inputs = {"%a": ADDRESS + 0 * LANES, "%d": LANES}
        straight.run(declare, body, inputs, [], warp=warp.address, uniform=uniform)
        assert [row[:4].view(np.uint32)[0] for row in multicast.rows] == [expected] * 8
    straight.run(declare, body, {"%a": ADDRESS + 0 * LANES, "%d": LANES * 0 + 2}, [], warp=warp.address, uniform=True)
    assert [row[:4].view(np.uint32)[0] for row in multicast.rows] == [496 + 64] * 8


@pytest.mark.parametrize("form", [Form("red.add.u32"), Form("red.add.v4.f32"), Form("red.add.f16x2")], ids=ids)
def test_two_threads_lose_nothing(form: Form) -> None:
    warp, rounds = Warp(granules=1), 30
    multicast = Multicast(warp, 4)
    one = np.ones(32 * form.elements, form.number)
    body = spaced(form, ".relaxed.sys", f"[%a], {form.operand}")
    inputs = {"%a": ADDRESS + 0 * LANES, **dict(zip(form.registers, form.words(one), strict=True))}
    compiled = straight.prepare(form.declare, body, list(inputs), [])
    threads = [threading.Thread(target=lambda: [compiled(inputs, warp.address) for _ in range(rounds)]) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in multicast.rows:
        assert (row[: form.bytes].view(form.number) == 2 * rounds * 32).all()


# ---- faults


def judge(warp: Warp, address: int, size: int) -> tuple[int, str]:
    reason = ffi.new("char[512]")
    return lib.ptx_judge_multimem(warp.struct, address, size, reason), ffi.string(reason).decode()


def test_faults_say_what_is_there() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 4, 2 * GRANULE)
    multicast.bind([(0, 4096), (8192, GRANULE)], [(4096, 8192, 2)])
    assert judge(warp, ADDRESS, 16) == (0, "") and judge(warp, ADDRESS + 4096 - 16, 16)[0] == 0
    status, reason = judge(warp, ADDRESS + 4096, 16)
    assert status == 700 and "device 2 has no memory bound" in reason
    assert judge(warp, ADDRESS + 8192, 16) == (0, "")
    status, reason = judge(warp, ADDRESS + GRANULE, 4)
    assert status == 700 and "no memory is bound" in reason
    status, reason = judge(warp, ADDRESS + 4, 8)
    assert status == 716 and "no multiple of 8" in reason
    status, reason = judge(warp, warp.base, 4)
    assert status == 700 and "needs a multicast address" in reason
    status, reason = judge(warp, 0x77 * GRANULE, 4)
    assert status == 700 and "nothing is mapped" in reason


@pytest.mark.parametrize("stale", [0, 1, 7, 1 << 40])
def test_a_stale_guess_is_no_harm(stale: int) -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 2)
    multicast.bind([(0, 4096), (4096, 8192)])
    multicast.rows[1][:128] = 1
    multicast.table.last = stale
    declare, body = ".reg .b64 %a; .reg .b32 %d;", "multimem.ld_reduce.weak.global.add.u32 %d, [%a];"
    out = straight.run(declare, body, {"%a": ADDRESS + 4 * LANES}, ["%d"], warp=warp.address)
    assert (out["%d"] == 0x01010101).all()
    multicast.bind([])  # a table without segments
    assert judge(warp, ADDRESS, 4)[0] == 700


def test_a_device_without_access_is_refused() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 4)
    multicast.segments[0].usable = 0
    status, reason = judge(warp, ADDRESS, 4)
    assert status == 700 and "no access" in reason
    multicast.segments[0].usable = 1
    assert judge(warp, ADDRESS, 4) == (0, "")


def test_the_table_is_brought_up_to_date() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 2)
    multicast.bind([(0, 4096)])
    asked: list[int] = []

    @ffi.callback("int(void *, uint64_t)")
    def refresh(_context: object, address: int) -> int:
        asked.append(address)
        multicast.bind([(0, 8192)])
        return 1

    assert judge(warp, ADDRESS + 4096, 4)[0] == 700
    multicast.table.refresh = refresh
    assert judge(warp, ADDRESS + 4096, 4) == (0, "") and asked == [ADDRESS + 4096]


def test_ordinary_access_to_a_multicast_address_is_refused() -> None:
    warp = Warp(granules=1)
    Multicast(warp, 2)
    status, reason = warp.judge(0, ADDRESS, 4, READ_WRITE)
    assert status == 700 and "multicast address" in reason and "multimem" in reason
    assert warp.judge(0, warp.base, 4, READ_WRITE) == (0, "")
