"""ld and st against numpy: types, widths, spaces; addresses in a row, scattered, the same; lanes that are off."""

from __future__ import annotations

import numpy as np
import pytest
import straight
from warps import LOCAL_BYTES, Warp

LANES = np.arange(32, dtype=np.uint64)
RANDOM = np.random.default_rng(5)
ALL = 0xFFFFFFFF
MASKS = [None, ALL, 0x00010000, 0x0FF00FF1]
#: Which slot of its size each lane takes.
PLACES = {
    "row": LANES,
    "same": LANES * 0,
    "stride": LANES * 3,
    "back": 31 - LANES,
    "random": RANDOM.permutation(32).astype(np.uint64),
}
REGISTER = {8: "b16", 16: "b16", 32: "b32", 64: "b64"}


@pytest.fixture(scope="module")
def warp() -> Warp:
    made = Warp()
    made.memory[:8192] = RANDOM.integers(0, 256, 8192)
    return made


def lanes_of(active: int | None) -> np.ndarray:
    return ((ALL if active is None else active) >> LANES & 1).astype(bool)


def load(warp: Warp, what: str, names: list[str], bits: int, addresses: np.ndarray, **options: object) -> np.ndarray:
    """Answer what each register of a load holds: an array (registers, lanes)."""
    declare = f".reg .b64 %a; .reg .b{bits} {', '.join(names)};"
    target = "{" + ", ".join(names) + "}" if len(names) > 1 else names[0]
    out = straight.run(declare, f"ld.{what} {target}, [%a];", {"%a": addresses}, names, warp=warp.address, **options)
    return np.array([out[name] for name in names])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("active", MASKS)
def test_load_takes_each_lane_to_its_address(warp: Warp, place: str, active: int | None) -> None:
    on = lanes_of(active)
    addresses = np.where(on, warp.base + 4 * PLACES[place], 1)  # a lane that is off has any address
    got = load(warp, "global.u32", ["%d"], 32, addresses, active=active)
    expected = warp.memory[:4096].view(np.uint32)[PLACES[place]]
    assert (got[0][on] == expected[on]).all()


