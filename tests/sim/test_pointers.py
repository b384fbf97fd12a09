"""Pointer attributes and range handles through NVIDIA's bindings."""

import ctypes
import os

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, NOT_SUPPORTED = 1, 801
MIB = 1 << 20
PAGE = 2 * MIB
DEVICE_TYPE, HOST_TYPE = 2, 1


def ask(address: int, *names: str) -> list[object]:
    """Ask one attribute after the other."""
    attributes = [getattr(cu.CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{name}") for name in names]
    answers = [ok(cu.cuPointerGetAttribute(attribute, address)) for attribute in attributes]
    return [answer if isinstance(answer, bool) else int(answer) for answer in answers]


def refused(address: int, name: str) -> bool:
    """Tell whether an attribute is refused with 1."""
    attribute = getattr(cu.CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{name}")
    return status(cu.cuPointerGetAttribute(attribute, address)) == INVALID_VALUE


@pytest.fixture
def mapped(context):
    """A page of device 0 in a reservation of two, exportable, with access for device 0."""
    prop = cu.CUmemAllocationProp()
    prop.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.requestedHandleTypes = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    handle, base = ok(cu.cuMemCreate(PAGE, prop, 0)), int(ok(cu.cuMemAddressReserve(2 * PAGE, 0, 0, 0)))
    ok(cu.cuMemMap(base, PAGE, 0, handle, 0))
    ok(cu.cuMemRelease(handle))
    grant = cu.CUmemAccessDesc()
    grant.location.type, grant.flags = prop.location.type, cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(cu.cuMemSetAccess(base, PAGE, [grant], 1))
    yield base
    ok(cu.cuMemUnmap(base, PAGE)), ok(cu.cuMemAddressFree(base, 2 * PAGE))


def test_mapped_memory_has_the_range_of_its_reservation(mapped):
    inside = mapped + 100
    assert ask(inside, "MEMORY_TYPE", "DEVICE_ORDINAL", "MAPPED", "ACCESS_FLAGS") == [DEVICE_TYPE, 0, True, 3]
    assert ask(inside, "RANGE_START_ADDR", "RANGE_SIZE") == [mapped, 2 * PAGE]
    assert ask(inside, "MAPPING_BASE_ADDR", "MAPPING_SIZE") == [mapped, PAGE]
    assert ask(inside, "ALLOWED_HANDLE_TYPES", "CONTEXT", "IS_LEGACY_CUDA_IPC_CAPABLE") == [1, 0, False]
    assert ask(inside, "DEVICE_POINTER") == [inside]
    assert refused(inside, "HOST_POINTER")
    assert refused(mapped + PAGE, "RANGE_SIZE")  # reserved, but not mapped


def test_plain_memory_has_its_own_range_and_context(context):
    address = int(ok(cu.cuMemAlloc(300)))
    assert ask(address + 1, "RANGE_START_ADDR", "RANGE_SIZE", "CONTEXT") == [address, 300, context]
    assert ask(address, "MAPPING_SIZE", "IS_LEGACY_CUDA_IPC_CAPABLE", "ALLOWED_HANDLE_TYPES") == [PAGE, True, 0]
    ok(cu.cuMemFree(address))
    assert refused(address, "MEMORY_TYPE")


def test_pool_memory_names_its_pool(context):
    address, pool = int(ok(cu.cuMemAllocAsync(300, 0))), int(ok(cu.cuDeviceGetDefaultMemPool(0)))
    assert ask(address, "MEMPOOL_HANDLE", "CONTEXT", "RANGE_SIZE", "MAPPING_SIZE") == [pool, 0, 300, 16 * PAGE]
    ok(cu.cuMemFreeAsync(address, 0))


def test_host_memory_is_reached_from_the_host(context):
    pinned, managed = int(ok(cu.cuMemAllocHost(64))), int(ok(cu.cuMemAllocManaged(64, 1)))
    assert ask(pinned, "MEMORY_TYPE", "HOST_POINTER", "DEVICE_POINTER") == [HOST_TYPE, pinned, pinned]
    assert ask(managed, "MEMORY_TYPE", "HOST_POINTER", "IS_MANAGED") == [DEVICE_TYPE, managed, True]
    ok(cu.cuMemFreeHost(pinned)), ok(cu.cuMemFree(managed))


def test_every_buffer_has_a_number_and_every_allocation_a_block(context):
    made = [int(ok(cu.cuMemAlloc(512))) for _ in range(3)]
    assert len({ask(address, "BUFFER_ID")[0] for address in made}) == 3
    assert len({ask(address, "MEMORY_BLOCK_ID")[0] for address in made}) == 1
    for address in made:
        ok(cu.cuMemFree(address))


def test_several_attributes_never_fail_for_a_foreign_pointer(context):
    names = ("MEMORY_TYPE", "DEVICE_ORDINAL", "HOST_POINTER", "MAPPED")
    wanted = [getattr(cu.CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{name}") for name in names]
    assert [int(value) for value in ok(cu.cuPointerGetAttributes(4, wanted, 0x1234))] == [0, -2, 0x1234, 0]
    tokens = [cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_P2P_TOKENS]
    assert status(cu.cuPointerGetAttributes(1, tokens, 0x1234)) == INVALID_VALUE


def test_outputs_that_cannot_be_written_are_refused(context):
    library = ctypes.CDLL("libcuda.so.1")
    address = int(ok(cu.cuMemAlloc(16)))
    for wild in (0, 0x10):
        assert library.cuPointerGetAttribute(ctypes.c_void_p(wild), 2, ctypes.c_uint64(address)) == INVALID_VALUE
    good = ctypes.c_uint(77)
    assert library.cuPointerGetAttribute(ctypes.byref(good), 2, ctypes.c_uint64(address)) == 0
    assert good.value == DEVICE_TYPE
    assert library.cuPointerGetAttribute(ctypes.byref(good), 99, ctypes.c_uint64(address)) == INVALID_VALUE
    assert good.value == DEVICE_TYPE
    ok(cu.cuMemFree(address))


def test_sync_memops_is_set_for_allocations_only(context, mapped):
    address, name = int(ok(cu.cuMemAlloc(16))), cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    ok(cu.cuPointerSetAttribute(False, name, address))
    assert ask(address, "SYNC_MEMOPS") == [False]
    assert status(cu.cuPointerSetAttribute(True, name, mapped)) == NOT_SUPPORTED
    ok(cu.cuMemFree(address))


# ---- range handles

DMA_BUF = cu.CUmemRangeHandleType.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD


def test_a_range_handle_shows_the_memory(mapped):
    ok(cu.cuMemcpyHtoD(mapped + 4096, b"multicast", 9))
    fd = int(ok(cu.cuMemGetHandleForAddressRange(mapped + 4096, 4096, DMA_BUF, 0)))
    try:
        assert os.read(fd, 9) == b"multicast"
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("offset", "size", "flags", "answer"),
    [(1, 4096, 0, INVALID_VALUE), (0, 100, 0, INVALID_VALUE), (0, 0, 0, INVALID_VALUE), (0, 2 * PAGE, 0, INVALID_VALUE),
     (0, PAGE, 1, NOT_SUPPORTED), (0, PAGE, 2, INVALID_VALUE), (0, PAGE, 0, 0)],
)  # fmt: skip
def test_ranges_are_pages_that_are_mapped(mapped, offset, size, flags, answer):
    given = cu.cuMemGetHandleForAddressRange(mapped + offset, size, DMA_BUF, flags)
    assert status(given) == answer
    if not answer:
        os.close(int(given[1]))
