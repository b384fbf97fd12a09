"""Memory that teams share on SM_107: when it pays, what it costs, and that it is not tried elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checker import check
from drawn import GRANULE, MIB, requests
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulticast.layout import Request, limits, plan

RUBIN, HGX = limits("rubin-nvl72"), limits("hgx-h100-8")
PAIRS = [Request(f"pair{other}", 1000, (0, other)) for other in range(1, 8)]


def test_small_teams_of_one_device_stand_in_one_granule_or_two():
    made = plan(PAIRS, RUBIN)
    check(made, PAIRS)
    memory = {use.device: use.memory for use in made.devices}
    assert memory[0] == 2 * GRANULE, "seven granules apart; the last bind reaches 2 MiB behind its piece"
    assert all(memory[other] == GRANULE for other in range(1, 8))
    assert made.devices[0].unaligned == made.unaligned.used == 6, "the first begins at offset 0"
    assert [planned.size for planned in made.objects] == [GRANULE] + [2 * GRANULE] * 6, "one granule of headroom each"
    assert any("10 MiB saved for 6 unaligned binds and 12 MiB of headroom" in why for why in made.why)


def test_machines_that_bind_whole_granules_share_nothing():
    made = plan(PAIRS, HGX)
    check(made, PAIRS)
    assert made.devices[0].memory == 7 * GRANULE and made.unaligned.used == 0
    assert "no memory is shared between objects: hgx-h100-8 binds whole granules only" in made.why


@pytest.mark.parametrize(
    ("stock", "granules", "used"), [(0, 7, 0), (1, 7, 0), (2, 6, 2), (5, 3, 5), (6, 2, 6), (7, 2, 6)]
)
def test_the_stock_bounds_what_is_saved_and_nothing_is_used_in_vain(stock, granules, used):
    made = plan(PAIRS, replace(RUBIN, unaligned=stock))
    check(made, PAIRS)
    assert (made.devices[0].memory, made.unaligned.used) == (granules * GRANULE, used)


def test_whole_granules_have_nothing_to_share():
    asked = [Request("a", GRANULE, (0, 1)), Request("b", GRANULE, (0, 2))]
    assert "no memory is shared between objects: on no device do two of them have padding" in plan(asked, RUBIN).why
    odd = [Request("a", GRANULE + 1, (0, 1)), *(Request(f"b{n}", 1, (0, n)) for n in (2, 3))]
    assert plan(odd, RUBIN).unaligned.used > 0


def test_headroom_stays_within_the_largest_object():
    assert plan(PAIRS, RUBIN, max_object=2 * GRANULE).unaligned.used == 6
    assert plan(PAIRS, RUBIN, max_object=GRANULE).unaligned.used == 0


def test_the_recommended_granularity_shares_nothing():
    made = plan(PAIRS, RUBIN, granularity="recommended")
    assert made.unaligned.used == 0 and any("of no use to the recommended granularity" in why for why in made.why)


@given(asked=requests(6, existing=False), stock=st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_sharing_saves_memory_on_every_device_where_binds_are_unaligned(asked, stock):
    machine = replace(RUBIN, unaligned=stock)
    shared, apart = plan(asked, machine), plan(asked, replace(machine, offset_step=machine.granularity))
    check(shared, asked)
    for one, other in zip(shared.devices, apart.devices, strict=True):
        assert one.device == other.device and one.arrays == other.arrays
        assert one.memory < other.memory or (one.unaligned == 0 and one.memory == other.memory)


def test_an_alignment_holds_in_shared_memory_too():
    asked = [Request("a", 300, (0, 1), 64 << 10), Request("b", MIB, (0, 2), 64 << 10), Request("c", 5, (0, 3))]
    made = plan(asked, RUBIN)
    check(made, asked)
    assert made.unaligned.used == 2
