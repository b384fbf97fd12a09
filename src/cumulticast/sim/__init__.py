"""A software CUDA driver: start one in this process, set its faults, look at its world.

    import cumulticast.sim as sim
    sim.start(machine="hgx-h100-8")          # before the first CUDA call
    from cuda.bindings import driver         # NVIDIA's own, unmodified

For other programs: ``cumulticast run -- COMMAND``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver, Finding
    from cumulticast.sim.injection import Faults
    from cumulticast.sim.picture import Picture

__all__ = ["current", "findings", "library_path", "reset", "start", "stop", "world"]


def start(
    machine: str = "hgx-h100-8",
    devices: int | None = None,
    *,
    profile: Literal["strict", "hardware"] = "hardware",
    nodes: int = 1,
    faults: Iterable[str] = (),
    block_limit: float | None = None,
    kernel_limit: float | None = None,
    hopeless: Literal["fail", "wait"] = "fail",
    memory: str = "plain",
) -> None:
    """Put a fresh simulated machine behind libcuda in this process.

    Parameters
    ----------
    machine
        A preset (``cumulticast machines`` lists them).
    devices, nodes
        Devices of each node, if fewer than the preset's, and how many nodes.
    profile
        ``hardware`` accepts what real machines accept and reports it as a finding; ``strict`` holds to the documents.
    faults
        Fault specifications in force from the start.
    block_limit
        Seconds after which a blocked bind or map ends with 909; None: no limit.
    kernel_limit
        Seconds after which a kernel that still runs is ended with 702; None: no limit.
    hopeless
        ``fail`` ends a wait that cannot end with 909 after a second; ``wait`` waits for ever, as hardware does.
    memory
        ``plain``, or ``adversarial[:SEED]``: kernels meet what the PTX memory model allows (docs/memory.md).

    Raises
    ------
    RuntimeError
        A simulator runs already, or another libcuda is loaded in this process.
    ValueError
        A name or number that is not possible; the text says what is.
    """
    from cumulticast.libcuda import serve
    from cumulticast.sim.driver import Driver, Options

    running = serve.SERVER.driver
    if running is not None and running.process is not None and running.pid != os.getpid():
        raise RuntimeError(
            "this process was forked from one that uses CUDA, and cannot (status 3); start it by `spawn`"
        )
    if running is not None and not running.closed:
        raise RuntimeError("a simulated machine runs in this process already; sim.stop() it first, or sim.reset()")
    options = Options(
        machine=machine,
        devices=devices,
        nodes=nodes,
        profile=profile,
        faults=tuple(faults),
        block_limit=block_limit,
        kernel_limit=kernel_limit,
        hopeless=hopeless,
        memory=memory,
    )
    _open_doors(Driver(options))


def _open_doors(driver: Driver) -> None:
    """Put a driver behind libcuda, and its machine behind libnvidia-ml."""
    from cumulticast.libcuda import serve
    from cumulticast.libnvml import serve as nvml

    try:
        serve.open_door(driver)
        nvml.tell_of(driver)
    except BaseException:
        driver.close()
        raise


def stop() -> None:
    """End the simulated machine: everything it held is gone, and calls answer 3 until another one is started."""
    from cumulticast.libcuda import serve

    serve.close_driver()


def reset() -> None:
    """Begin again with a fresh machine of the same kind; every handle and address of before is gone."""
    from dataclasses import replace

    from cumulticast.sim.driver import Driver

    options = replace(current().options)
    stop()
    _open_doors(Driver(options))


def current() -> Driver:
    """Answer the driver in service.

    Raises
    ------
    RuntimeError
        None runs in this process.
    """
    from cumulticast.libcuda import serve

    driver = serve.SERVER.driver
    if driver is None or driver.closed:
        raise RuntimeError("no simulated machine runs in this process; sim.start() one, or use `cumulticast run`")
    return driver


def findings() -> list[Finding]:
    """Answer what was noticed so far: legal for this driver, but not promised by the documents."""
    return list(current().findings)


def world() -> Picture:
    """Answer a picture of the machine as it is now."""
    from cumulticast.sim.picture import take

    driver = current()
    if driver.process is not None:
        with driver.lock:
            driver.process.sweep()
    return take(driver.world)


def library_path() -> Path:
    """Answer the path of our libcuda.so.1, for LD_LIBRARY_PATH or a loader of your own."""
    from cumulticast.libcuda import serve

    return serve.library_path()


def __getattr__(name: str) -> Faults:
    if name == "faults":
        return current().faults
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
