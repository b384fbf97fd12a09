"""Pointer attributes: what an address tells about the memory behind it, as the bytes to write."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cumulticast.sim.address_space import Mapping
from cumulticast.sim.blocks import Block, rounded
from cumulticast.sim.contexts import Context
from cumulticast.sim.process import Process
from cumulticast.sim.regions import Region, access_at
from cumulticast.sim.structs import DEVICE, HOST, HOST_NUMA, AllocationProp

CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, P2P_TOKENS, SYNC_MEMOPS, BUFFER_ID = range(1, 8)
IS_MANAGED, DEVICE_ORDINAL, IS_LEGACY_IPC, RANGE_START, RANGE_SIZE, MAPPED, HANDLE_TYPES = range(8, 15)
IS_RDMA, ACCESS_FLAGS, MEMPOOL, MAPPING_SIZE, MAPPING_BASE, BLOCK_ID, IS_DECOMPRESS = range(15, 22)
LOCALITY_DOMAIN = 22
FIRST_WITH_LOCALITY = 13040  # the driver version that brought LOCALITY_DOMAIN_ORDINAL
NOT_LOCALIZED = -1

UINT, INT, LONG = struct.Struct("<I"), struct.Struct("<i"), struct.Struct("<Q")
TOKENS = struct.pack("<QI", 0, 0xFE00)  # recorded: p2pToken 0, vaSpaceToken 65024
ON_HOST, ON_DEVICE = 1, 2  # CUmemorytype
PAGE = 2 << 20  # recorded: what the driver allocates of host memory is mapped in such pages
NO_DEVICE = -2  # recorded: CU_DEVICE_INVALID
WORDS = (CONTEXT, DEVICE_POINTER, HOST_POINTER, BUFFER_ID, RANGE_START, RANGE_SIZE, HANDLE_TYPES, MEMPOOL,
         MAPPING_SIZE, MAPPING_BASE, BLOCK_ID)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """An address, what it lies in, and who asks."""

    process: Process
    context: Context | None
    region: Region
    address: int

    @property
    def access(self) -> int:
        """What the current context's device may do there."""
        return 0 if self.context is None else access_at(self.process, self.context, self.region)


def known(process: Process) -> range:
    """Answer the attributes that this driver version has."""
    newest = LOCALITY_DOMAIN if process.machine.driver_version >= FIRST_WITH_LOCALITY else IS_DECOMPRESS
    return range(CONTEXT, newest + 1)


def packed(numbers: dict[int, int]) -> dict[int, bytes]:
    """Answer attributes in the width in which a real driver writes them: 8 bytes or 4."""
    ordinal = numbers.pop(DEVICE_ORDINAL, None)
    answers = {attribute: (LONG if attribute in WORDS else UINT).pack(value) for attribute, value in numbers.items()}
    if ordinal is not None:
        answers[DEVICE_ORDINAL] = INT.pack(ordinal)
    return answers


def defaults(process: Process, address: int) -> dict[int, bytes]:
    """Answer what is written for an address that is not the driver's; only a reserved one has a range."""
    numbers = dict.fromkeys(range(CONTEXT, IS_DECOMPRESS + 1), 0) | {HOST_POINTER: address, DEVICE_ORDINAL: NO_DEVICE}
    del numbers[RANGE_START], numbers[RANGE_SIZE], numbers[P2P_TOKENS]
    reservation = process.space.reservations.at(address)
    if reservation is not None:
        numbers |= {RANGE_START: reservation.base, RANGE_SIZE: reservation.size}
    return packed(numbers)


def values(subject: Subject) -> dict[int, bytes]:
    """Answer the attributes that an address has."""
    region = subject.region
    numbers = of_mapping(subject, region.mapping) if region.mapping else of_block(subject, region.block)
    managed = region.block is not None and region.block.origin == "cuMemAllocManaged"
    numbers |= {IS_MANAGED: int(managed), MAPPED: 1, ACCESS_FLAGS: subject.access}
    if subject.access:
        numbers[DEVICE_POINTER] = subject.address
    answers = packed(numbers) | {LOCALITY_DOMAIN: INT.pack(NOT_LOCALIZED)}
    if numbers[MEMORY_TYPE] == ON_DEVICE:
        answers[P2P_TOKENS] = TOKENS
    return answers


def of_mapping(subject: Subject, mapping: Mapping) -> dict[int, int]:
    """Answer the attributes of mapped memory: the range is the reservation's."""
    handle, reservation = mapping.handle, subject.process.space.reservations.at(mapping.base)
    assert reservation is not None
    kind, number = handle.location
    on_host = kind in (HOST, HOST_NUMA)
    numbers = {
        CONTEXT: 0,
        MEMORY_TYPE: ON_HOST if on_host else ON_DEVICE,
        SYNC_MEMOPS: int(not on_host),
        BUFFER_ID: mapping.buffer,
        DEVICE_ORDINAL: number if kind == DEVICE else 0,
        IS_LEGACY_IPC: 0,
        RANGE_START: reservation.base,
        RANGE_SIZE: reservation.size,
        HANDLE_TYPES: handle.handle_types,
        IS_RDMA: int(handle.kind == "memory" and AllocationProp.read(handle.properties).gpu_direct_rdma_capable),
        MEMPOOL: 0,
        MAPPING_SIZE: mapping.size,
        MAPPING_BASE: mapping.base,
        BLOCK_ID: handle.obj,
        IS_DECOMPRESS: 0,
    }
    if on_host and (mapping.access.get((HOST, 0)) or mapping.access.get((HOST_NUMA, number))):
        numbers[HOST_POINTER] = subject.address
    return numbers


def of_block(subject: Subject, block: Block | None) -> dict[int, int]:
    """Answer the attributes of what the driver itself handed out: the range is the allocation."""
    assert block is not None
    chunk, plain = block.chunk, block.origin == "cuMemAlloc"
    pool = subject.process.pools.of_block(block) if block.pool else None
    managed = block.origin == "cuMemAllocManaged"
    on_device = managed or (chunk is not None and chunk.handle.location[0] == DEVICE)
    numbers = {
        CONTEXT: 0 if block.context is None else block.context.value,
        MEMORY_TYPE: ON_DEVICE if on_device else ON_HOST,
        SYNC_MEMOPS: int(on_device and block.sync_memops),
        BUFFER_ID: block.buffer,
        DEVICE_ORDINAL: block.context.ordinal if block.context else pool.location[1] if pool and on_device else 0,
        IS_LEGACY_IPC: int(plain),
        RANGE_START: block.base,
        RANGE_SIZE: block.size,
        HANDLE_TYPES: 0 if pool is None else pool.handle_types,
        IS_RDMA: int(plain),
        MEMPOOL: block.pool,
        MAPPING_SIZE: chunk.size if chunk is not None else rounded(block.size, PAGE if block.pages is not None else 1),
        MAPPING_BASE: block.base if chunk is None else chunk.base,
        BLOCK_ID: block.buffer if chunk is None else chunk.handle.obj,
        IS_DECOMPRESS: int(plain),
    }
    if block.everywhere:
        numbers[HOST_POINTER] = subject.address
    return numbers
