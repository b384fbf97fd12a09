"""cuMemAlloc and its kin through NVIDIA's bindings."""

from itertools import pairwise

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, OUT_OF_MEMORY, NOT_FOUND = 1, 2, 500
MIB = 1 << 20


def test_small_allocations_share_two_mib_and_lie_512_bytes_apart(context):
    free = ok(cu.cuMemGetInfo())[0]
    made = [int(ok(cu.cuMemAlloc(size))) for size in (1, 255, 512, 513, 1)]
    assert [b - a for a, b in pairwise(made)] == [512, 512, 512, 1024]
    assert made[0] % (2 * MIB) == 0
    assert ok(cu.cuMemGetInfo())[0] == free - 2 * MIB
    for address in made:
        ok(cu.cuMemFree(address))
    assert ok(cu.cuMemGetInfo())[0] == free


def test_a_freed_place_is_used_again(context):
    made = [int(ok(cu.cuMemAlloc(512))) for _ in range(3)]
    ok(cu.cuMemFree(made[1]))
    assert int(ok(cu.cuMemAlloc(512))) == made[1]
    for address in made:
        ok(cu.cuMemFree(address))


def test_neighbouring_free_places_join(context):
    made = [int(ok(cu.cuMemAlloc(512 << 10))) for _ in range(4)]  # one chunk, full
    for address in made[1:3]:
        ok(cu.cuMemFree(address))
    assert int(ok(cu.cuMemAlloc(MIB))) == made[1]
    for address in (made[0], made[1], made[3]):
        ok(cu.cuMemFree(address))


def test_ranges_are_those_asked_for(context):
    address = int(ok(cu.cuMemAlloc(300)))
    for inside in (address, address + 100, address + 299):
        base, size = ok(cu.cuMemGetAddressRange(inside))
        assert (int(base), size) == (address, 300)
    assert status(cu.cuMemGetAddressRange(address + 300)) == NOT_FOUND
    ok(cu.cuMemFree(address))
    assert status(cu.cuMemGetAddressRange(address)) == NOT_FOUND


def test_only_beginnings_are_freed_and_only_once(context):
    address = int(ok(cu.cuMemAlloc(300)))
    assert status(cu.cuMemFree(address + 1)) == INVALID_VALUE
    assert status(cu.cuMemFree(0)) == 0
    ok(cu.cuMemFree(address))
    assert status(cu.cuMemFree(address)) == INVALID_VALUE


def test_sizes_have_limits(context):
    free, total = ok(cu.cuMemGetInfo())
    assert status(cu.cuMemAlloc(0)) == INVALID_VALUE
    assert status(cu.cuMemAlloc(free + 1)) == OUT_OF_MEMORY
    assert status(cu.cuMemAlloc((1 << 64) - 1)) == OUT_OF_MEMORY
    whole = ok(cu.cuMemAlloc(free // (2 * MIB) * (2 * MIB)))
    assert ok(cu.cuMemGetInfo()) == (free % (2 * MIB), total)
    assert status(cu.cuMemAlloc(4 * MIB)) == OUT_OF_MEMORY
    ok(cu.cuMemFree(whole))
    assert ok(cu.cuMemGetInfo()) == (free, total)


@pytest.mark.parametrize(("width", "pitch"), [(1, 512), (512, 512), (513, 1024)])
def test_pitches_are_multiples_of_512(context, width, pitch):
    address, given = ok(cu.cuMemAllocPitch(width, 10, 4))
    assert given == pitch
    assert ok(cu.cuMemGetAddressRange(address))[1] == 10 * pitch
    ok(cu.cuMemFree(address))


@pytest.mark.parametrize("wrong", [(0, 10, 4), (10, 0, 4), (10, 10, 3)])
def test_pitches_of_nothing_or_of_odd_elements_are_refused(context, wrong):
    assert status(cu.cuMemAllocPitch(*wrong)) == INVALID_VALUE


def test_managed_memory_is_the_hosts_too(context):
    import ctypes

    address = int(ok(cu.cuMemAllocManaged(4096, 1)))
    ok(cu.cuMemsetD8(address, 7, 4096))
    assert ctypes.string_at(address, 4096) == b"\7" * 4096
    ok(cu.cuMemFree(address))
    assert [status(cu.cuMemAllocManaged(*wrong)) for wrong in ((4096, 0), (4096, 4), (0, 1))] == [INVALID_VALUE] * 3
