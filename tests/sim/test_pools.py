"""Memory pools and stream-ordered allocation through NVIDIA's bindings."""

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, NOT_SUPPORTED = 1, 2, 101, 801
MIB = 1 << 20
CHUNK = 32 * MIB
ATTRIBUTE = cu.CUmemPool_attribute


def properties(kind: int = 1, number: int = 0, handles: int = 0, most: int = 0) -> cu.CUmemPoolProps:
    """Describe a pool of pinned memory."""
    made = cu.CUmemPoolProps()
    made.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    made.location.type, made.location.id = cu.CUmemLocationType(kind), number
    made.handleTypes, made.maxSize = cu.CUmemAllocationHandleType(handles), most
    return made


def grant(ordinal: int, flags: int) -> list[cu.CUmemAccessDesc]:
    """Grant a device access."""
    made = cu.CUmemAccessDesc()
    made.location.type, made.location.id = cu.CUmemLocationType(1), ordinal
    made.flags = cu.CUmemAccess_flags(flags)
    return [made]


def counts(pool) -> dict[str, int]:
    """Read the four counts of a pool."""
    names = ("RESERVED_MEM_CURRENT", "RESERVED_MEM_HIGH", "USED_MEM_CURRENT", "USED_MEM_HIGH")
    attributes = {name: getattr(ATTRIBUTE, f"CU_MEMPOOL_ATTR_{name}") for name in names}
    return {name: int(ok(cu.cuMemPoolGetAttribute(pool, attribute))) for name, attribute in attributes.items()}


def test_memory_comes_from_the_devices_pool_and_goes_back(context):
    pool, free = ok(cu.cuDeviceGetDefaultMemPool(0)), ok(cu.cuMemGetInfo())[0]
    assert int(ok(cu.cuDeviceGetMemPool(0))) == int(pool)
    one, other = int(ok(cu.cuMemAllocAsync(1000, 0))), int(ok(cu.cuMemAllocAsync(MIB, 0)))
    assert other - one == 1024
    assert counts(pool)["USED_MEM_CURRENT"] == 1000 + MIB
    assert counts(pool)["RESERVED_MEM_CURRENT"] == CHUNK
    assert ok(cu.cuMemGetInfo())[0] == free - CHUNK
    ok(cu.cuMemFreeAsync(one, 0)), ok(cu.cuMemFree(other))
    assert counts(pool) == {
        "RESERVED_MEM_CURRENT": 0,
        "RESERVED_MEM_HIGH": CHUNK,
        "USED_MEM_CURRENT": 0,
        "USED_MEM_HIGH": 1000 + MIB,
    }
    assert ok(cu.cuMemGetInfo())[0] == free


def test_a_threshold_keeps_memory_until_it_is_trimmed(context):
    pool, free = ok(cu.cuMemPoolCreate(properties())), ok(cu.cuMemGetInfo())[0]
    threshold = ATTRIBUTE.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    ok(cu.cuMemPoolSetAttribute(pool, threshold, cu.cuuint64_t(1 << 40)))
    assert int(ok(cu.cuMemPoolGetAttribute(pool, threshold))) == 1 << 40
    ok(cu.cuMemFreeAsync(ok(cu.cuMemAllocFromPoolAsync(MIB, pool, 0)), 0))
    assert counts(pool)["RESERVED_MEM_CURRENT"] == CHUNK
    ok(cu.cuMemPoolTrimTo(pool, CHUNK))
    assert counts(pool)["RESERVED_MEM_CURRENT"] == CHUNK
    ok(cu.cuMemPoolTrimTo(pool, CHUNK - 1))
    assert counts(pool)["RESERVED_MEM_CURRENT"] == 0
    ok(cu.cuMemPoolDestroy(pool))
    assert ok(cu.cuMemGetInfo())[0] == free


def test_high_water_marks_begin_anew_at_zero_only(context):
    pool = ok(cu.cuMemPoolCreate(properties()))
    ok(cu.cuMemFreeAsync(ok(cu.cuMemAllocFromPoolAsync(MIB, pool, 0)), 0))
    high = ATTRIBUTE.CU_MEMPOOL_ATTR_USED_MEM_HIGH
    assert status(cu.cuMemPoolSetAttribute(pool, high, cu.cuuint64_t(5))) == INVALID_VALUE
    ok(cu.cuMemPoolSetAttribute(pool, high, cu.cuuint64_t(0)))
    assert counts(pool)["USED_MEM_HIGH"] == 0
    current = ATTRIBUTE.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    assert status(cu.cuMemPoolSetAttribute(pool, current, cu.cuuint64_t(0))) == INVALID_VALUE
    ok(cu.cuMemPoolDestroy(pool))


def test_a_destroyed_pool_lives_on_in_its_memory(context):
    pool, free = ok(cu.cuMemPoolCreate(properties())), ok(cu.cuMemGetInfo())[0]
    memory = ok(cu.cuMemAllocFromPoolAsync(MIB, pool, 0))
    ok(cu.cuMemPoolDestroy(pool))
    assert status(cu.cuMemAllocFromPoolAsync(MIB, pool, 0)) == INVALID_VALUE
    assert status(cu.cuMemsetD8(memory, 1, MIB)) == 0
    ok(cu.cuMemFreeAsync(memory, 0))
    assert ok(cu.cuMemGetInfo())[0] == free
    assert status(cu.cuMemPoolDestroy(ok(cu.cuDeviceGetDefaultMemPool(0)))) == INVALID_VALUE


