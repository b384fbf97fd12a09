"""Drawn plans hold what an independent checker demands, and the driver accepts every bind of them."""

from __future__ import annotations

import pytest
from carry import bind_all, bytes_seen, pattern
from checker import check
from drawn import GRANULE, MACHINES, MIB, requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast.layout import Existing, Request, plan


@pytest.mark.parametrize("machine", MACHINES)
@given(data=st.data(), policy=st.sampled_from(["minimum", "recommended"]), most=st.sampled_from([None, 4, 8]))
@settings(max_examples=60, deadline=None)
def test_a_plan_keeps_every_rule(machine, data, policy, most):
    asked = data.draw(requests(MACHINES[machine], relaxed=machine == "rubin-nvl72"))
    most = most and most * GRANULE
    made = plan(asked, machine, granularity=policy, max_object=most)
    assert made.fits, made.lacking
    check(made, asked, most)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_driver_accepts_drawn_plans(machine, request):
    request.node.add_marker(pytest.mark.cuda_machine(machine=machine, profile="strict"))
    simulated = request.getfixturevalue("cuda_machine")

    @given(asked=requests(MACHINES[machine], relaxed=machine == "rubin-nvl72"))
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    def carried_out(asked):
        made = plan(asked, machine)
        assert made.fits
        bind_all(made, asked)

    carried_out()
    assert simulated


SHARING = [Request(f"pair{other}", 1000 + 4 * other, (0, other)) for other in (1, 2, 3)]
MIXED = [
    Request("wide", 3 * MIB, (0, 1, 2, 3)),
    Request("fine", 4096, (0, 1, 2, 3), 4096),
    Request("alone", 8, (1, 2), separate=True),
    Request("old", 64 << 10, (0, 1), existing=Existing("pool", GRANULE + 4096, 8 * MIB)),
    Request("older", 64 << 10, (0, 1), existing=Existing("pool", 3 * GRANULE, 8 * MIB)),
]
SHIFTED = [Request("old", 4096, (0, 1), existing=Existing("pool", (512, 768), 8 * MIB))]


@pytest.mark.parametrize(
    ("machine", "asked", "unaligned"),
    [
        ("hgx-h100-8", SHARING, 0),
        ("rubin-nvl72", SHARING, 2),
        ("hgx-h100-8", MIXED, 0),
        ("rubin-nvl72", MIXED, 0),
        ("rubin-nvl72", SHIFTED, 1),
    ],
)
def test_a_store_through_the_plan_reaches_every_replica_of_that_array_and_no_other(machine, asked, unaligned, request):
    request.node.add_marker(pytest.mark.cuda_machine(machine=machine, profile="strict"))
    request.getfixturevalue("cuda_machine")
    made = plan(asked, machine)
    assert made.fits and made.unaligned.used == unaligned
    want = {(one.name, device): pattern(one.name, one.nbytes) for one in asked for device in one.team}
    assert bytes_seen(made, asked) == want
