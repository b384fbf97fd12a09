"""Requests and machines for Hypothesis to draw."""

from __future__ import annotations

from hypothesis import strategies as st

from cumulticast.layout import Existing, Limits, Request

MIB = 1 << 20
GRANULE = 2 * MIB
MACHINES = {"hgx-h100-8": 8, "rubin-nvl72": 4}  # devices that teams are drawn from

sizes = st.one_of(st.integers(1, 5000), st.integers(1, 6 * MIB), st.sampled_from([MIB, GRANULE, GRANULE + 1, 3 * MIB]))
alignments = st.sampled_from([1, 16, 256, 4096, 64 << 10, GRANULE])


def teams(devices: int):
    return st.sets(st.integers(0, devices - 1), min_size=1).map(lambda team: tuple(sorted(team)))


@st.composite
def requests(draw, devices: int = 8, most: int = 12, existing: bool = True, relaxed: bool = False):
    """Draw requests of few teams; existing memory at places that can be bound on the machine."""
    some = draw(st.lists(teams(devices), min_size=1, max_size=3))
    made = []
    for number in range(draw(st.integers(1, most))):
        team = draw(st.sampled_from(some))
        old = draw(places(len(team), relaxed)) if existing and draw(st.integers(0, 3)) == 0 else None
        made.append(
            Request(f"a{number}", draw(sizes), team, draw(alignments), draw(st.integers(0, 5)) == 0, old),
        )
    return made


@st.composite
def places(draw, devices: int, relaxed: bool):
    """Draw a place in the middle of a roomy allocation: alike in granules on all devices, or not if relaxed."""
    rest = draw(st.sampled_from([0, 256, 4096, MIB + 512]))
    step = 256 * 1000 if relaxed and draw(st.booleans()) else GRANULE
    offsets = tuple(GRANULE + rest + step * draw(st.integers(0, 3)) for _ in range(devices))
    return Existing(draw(st.sampled_from(["pool", "arena"])), offsets, 32 * MIB)


def small(**changed) -> Limits:
    """Make the limits of a machine whose granule is 16 bytes, so that brute force meets every case."""
    values = {
        "machine": "small", "devices": 2, "multicast": True, "memory": 1 << 30, "slots": 100, "granularity": 16,
        "recommended": 64, "recommended_from": 64, "extent": 64, "offset_step": 16, "unaligned": 0,
    }  # fmt: skip
    return Limits(**{**values, **changed})