def test_a_device_takes_from_the_pool_it_was_given(context):
    pool = ok(cu.cuMemPoolCreate(properties()))
    assert status(cu.cuDeviceSetMemPool(1, pool)) == INVALID_DEVICE
    ok(cu.cuDeviceSetMemPool(0, pool))
    memory = ok(cu.cuMemAllocAsync(MIB, 0))
    assert counts(pool)["USED_MEM_CURRENT"] == MIB
    ok(cu.cuMemFreeAsync(memory, 0)), ok(cu.cuMemPoolDestroy(pool))
    assert int(ok(cu.cuDeviceGetMemPool(0))) == int(ok(cu.cuDeviceGetDefaultMemPool(0)))


def test_other_devices_are_let_in_by_the_pool(context):
    pool = ok(cu.cuMemPoolCreate(properties(number=1)))
    memory = ok(cu.cuMemAllocFromPoolAsync(MIB, pool, 0))
    assert status(cu.cuMemsetD8(memory, 1, 16)) == INVALID_VALUE
    assert status(cu.cuMemPoolSetAccess(pool, grant(0, 1), 1)) == NOT_SUPPORTED
    assert status(cu.cuMemPoolSetAccess(pool, grant(1, 0), 1)) == INVALID_DEVICE
    assert status(cu.cuMemPoolSetAccess(pool, grant(8, 3), 1)) == INVALID_DEVICE
    ok(cu.cuMemPoolSetAccess(pool, grant(0, 3), 1))
    assert status(cu.cuMemsetD8(memory, 1, 16)) == 0
    ok(cu.cuMemPoolSetAccess(pool, grant(0, 0), 1))
    assert status(cu.cuMemsetD8(memory, 1, 16)) == INVALID_VALUE
    ok(cu.cuMemFreeAsync(memory, 0)), ok(cu.cuMemPoolDestroy(pool))


def test_a_pool_has_a_largest_size(context):
    pool = ok(cu.cuMemPoolCreate(properties(most=3 * MIB)))
    memory = ok(cu.cuMemAllocFromPoolAsync(3 * MIB, pool, 0))
    assert status(cu.cuMemAllocFromPoolAsync(1, pool, 0)) == OUT_OF_MEMORY
    ok(cu.cuMemFreeAsync(memory, 0)), ok(cu.cuMemPoolDestroy(pool))


@pytest.mark.parametrize("wrong", [{"kind": 0}, {"number": 8}, {"handles": 2}, {"kind": 2, "handles": 1}])
def test_pools_are_made_of_what_there_is(machine, wrong):
    assert status(cu.cuMemPoolCreate(properties(**wrong))) == INVALID_VALUE
    ok(cu.cuMemPoolDestroy(ok(cu.cuMemPoolCreate(properties(**{**wrong, "kind": 1, "number": 7, "handles": 1})))))


def test_no_bytes_are_no_address(context):
    assert int(ok(cu.cuMemAllocAsync(0, 0))) == 0
    assert status(cu.cuMemFreeAsync(0, 0)) == 0
    assert status(cu.cuMemFreeAsync(0x1234, 0)) == INVALID_VALUE


def test_pool_memory_is_bound_to_a_multicast_object_and_plain_memory_is_not(context):
    prop = cu.CUmulticastObjectProp()
    prop.numDevices, prop.size = 1, 2 * MIB
    mc = ok(cu.cuMulticastCreate(prop))
    ok(cu.cuMulticastAddDevice(mc, 0))
    pooled, plain = ok(cu.cuMemAllocAsync(2 * MIB, 0)), ok(cu.cuMemAlloc(2 * MIB))
    assert status(cu.cuMulticastBindAddr(mc, 0, plain, 2 * MIB, 0)) == INVALID_VALUE
    assert status(cu.cuMulticastBindAddr(mc, 0, pooled, 2 * MIB, 0)) == 0
    ok(cu.cuMulticastUnbind(mc, 0, 0, 2 * MIB))
    ok(cu.cuMemRelease(mc)), ok(cu.cuMemFreeAsync(pooled, 0)), ok(cu.cuMemFree(plain))


def test_a_shareable_object_wants_memory_of_a_shareable_pool(context):
    prop = cu.CUmulticastObjectProp()
    prop.numDevices, prop.size, prop.handleTypes = 1, 2 * MIB, 1
    mc = ok(cu.cuMulticastCreate(prop))
    ok(cu.cuMulticastAddDevice(mc, 0))
    for handles, answer in ((0, INVALID_VALUE), (1, 0)):
        pool = ok(cu.cuMemPoolCreate(properties(handles=handles)))
        memory = ok(cu.cuMemAllocFromPoolAsync(2 * MIB, pool, 0))
        assert status(cu.cuMulticastBindAddr(mc, 0, memory, 2 * MIB, 0)) == answer
        if not answer:
            ok(cu.cuMulticastUnbind(mc, 0, 0, 2 * MIB))
        ok(cu.cuMemFreeAsync(memory, 0)), ok(cu.cuMemPoolDestroy(pool))
    ok(cu.cuMemRelease(mc))
