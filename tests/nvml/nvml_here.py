"""NVML of the simulated machine in this process, through cuda.bindings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def initialised() -> Iterator[ModuleType]:
    from cuda.bindings import nvml

    nvml.init_v2()
    try:
        yield nvml
    finally:
        nvml.shutdown()


def handles(nvml: ModuleType) -> list[int]:
    return [nvml.device_get_handle_by_index_v2(k) for k in range(nvml.device_get_count_v2())]
