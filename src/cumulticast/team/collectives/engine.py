"""What the collectives of a team keep in this process: kernels, streams, and words that tell of failures."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from weakref import WeakKeyDictionary

from cumulticast import driver
from cumulticast.team.contexts import outside_of_captures

from .call import GONE, NAMES, Call, Why
from .errors import CollectiveTimeout
from .kinds import Reduction
from .modules import load_module
from .protocol import BROKEN, MOST_BLOCKS, THREADS, Seats

_WORD = ctypes.sizeof(ctypes.c_uint64)
_PORTABLE_MAPPED = 1 | 2  # CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
_MULTIPROCESSORS = driver.DeviceAttribute.MULTIPROCESSOR_COUNT
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: beside kernels that wait
_NO_TIMES = 2  # CU_EVENT_DISABLE_TIMING

_engines: WeakKeyDictionary[Seats, Engine] = WeakKeyDictionary()


def engine_of(seats: Seats) -> Engine:
    """Answer the engine of a team; the first collective makes it."""
    if seats not in _engines:
        _engines[seats] = Engine(seats)
    return _engines[seats]


def abandon(seats: Seats, rank: int) -> None:
    """Let the kernels of a team go that wait, or will wait, for a rank that is gone: what they leave is not defined.

    May be called from any thread, while the team's own ones wait for their devices.
    """
    engine = _engines.get(seats)
    if engine:
        engine.abandon(seats, rank)


def check(seats: Seats) -> None:
    """Raise when a collective has failed; those that are still on their way have not.

    Raises
    ------
    CollectiveTimeout
        A rank did not come.
    """
    engine = _engines.get(seats)
    if engine:
        engine.check(seats.timeout)


def close(seats: Seats) -> None:
    """Give back what the collectives of a team hold. All of them must have ended."""
    engine = _engines.pop(seats, None)
    if engine:
        engine.close()


class Engine:
    """Streams, kernels and failure words of the ranks that this process drives.

    Nothing is loaded between two launches of one collective: loading may wait for what runs on a device, and that waits
    for the ranks that come later.

    Collectives of a rank count on coming one after the other, so each waits for the one before, whatever stream that
    was on. What is captured does not wait, nor is it waited for: when a graph is launched is the user's affair.
    """

    def __init__(self, seats: Seats) -> None:
        self._devices = tuple(seats.devices)
        self.most_blocks = _most_blocks(self._devices)
        self._kernels: dict[tuple[int, Reduction | None], dict[str, int]] = {}
        self._streams: list[int] = []
        with ExitStack() as held, outside_of_captures():
            self._contexts = {device: _retained(device, held) for device in dict.fromkeys(self._devices)}
            first = next(iter(self._contexts.values()))
            self._words = _failure_words(len(self._devices), first, held)
            self._gone = _failure_words(1, first, held)
            self._aside = {device: _stream(context, _NON_BLOCKING, held) for device, context in self._contexts.items()}
            self._ended = [_event(self._contexts[device], held) for device in self._devices]
            self._held = held.pop_all()

    def close(self) -> None:
        """Give everything back. A second call does nothing."""
        self._held.close()

    # ---- failures

    def word(self, seat: int) -> int:
        """Answer the address of a seat's failure word."""
        return ctypes.addressof(self._words) + _WORD * seat

    def check(self, timeout: float) -> None:
        """Raise what a kernel has told."""
        told = next((word for word in list(self._words) if word), 0)
        if told:
            why = Why.of(told)
            raise CollectiveTimeout(why.rank, NAMES[why.name], why.number, timeout, gone=why.gone)

    def abandon(self, seats: Seats, rank: int) -> None:
        """Let all kernels of ours go that wait, or will wait, for a rank that is gone."""
        self._gone[0] = GONE | rank + 1
        for mine, device in zip(seats.mine, self._devices, strict=True):
            with current(self._contexts[device]):
                driver.memcpy_htod_async_v2(
                    seats.pad.peer(mine) + BROKEN, ctypes.addressof(self._gone), _WORD, self._aside[device]
                )
                driver.stream_synchronize(self._aside[device])

    # ---- what is launched

    def streams(self) -> list[int]:
        """Answer the team's own stream of each rank. They order with the legacy default stream."""
        if not self._streams:
            for device in self._devices:
                with outside_of_captures():
                    self._streams.append(_stream(self._contexts[device], 0, self._held))
        return self._streams

    def load(self, reduction: Reduction | None, name: str) -> list[int]:
        """Answer a kernel for each rank."""
        return [self._kernel(device, reduction, name) for device in self._devices]

    def _kernel(self, device: int, reduction: Reduction | None, name: str) -> int:
        known = self._kernels.setdefault((device, reduction), {})
        if name not in known:
            with current(self._contexts[device]), outside_of_captures():
                if not known:
                    known[""] = load_module(reduction, device)
                    self._held.callback(_unload, known[""], self._contexts[device])
                known[name] = driver.module_get_function(known[""], name.encode())
                driver.func_load(known[name])  # else the first launch does, lazily
        return known[name]

    def checked(self, streams: list[int]) -> list[int]:
        """Answer streams that a user gave, unless a launch would refuse one: the kernels before it would wait for it.

        Raises
        ------
        ValueError
            A rank's stream is not in the primary context of its device; only some of the streams capture.
        """
        captured: set[bool] = set()
        for device, stream in zip(self._devices, streams, strict=True):
            context = self._contexts[device]
            with current(context):
                captured.add(bool(driver.stream_is_capturing(stream)))
                if _context_of(stream) not in (None, context):
                    raise ValueError(f"stream {stream:#x} is not in the primary context of device {device}")
        if len(captured) > 1:
            raise ValueError("some of the streams capture, and some do not: the ranks would wait for each other")
        return streams

    def launch(self, seat: int, kernel: int, blocks: int, stream: int, call: Call) -> None:
        """Launch for one rank."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(call))
        with current(self._contexts[self._devices[seat]]):
            captured = driver.stream_is_capturing(stream)
            if not captured:
                driver.stream_wait_event(stream, self._ended[seat], 0)
            driver.launch_kernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, stream, ctypes.addressof(arguments), 0)
            if not captured:
                driver.event_record(self._ended[seat], stream)


def _most_blocks(devices: Sequence[int]) -> int:
    """Answer how many blocks all ranks of a device can have resident at once, each on a multiprocessor of its own.

    Ranks share a device only where one process drives all of them; so all ranks of a team get the same answer.
    """
    device, ranks = Counter(devices).most_common(1)[0]
    if ranks == 1:
        return MOST_BLOCKS
    return max(1, min(MOST_BLOCKS, driver.device_get_attribute(_MULTIPROCESSORS, device) // ranks))


def _context_of(stream: int) -> int | None:
    """Answer the context of a stream; None for one of a green context, which the driver does not name so."""
    try:
        return int(driver.stream_get_ctx(stream))
    except driver.NotSupportedError:
        return None


def _retained(device: int, held: ExitStack) -> int:
    """Retain the primary context of a device."""
    context = driver.device_primary_ctx_retain(device)
    held.callback(driver.device_primary_ctx_release_v2, device)
    return context


def _failure_words(count: int, context: int, held: ExitStack) -> ctypes.Array[ctypes.c_uint64]:
    """Make a word of the host's for each rank, zero, which all devices can write."""
    with current(context):
        address = driver.mem_host_alloc(_WORD * count, _PORTABLE_MAPPED)
    held.callback(driver.mem_free_host, address)
    ctypes.memset(address, 0, _WORD * count)
    return (ctypes.c_uint64 * count).from_address(address)


def _stream(context: int, flags: int, held: ExitStack) -> int:
    with current(context):
        stream = driver.stream_create(flags)
    held.callback(driver.stream_destroy_v2, stream)
    return stream


def _event(context: int, held: ExitStack) -> int:
    """Create an event, which counts as over until it is recorded."""
    with current(context):
        event = driver.event_create(_NO_TIMES)
    held.callback(driver.event_destroy_v2, event)
    return event


def _unload(module: int, context: int) -> None:
    with current(context):
        driver.module_unload(module)


@contextmanager
def current(context: int) -> Generator[None]:
    """Make a context current for a while."""
    driver.ctx_push_current_v2(context)
    try:
        yield
    finally:
        driver.ctx_pop_current_v2()