@pytest.mark.parametrize(
    ("count", "bits"), [(2, 8), (4, 8), (2, 16), (4, 16), (2, 32), (4, 32), (8, 32), (2, 64), (4, 64)]
)
@pytest.mark.parametrize("place", ["row", "random", "same"])
@pytest.mark.parametrize("uniform", [False, True])
def test_vector_load_takes_memory_apart(warp: Warp, count: int, bits: int, place: str, uniform: bool) -> None:
    names = [f"%d{i}" for i in range(count)]
    places = PLACES[place] * (0 if uniform else 1)
    addresses = warp.base + places * np.uint64(count * bits // 8)
    got = load(warp, f"global.v{count}.b{bits}", names, max(bits, 16), addresses, uniform=uniform, target="sm_100a")
    table = warp.memory[: 32 * count * bits // 8].view(f"u{bits // 8}").reshape(32, count)
    assert (got == table[places].T).all()


FORMS = [
    (f"{letter}{bits}", wide) for letter in "bus" for bits in (8, 16, 32, 64) for wide in (16, 32, 64) if wide >= bits
]


@pytest.mark.parametrize(("kind", "register"), [*FORMS, ("f32", 32), ("f64", 64)])
def test_load_widens_by_its_type(warp: Warp, kind: str, register: int) -> None:
    bits = int(kind[1:])
    got = load(warp, f"global.{kind}", ["%d"], register, warp.base + LANES * (bits // 8))
    sign = "i" if kind[0] == "s" else "u"
    expected = (
        warp.memory[: 4 * bits].view(f"{sign}{bits // 8}").astype(f"{sign}{register // 8}").view(f"u{register // 8}")
    )
    assert (got[0] == expected).all()


def test_load_of_128_bits(warp: Warp) -> None:
    names = ["%x", "%y"]
    for places in (LANES, LANES[::-1]):
        out = straight.run(
            ".reg .b64 %a, %x, %y; .reg .b128 %q;",
            "ld.global.b128 %q, [%a]; st.shared.b128 [%x], %q; ld.shared.v2.u64 {%x, %y}, [%x];",
            {"%a": warp.base + 16 * places, "%x": 16 * LANES},
            names,
            warp=warp.address,
        )
        got = np.array([out[name] for name in names]).T
        assert (got == warp.memory[:512].view(np.uint64).reshape(32, 2)[places]).all()


STRENGTHS = ["", "volatile.", "relaxed.gpu.", "acquire.sys.", "weak.", "relaxed.cta.", "mmio.relaxed.sys."]


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("uniform", [False, True])
def test_load_with_order(warp: Warp, strength: str, uniform: bool) -> None:
    addresses = warp.base + LANES * (0 if uniform else 4)
    got = load(warp, f"{strength}global.u32", ["%d"], 32, addresses, uniform=uniform)
    assert (got[0] == warp.memory[:128].view(np.uint32)[(addresses - warp.base) // 4]).all()


HINTS = ["ca", "cg", "cs", "lu", "cv", "nc", "nc.L1::no_allocate", "L1::evict_first", "L2::128B", "nc.L2::256B"]


@pytest.mark.parametrize("hint", HINTS)
def test_hints_change_nothing(warp: Warp, hint: str) -> None:
    got = load(warp, f"global.{hint}.u32", ["%d"], 32, warp.base + 4 * LANES)
    assert (got[0] == warp.memory[:128].view(np.uint32)).all()


def store(warp: Warp, what: str, values: np.ndarray, addresses: np.ndarray, **options: object) -> None:
    """Store ``values`` (registers, lanes)."""
    names = [f"%d{i}" for i in range(len(values))]
    bits = values.dtype.itemsize * 8
    source = "{" + ", ".join(names) + "}" if len(names) > 1 else names[0]
    inputs = {"%a": addresses, **dict(zip(names, values, strict=True))}
    declare = f".reg .b64 %a; .reg .b{bits} {', '.join(names)};"
    straight.run(declare, f"st.{what} [%a], {source};", inputs, [], warp=warp.address, **options)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("place", ["row", "stride", "back", "random"])
@pytest.mark.parametrize("active", [None, 0x8421_0F0F])
def test_store_writes_its_lanes_and_nothing_else(count: int, bits: int, place: str, active: int | None) -> None:
    warp, on = Warp(granules=1), lanes_of(active)
    values = RANDOM.integers(0, 1 << bits, (count, 32), np.uint64).astype(f"u{bits // 8}")
    size = count * bits // 8
    expected = warp.memory.copy()
    for lane in np.flatnonzero(on):
        at = int(PLACES[place][lane]) * size
        expected[at : at + size] = np.ascontiguousarray(values[:, lane]).view(np.uint8)
    vector = f"v{count}." if count > 1 else ""
    store(warp, f"global.{vector}b{bits}", values, np.where(on, warp.base + PLACES[place] * size, 3), active=active)
    assert (warp.memory == expected).all()


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_store_narrows(bits: int) -> None:
    warp = Warp(granules=1)
    values = RANDOM.integers(0, 1 << 32, (1, 32), np.uint64).astype(np.uint32)
    if bits == 16:
        values = values.astype(np.uint16)
    store(warp, f"global.u{bits}", values, warp.base + LANES * (bits // 8))
    assert (warp.memory[: 4 * bits].view(f"u{bits // 8}") == values[0].astype(f"u{bits // 8}")).all()


def test_uniform_store_writes_once() -> None:
    warp = Warp(granules=1)
    store(warp, "release.gpu.global.u32", np.full((1, 32), 77, np.uint32), warp.base + 0 * LANES, uniform=True)
    assert warp.memory[:8].view(np.uint32).tolist() == [77, 0]


@pytest.mark.parametrize("register", [32, 64])
@pytest.mark.parametrize("place", ["row", "random"])
def test_shared_addresses_are_offsets(register: int, place: str) -> None:
    warp = Warp()
    body = "st.shared.u32 [%a+128], %d; ld.shared.u32 %e, [%b+128];"
    values = RANDOM.integers(0, 1 << 32, 32, np.uint64)
    inputs = {"%a": 4 * PLACES[place], "%b": 4 * LANES, "%d": values}
    out = straight.run(f".reg .b{register} %a, %b; .reg .b32 %d, %e;", body, inputs, ["%e"], warp=warp.address)
    assert (out["%e"][PLACES[place]] == values).all()
    assert (warp.shared[128:256].view(np.uint32) == out["%e"]).all()


@pytest.mark.parametrize("uniform", [False, True])
def test_local_memory_is_each_lanes_own(uniform: bool) -> None:
    warp = Warp()
    values = np.full(32, 9) if uniform else LANES + 100
    declare, body = ".reg .b64 %a; .reg .b32 %d;", "st.local.u32 [%a], %d;"
    straight.run(declare, body, {"%a": LANES * 0 + 8, "%d": values}, [], warp=warp.address, uniform=uniform)
    assert (warp.local[:, 8:12].copy().view(np.uint32)[:, 0] == values).all()
    got = load(warp, "local.u32", ["%d"], 32, LANES * 0 + 8)
    assert (got[0] == values).all()
    assert (warp.local[:, 12:] == 0).all()


def test_local_memory_at_an_offset_per_lane() -> None:
    warp = Warp()
    warp.local[:] = RANDOM.integers(0, 256, warp.local.shape)
    got = load(warp, "local.u8", ["%d"], 32, LANES * 7 % LOCAL_BYTES)
    assert (got[0] == warp.local[LANES, LANES * 7 % LOCAL_BYTES]).all()


def test_generic_addresses_reach_every_window(warp: Warp) -> None:
    warp.shared[:128] = RANDOM.integers(0, 256, 128)
    warp.local[:, :4] = RANDOM.integers(0, 256, (32, 4))
    body = """cvta.shared.u64 %s, %o; cvta.local.u64 %l, 0; cvta.global.u64 %g, %a;
              ld.u32 %x, [%s]; ld.u32 %y, [%l]; ld.u32 %z, [%g];
              cvta.to.shared.u64 %s, %s; cvta.to.local.u64 %l, %l; cvta.to.global.u64 %g, %g;"""
    out = straight.run(
        ".reg .b64 %a, %o, %s, %l, %g; .reg .b32 %x, %y, %z;",
        body,
        {"%a": warp.base + 4 * LANES, "%o": 4 * LANES},
        ["%x", "%y", "%z", "%s", "%l", "%g"],
        warp=warp.address,
    )
    assert (out["%x"] == warp.shared[:128].view(np.uint32)).all()
    assert (out["%y"] == warp.local[:, :4].copy().view(np.uint32)[:, 0]).all()
    assert (out["%z"] == warp.memory[:128].view(np.uint32)).all()
    assert (out["%s"] == 4 * LANES).all() and (out["%l"] == 0).all() and (out["%g"] == warp.base + 4 * LANES).all()


def test_isspacep_tells_windows_apart(warp: Warp) -> None:
    names = ["%p", "%q", "%r", "%s"]
    body = "isspacep.global %p, %a; isspacep.shared %q, %a; isspacep.local %r, %a; isspacep.param %s, %a;"
    windows = [warp.base, warp.shared.ctypes.data, warp.local.ctypes.data, warp.params.ctypes.data]
    kinds = LANES.astype(int) % 4
    local = LANES * LOCAL_BYTES * (kinds == 2)  # each lane's own
    addresses = np.array(windows, np.uint64)[kinds] + local.astype(np.uint64)
    out = straight.run(".reg .b64 %a; .reg .pred %p, %q, %r, %s;", body, {"%a": addresses}, names, warp=warp.address)
    assert (out["%q"] == (kinds == 1)).all() and (out["%r"] == (kinds == 2)).all() and (out["%s"] == (kinds == 3)).all()
    assert (out["%p"] == ((kinds == 0) | (kinds == 3))).all()
