"""Drawn plans hold what an independent checker demands, and the driver accepts every bind of them."""

from __future__ import annotations

import pytest
from checker import check
from drawn import GRANULE, MACHINES, requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast.layout import plan


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
        carry_out(made, asked)

    carried_out()
    assert simulated


def carry_out(made, asked) -> None:
    """Create, add, bind as planned, through the names of cuda.bindings; every call answers 0 or raises."""
    from cumulticast import driver  # loads libcuda: the machine stands by now

    driver.init(0)
    memory = {(block.name, block.device): create(driver, block.size, block.device) for block in made.blocks}
    old = {}
    for request in asked:
        if request.existing:
            for device in request.team:
                key = request.existing.memory, device
                if key not in old:
                    old[key] = create(driver, request.existing.size, device)
    objects = []
    try:
        for planned in made.objects:
            prop = driver.MulticastObjectProp_v1()
            prop.num_devices, prop.size_ = len(planned.team), planned.size
            mc = driver.multicast_create(prop)
            objects.append(mc)
            for device in planned.team:
                driver.multicast_add_device(mc, device)
            for bind in planned.binds:
                where = (memory if bind.created else old)[bind.memory, bind.device]
                driver.multicast_bind_mem(mc, bind.mc_offset, where, bind.mem_offset, bind.size, 0)
    finally:
        for mc, planned in zip(objects, made.objects, strict=False):
            for bind in planned.binds:
                driver.multicast_unbind(mc, bind.device, bind.mc_offset, bind.size)
            driver.mem_release(mc)
        for handle in (*memory.values(), *old.values()):
            driver.mem_release(handle)


def create(driver, size, device):
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type, prop.location.id = (
        driver.MemAllocationType.PINNED,
        driver.MemLocationType.DEVICE,
        device,
    )
    return driver.mem_create(size, prop, 0)
