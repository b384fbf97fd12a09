"""Streams that wait for a value in memory, or write one (cuStreamWaitValue32 and its kin)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cumulticast.rules import Refused, Status, copies, streams
from cumulticast.sim import captures
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.copies import Piece, Side, check
from cumulticast.sim.entry import entry
from cumulticast.sim.graph_work import MemoryWork
from cumulticast.sim.process import Process
from cumulticast.sim.regions import region_at

GEQ, EQ, AND, NOR, WRITE = range(5)  # CUstreamWaitValue_flags; and engine.h
CONDITION, FLUSH = 0x3, 1 << 30
NO_MEMORY_BARRIER = 1
WAIT_32, WRITE_32, FLUSH_WRITES, WAIT_64, WRITE_64, BARRIER, REDUCTION = 1, 2, 3, 4, 5, 6, 8  # CUstreamBatchMemOpType
MOST = 255  # operations of a batch
MEM_OPS_V1, CAN_FLUSH, WIDE, CAN_NOR = 92, 98, 122, 123  # CUdevice_attribute
_PARAMS = struct.Struct("<I4xQQI")  # operation, address, value, flags: the same places in waits and writes


@dataclass(frozen=True, slots=True)
class ValueOp:
    """One wait or write: `kind` as the engine counts them, `bytes` 4 or 8."""

    address: int
    value: int
    kind: int
    bytes: int

    @classmethod
    def wait(cls, address: int, value: int, flags: int, size: int) -> ValueOp:
        """Make a wait of its flags."""
        return cls(address, value, flags & CONDITION, size)


def supported(process: Process, context: Context, attribute: int, what: str) -> None:
    """Refuse (801) what the device says it cannot do."""
    if not process.devices[context.ordinal].attributes.get(attribute):
        raise Refused(Status.NOT_SUPPORTED, None, f"the device has no {what} (attribute {attribute} is 0)")


def check_flags(process: Process, context: Context, op: ValueOp, flags: int) -> None:
    """Hold the flags of a wait or write to what there is, and to what the device can."""
    process.driver.judge(streams.value_flags, flags, NO_MEMORY_BARRIER if op.kind == WRITE else CONDITION | FLUSH)
    if op.kind == WRITE:
        return
    if flags & FLUSH:
        supported(process, context, CAN_FLUSH, "flush of remote writes")
    if op.kind == NOR:
        supported(process, context, CAN_NOR, "wait for a NOR")


def check_op(process: Process, context: Context, op: ValueOp) -> list[Piece]:
    """Refuse a place that the device may not touch; answer the physical memory behind it."""
    if op.bytes == 8:
        supported(process, context, WIDE, "waits for and writes of 64 bits")
    process.driver.judge(streams.value_aligned, op.address, op.bytes)
    region = region_at(process, op.address)
    managed = region is not None and region.block is not None and region.block.origin == "cuMemAllocManaged"
    process.driver.judge(copies.transfer_known, op.address, region is not None and not managed)
    return check(process, context, Side("addr", op.address, op.bytes, op.kind == WRITE, staged=False))


def hand_over(process: Process, thread: int, call: str, stream: int, ops: list[tuple[ValueOp, int]]) -> None:
    """Check operations, each with its flags, and hand them over as one piece of work."""
    where = stream_of(process, thread, stream, call)
    if "Value" in call and not call.removesuffix("_ptsz").endswith("_v2"):
        supported(process, where.context, MEM_OPS_V1, "stream memory operations of the first kind; _v2 is")
    pieces: list[Piece] = []
    for op, flags in ops:
        check_flags(process, where.context, op, flags)
        pieces += check_op(process, where.context, op)
    work = MemoryWork(tuple((op.address, op.value, op.kind, op.bytes) for op, _ in ops), tuple(pieces), where.context)
    if not captures.add(process, where, work):
        work.hand_over(process, where)


@entry("cuStreamWaitValue32", "cuStreamWaitValue32_v2")
def stream_wait_value32(
    process: Process, thread: int, call: str, stream: int, address: int, value: int, flags: int
) -> None:
    """Let a stream wait for 32 bits."""
    hand_over(process, thread, call, stream, [(ValueOp.wait(address, value, flags, 4), flags)])


@entry("cuStreamWaitValue64", "cuStreamWaitValue64_v2")
def stream_wait_value64(
    process: Process, thread: int, call: str, stream: int, address: int, value: int, flags: int
) -> None:
    """Let a stream wait for 64 bits."""
    hand_over(process, thread, call, stream, [(ValueOp.wait(address, value, flags, 8), flags)])


@entry("cuStreamWriteValue32", "cuStreamWriteValue32_v2")
def stream_write_value32(
    process: Process, thread: int, call: str, stream: int, address: int, value: int, flags: int
) -> None:
    """Write 32 bits in stream order."""
    hand_over(process, thread, call, stream, [(ValueOp(address, value, WRITE, 4), flags)])


@entry("cuStreamWriteValue64", "cuStreamWriteValue64_v2")
def stream_write_value64(
    process: Process, thread: int, call: str, stream: int, address: int, value: int, flags: int
) -> None:
    """Write 64 bits in stream order."""
    hand_over(process, thread, call, stream, [(ValueOp(address, value, WRITE, 8), flags)])


@entry("cuStreamBatchMemOp", "cuStreamBatchMemOp_v2")
def stream_batch_mem_op(
    process: Process, thread: int, call: str, stream: int, count: int, params: bytes, flags: int
) -> None:
    """Do several in order. Barriers and flushes have nothing to do: memory is written in order here."""
    if flags:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} must be 0")
    if not 0 < count <= MOST:
        raise Refused(Status.INVALID_VALUE, None, f"count {count} is not between 1 and {MOST}")
    size = len(params) // count
    read = [read_op(params[k * size : (k + 1) * size]) for k in range(count)]
    hand_over(process, thread, call, stream, [op for op in read if op is not None])


def read_op(data: bytes) -> tuple[ValueOp, int] | None:
    """Read a CUstreamBatchMemOpParams: an operation and its flags; None for those that do nothing here.

    Raises
    ------
    Refused
        801: a reduction. 1: no operation that there is.
    """
    operation, address, value, flags = _PARAMS.unpack_from(data)
    if operation in (WAIT_32, WAIT_64):
        return ValueOp.wait(address, value, flags, 4 if operation == WAIT_32 else 8), flags
    if operation in (WRITE_32, WRITE_64):
        return ValueOp(address, value, WRITE, 4 if operation == WRITE_32 else 8), flags
    if operation == REDUCTION:
        raise Refused(Status.NOT_SUPPORTED, None, "atomic reductions of a stream are not simulated")
    if operation not in (BARRIER, FLUSH_WRITES):
        raise Refused(Status.INVALID_VALUE, None, f"operation {operation} is none of CUstreamBatchMemOpType")
    return None
