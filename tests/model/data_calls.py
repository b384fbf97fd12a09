"""Calls that move data, beside all others, as the process makes them that runs this; each answers (status, value)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from both_bindings import Answer, Bindings
from cuda.bindings._v2 import driver

from cumulticast import multimem

contexts: list[int] = []  # of this process's devices, by ordinal


def begin() -> int:
    """Come to the driver, make a context on each device, and answer how many there are."""
    driver.init(0)
    contexts[:] = [driver.device_primary_ctx_retain(d) for d in range(driver.device_get_count())]
    return len(contexts)


class Calls(Bindings):
    """All calls of the model."""

    def upload(self, device: int, ptr: int, host: np.ndarray) -> Answer:
        driver.ctx_set_current(contexts[device])
        return self.call("cuMemcpyHtoD", "memcpy_htod_v2", ptr, host.ctypes.data, host.size)

    def download(self, device: int, ptr: int, host: np.ndarray) -> Answer:
        """Answer what then stands in the host memory, also after a refusal."""
        driver.ctx_set_current(contexts[device])
        status, _ = self.call("cuMemcpyDtoH", "memcpy_dtoh_v2", host.ctypes.data, ptr, host.size)
        return status, host

    def store(self, ptr: int, array: np.ndarray) -> Answer:
        return refusing(multimem.store, ptr, array)

    def load_reduce(self, ptr: int, count: int, dtype: str, op: Any) -> Answer:
        return refusing(multimem.load_reduce, ptr, count, dtype, op)

    def reduce(self, ptr: int, array: np.ndarray, op: Any) -> Answer:
        return refusing(multimem.reduce, ptr, array, op)

    def free_memory(self) -> list[int]:
        """Answer the free bytes of each device."""
        return [self._free_memory(context) for context in contexts]

    def _free_memory(self, context: int) -> int:
        driver.ctx_set_current(context)
        return driver.mem_get_info_v2()[0]


def refusing(function: Callable[..., Any], *arguments: Any) -> Answer:
    """Call a function of `multimem`; what it refuses is status 1 here, as a kernel's would be an error."""
    try:
        return 0, function(*arguments)
    except ValueError:
        return 1, None
