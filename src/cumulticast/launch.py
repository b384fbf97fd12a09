"""What a program needs to find a simulated machine: a world with our library in it, and an environment."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import cumulticast
from cumulticast.sim import worlds
from cumulticast.sim.driver import Options
from cumulticast.sim.machine import load
from cumulticast.sim.shared import LIBRARIES, World


@contextmanager
def machine(options: Options) -> Generator[World]:
    """Make a world that programs find with `environment`, and remove it at the end.

    Raises
    ------
    ValueError
        There is no such machine; the text names the nearest one that is.
    FileNotFoundError
        Our library was not built.
    """
    model = load(options.machine, devices=options.devices, nodes=options.nodes)
    links = {name: library(room) for room, names in LIBRARIES.items() for name in names}
    world = World.create(model, profile=options.profile, faults=options.faults, path=worlds.place())
    try:
        for name, built in links.items():
            (world.path / name).symlink_to(built)
        yield world
    finally:
        world.close()


def library(room: str = "libcuda") -> Path:
    """Find the library that a room builds, without loading it here.

    Raises
    ------
    FileNotFoundError
        It was not built.
    """
    path = Path(cumulticast.__file__).parent / room / LIBRARIES[room][0]
    if not path.is_file():
        raise FileNotFoundError(f"{path} was not built; install the package: pip install .")
    return path


def environment(options: Options, world: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Answer the environment in which a program finds the machine.

    A program that is not Python gets an interpreter of the driver's own: CUMULTICAST_PYTHON says which, and
    CUMULTICAST_SITE where this package and what it needs are installed.
    """
    path = [str(world), *filter(None, [inherited.get("LD_LIBRARY_PATH")])]
    settings = {
        "LD_LIBRARY_PATH": os.pathsep.join(path),
        "CUMULTICAST_WORLD": str(world),
        "CUMULTICAST_MACHINE": options.machine,
        "CUMULTICAST_DEVICES": str(options.devices or ""),
        "CUMULTICAST_PROFILE": options.profile,
        "CUMULTICAST_HOPELESS": options.hopeless,
        "CUMULTICAST_BLOCK_LIMIT": str(options.block_limit or ""),
        "CUMULTICAST_KERNEL_LIMIT": str(options.kernel_limit or ""),
        "CUMULTICAST_MEMORY": options.memory,
        "CUMULTICAST_FAULTS": ";".join(options.faults),
        "CUMULTICAST_PYTHON": sys.executable,
        "CUMULTICAST_SITE": os.pathsep.join(site_directories()),
    }
    return {**inherited, **settings}


def site_directories() -> list[str]:
    """Answer where this package and its dependencies are installed."""
    own = str(Path(cumulticast.__file__).resolve().parents[1])
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return list(dict.fromkeys([own, *site.getsitepackages(), *user]))
