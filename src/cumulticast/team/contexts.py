"""The primary contexts of a team's devices, for what needs a current one: memsets, streams, kernels."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cumulticast import driver

from .resource import Resource

_NON_BLOCKING = int(driver.StreamFlags.NON_BLOCKING)
_RELAXED = int(driver.StreamCaptureMode.RELAXED)


@contextmanager
def outside_of_captures() -> Generator[None]:
    """Let this thread do what a capture elsewhere forbids it in the stricter modes: nothing here belongs to a graph."""
    before = driver.thread_exchange_stream_capture_mode(_RELAXED)
    try:
        yield
    finally:
        driver.thread_exchange_stream_capture_mode(before)


class Contexts(Resource):
    """The primary contexts of some devices, held until ``close``."""

    def __init__(self) -> None:
        super().__init__()
        self._contexts: dict[int, int] = {}
        self._streams: dict[int, int] = {}

    def retain(self, device: int) -> None:
        """Hold the context of a device, too."""
        if device not in self._contexts:
            self._contexts[device] = int(driver.device_primary_ctx_retain(device))
            self.undo(driver.device_primary_ctx_release_v2, device)
            with self.current(device), outside_of_captures():
                self._streams[device] = int(driver.stream_create(_NON_BLOCKING))
                self.undo(driver.stream_destroy_v2, self._streams[device])

    @contextmanager
    def current(self, device: int) -> Generator[None]:
        """Make a device's context current for a while."""
        driver.ctx_push_current_v2(self._contexts[device])
        try:
            yield
        finally:
            driver.ctx_pop_current_v2()

    def synchronize(self) -> None:
        """Wait until all that was handed to the devices is done."""
        for device in self._contexts:
            with self.current(device):
                driver.ctx_synchronize()

    def zero(self, device: int, ptr: int, nbytes: int) -> None:
        """Fill memory of a device with zeros, and wait for it.

        On a stream of our own: no capture elsewhere in the context forbids that, or is spoilt by it.
        """
        with self.current(device), outside_of_captures():
            driver.memset_d8_async(ptr, 0, nbytes, self._streams[device])
        self.settle(device)

    def settle(self, device: int) -> None:
        """Wait until `zero` is done with a device: what it fills can be unmapped then."""
        with self.current(device), outside_of_captures():
            driver.stream_synchronize(self._streams[device])

    def __repr__(self) -> str:
        """Show the devices."""
        return f"Contexts({list(self._contexts)})"
