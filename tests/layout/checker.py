"""An independent check of plans: it knows the rules of binds and nothing of the planner."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

from cumulticast.layout import Plan, Request


def check(plan: Plan, requests: list[Request], most: int | None = None) -> None:
    """Hold a plan that fits to everything that a driver, a machine and its user demand."""
    limits = plan.limits
    blocks = {(block.name, block.device): block.size for block in plan.blocks}
    assert len(blocks) == len(plan.blocks)
    named = {request.name: request for request in requests}
    assert Counter(array.name for planned in plan.objects for array in planned.arrays) == Counter(list(named))
    for planned in plan.objects:
        check_binds(plan, planned, blocks)
        check_arrays(plan, planned, named)
        assert most is None or planned.size <= most
        assert planned.extent % limits.extent == 0 and 0 <= planned.extent - planned.size < limits.extent
    check_memory(plan, blocks, named)
    assert plan.slots.used == len(plan.objects) <= limits.slots
    stock = Counter(bind.device for planned in plan.objects for bind in planned.binds if bind.unaligned)
    assert max(stock.values(), default=0) == plan.unaligned.used <= limits.unaligned


def check_binds(plan, planned, blocks) -> None:
    step, taken = plan.limits.granularity, defaultdict(list)
    for bind in planned.binds:
        assert bind.device in planned.team
        assert bind.size > 0 and bind.size % step == 0 and bind.mc_offset % step == 0
        assert bind.mem_offset % plan.limits.offset_step == 0
        assert bind.unaligned == (bind.mem_offset % step != 0)
        end = bind.mc_offset + bind.size + (step if bind.unaligned else 0)
        assert end <= planned.size
        taken[bind.device].append((bind.mc_offset, end))
        if bind.created:
            assert bind.mem_offset + bind.size <= blocks[bind.memory, bind.device]
    for ranges in taken.values():
        ranges.sort()
        assert all(low[1] <= high[0] for low, high in itertools.pairwise(ranges))
    assert planned.size % step == 0


def where(planned, array, device) -> tuple[str, bool, int]:
    """Return the memory under an array's replica: its name, whether it is new, and the offset in it."""
    for bind in planned.binds:
        inside = array.offset - bind.mc_offset
        if bind.device == device and inside >= 0 and inside + array.nbytes <= bind.size:
            return bind.memory, bind.created, bind.mem_offset + inside
    raise AssertionError(f"{array.name} is not bound on device {device}")


def check_arrays(plan, planned, named) -> None:
    everyone = tuple(range(plan.limits.devices))
    spans = sorted((array.offset, array.offset + array.nbytes) for array in planned.arrays if array.existing is None)
    assert all(low[1] <= high[0] for low, high in itertools.pairwise(spans))
    for array in planned.arrays:
        request = named[array.name]
        assert array.nbytes == request.nbytes and planned.team == (request.team or everyone)
        assert not request.separate or len(planned.arrays) == 1
        for place, device in enumerate(planned.team):
            memory, created, offset = where(planned, array, device)
            if request.existing is None:
                assert created and array.offset % request.alignment == offset % request.alignment == 0
            else:
                old = request.existing.offset
                assert (memory, created) == (request.existing.memory, False)
                assert offset == (old if isinstance(old, int) else old[place])


def check_memory(plan, blocks, named) -> None:
    """No byte of new memory belongs to two arrays; waste is what is left."""
    covered, ranges = Counter(), defaultdict(list)
    for planned in plan.objects:
        for array in planned.arrays:
            for device in planned.team if array.existing is None else ():
                memory, _, offset = where(planned, array, device)
                ranges[memory, device].append((offset, offset + array.nbytes))
                covered[device] += array.nbytes
    for ordered in ranges.values():
        ordered.sort()
        assert all(low[1] <= high[0] for low, high in itertools.pairwise(ordered))
    held = Counter()
    for (_, device), size in blocks.items():
        held[device] += size
    for use in plan.devices:
        assert (use.memory, use.arrays) == (held[use.device], covered[use.device])
        assert use.waste == use.memory - use.arrays >= 0 and use.memory <= plan.limits.memory
    assert plan.waste == sum(held.values()) - sum(covered.values())
