"""Arrays in memory that exists: which range is bound, and when none can be."""

from __future__ import annotations

import pytest
from checker import check
from drawn import GRANULE, MIB

from cumulticast.layout import Existing, Request, RequestError, limits, plan

RUBIN, HGX = limits("rubin-nvl72"), limits("hgx-h100-8")
TEAM = (0, 1)


def at(offset, size=16 * MIB, nbytes=MIB, name="a", memory="pool"):
    return Request(name, nbytes, TEAM, existing=Existing(memory, offset, size))


def binds(made):
    return [(bind.device, bind.mem_offset, bind.size, bind.unaligned) for o in made.objects for bind in o.binds]


@pytest.mark.parametrize("machine", [HGX, RUBIN])
@pytest.mark.parametrize(
    ("offset", "start", "size"), [(0, 0, 1), (GRANULE, 1, 1), (GRANULE + 4096, 1, 1), (3 * MIB + 1, 1, 2)]
)
def test_the_granules_around_an_array_are_bound_and_no_stock_is_used(machine, offset, start, size):
    made = plan([at(offset)], machine)
    check(made, [at(offset)])
    assert binds(made) == [(device, start * GRANULE, size * GRANULE, False) for device in TEAM]
    assert made.blocks == () and made.waste == 0 and made.slots.used == 1


def test_offsets_that_differ_by_granules_are_bound_everywhere():
    asked = [at((512, 3 * GRANULE + 512))]
    made = plan(asked, HGX)
    check(made, asked)
    assert binds(made) == [(0, 0, GRANULE, False), (1, 3 * GRANULE, GRANULE, False)]


def test_offsets_that_differ_within_a_granule_need_an_unaligned_bind():
    asked = [at((512, 4352))]
    made = plan(asked, RUBIN)
    check(made, asked)
    assert binds(made) == [(0, 0, GRANULE, False), (1, 3840, GRANULE, True)]
    assert made.objects[0].size == 2 * GRANULE and made.unaligned.used == 1
    refused = plan(asked, HGX)
    assert not refused.fits and refused.objects == ()
    assert "a begins 512 and 4352 bytes into a granule on different devices" in refused.lacking[0].why
    assert "MC307" in refused.lacking[0].why


def test_what_no_machine_binds():
    near = plan([at((512, 512 + 256))], RUBIN)
    assert near.fits
    odd = plan([at((512, 513))], RUBIN)
    assert [lack.what for lack in odd.lacking] == ["bind"] and "MC361" in odd.lacking[0].why
    last = 16 * MIB - MIB
    assert plan([at(last)], HGX).fits
    beyond = plan([at(last + 1)], HGX)
    assert not beyond.fits and "MC311" in beyond.lacking[0].why
    cramped = plan([at((0, 256), size=GRANULE)], RUBIN)
    assert not cramped.fits and "MC311" in cramped.lacking[0].why


def test_arrays_of_one_granule_are_bound_once():
    asked = [at(0, name="a"), at(MIB, name="b"), at(4 * MIB, name="c")]
    made = plan(asked, HGX)
    check(made, asked)
    assert binds(made) == [(d, s * MIB, GRANULE, False) for s in (0, 4) for d in TEAM]
    offsets = {array.name: array.offset for array in made.objects[0].arrays}
    assert offsets["b"] - offsets["a"] == MIB


def test_memory_is_not_shown_twice_in_one_object():
    asked = [at((0, 0), name="a"), at((MIB, GRANULE + MIB), name="b")]
    made = plan(asked, HGX)
    check(made, asked)
    assert len(made.objects) == 2, "on device 0 both lie in one granule, on device 1 they do not"
    apart = plan([at((0, 0), name="a"), at((GRANULE, 2 * GRANULE), name="b")], HGX)
    assert len(apart.objects) == 1


def test_existing_memory_takes_place_in_an_object_of_new_arrays():
    asked = [Request("new", MIB, TEAM), at(0)]
    assert plan(asked, HGX).slots.used == 1
    assert plan(asked, HGX, max_object=2 * GRANULE).slots.used == 1
    assert plan(asked, HGX, max_object=GRANULE).slots.used == 2


def test_without_a_size_memory_ends_with_the_granule_of_its_last_array():
    made = plan([at(3 * MIB, size=None), at(6 * MIB, size=None, name="b")], HGX)
    assert made.fits and max(start + size for _, start, size, _ in binds(made)) == 8 * MIB


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ([at(0), at(0, size=18 * MIB, name="b")], "b: memory pool has 18874368 bytes here and 16777216 elsewhere"),
        ([at(0, size=MIB)], "a: memory size 1048576 is no multiple of 2097152; nearest 2097152"),
        ([at((0, 1, 2))], "a: 3 offsets for a team of 2 devices; give one, or one for each device"),
    ],
)
def test_what_cannot_be_said_of_memory(asked, text):
    with pytest.raises(RequestError, match=text):
        plan(asked, HGX)
