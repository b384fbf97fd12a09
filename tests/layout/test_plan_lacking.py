"""Plans that do not fit say what is lacking by how much; one step inside the limit they fit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawn import GRANULE

from cumulticast.layout import Existing, Request, limits, plan

HGX, RUBIN = limits("hgx-h100-8"), limits("rubin-nvl72")
THREE = [Request(f"a{n}", 100, separate=True) for n in range(3)]
SHIFTED = [Request(f"s{n}", 100, (0, 1), existing=Existing(f"pool{n}", (0, 256), 2 * GRANULE)) for n in range(2)]


@pytest.mark.parametrize(
    ("asked", "machine", "most", "what", "needed", "available"),
    [
        (THREE, replace(HGX, slots=2), None, "slots", 3, 2),
        (THREE, replace(HGX, memory=3 * GRANULE - 1), None, "memory", 3 * GRANULE, 3 * GRANULE - 1),
        (SHIFTED, replace(RUBIN, unaligned=1), None, "unaligned", 2, 1),
        ([Request("a", GRANULE + 1)], HGX, GRANULE, "object", 2 * GRANULE, GRANULE),
        (THREE, limits("hgx-a100-8"), None, "slots", 3, 0),
        (THREE, limits("pcie-h100-2"), None, "slots", 3, 0),
    ],
)
def test_what_is_lacking_and_by_how_much(asked, machine, most, what, needed, available):
    made = plan(asked, machine, max_object=most)
    assert not made.fits
    assert {(lack.what, lack.needed, lack.available) for lack in made.lacking} == {(what, needed, available)}


@pytest.mark.parametrize(
    ("asked", "machine", "most"),
    [
        (THREE, replace(HGX, slots=3), None),
        (THREE, replace(HGX, memory=3 * GRANULE), None),
        (SHIFTED, replace(RUBIN, unaligned=2), None),
        ([Request("a", GRANULE)], HGX, GRANULE),
    ],
)
def test_one_step_inside_it_fits(asked, machine, most):
    made = plan(asked, machine, max_object=most)
    assert made.fits and made.lacking == ()


def test_memory_is_lacking_on_each_device_by_itself():
    made = plan([Request("a", GRANULE, (0, 1)), Request("b", 1, (1, 2))], replace(HGX, memory=GRANULE))
    assert [(lack.device, lack.why) for lack in made.lacking] == [(1, "device 1 lacks 2 MiB of memory")]


def test_no_requests_make_an_empty_plan_that_fits_anywhere():
    for name in ("hgx-h100-8", "hgx-a100-8"):
        made = plan([], name)
        assert made.fits and made.objects == () and made.waste == 0


def test_both_granularities_are_compared_in_every_plan():
    asked = [Request("large", 513 << 20, separate=True)]
    for policy, granules in (("minimum", 257), ("recommended", 512)):
        made = plan(asked, HGX, granularity=policy)
        assert made.blocks[0].size == granules * GRANULE
        assert made.compared["minimum"].waste == 8 << 20 and made.compared["recommended"].waste == 8 * 511 << 20
        assert made.waste == made.compared[policy].waste
