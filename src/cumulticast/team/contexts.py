"""The primary contexts of a team's devices, for what needs a current one: memsets, streams, kernels."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cumulticast import driver

from .resource import Resource


class Contexts(Resource):
    """The primary contexts of some devices, held until ``close``."""

    def __init__(self) -> None:
        super().__init__()
        self._contexts: dict[int, int] = {}

    def retain(self, device: int) -> None:
        """Hold the context of a device, too."""
        if device not in self._contexts:
            self._contexts[device] = int(driver.device_primary_ctx_retain(device))
            self.undo(driver.device_primary_ctx_release_v2, device)

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
        """Fill memory of a device with zeros, and wait for it."""
        with self.current(device):
            driver.memset_d8_v2(ptr, 0, nbytes)
            driver.ctx_synchronize()

    def __repr__(self) -> str:
        """Show the devices."""
        return f"Contexts({list(self._contexts)})"
