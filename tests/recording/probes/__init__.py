"""The groups of steps, by subject; importing a module registers its groups."""

import importlib

SUBJECTS = (
    "lookup",
    "logs",
    "contexts",
    "devices",
    "allocations",
    "host",
    "copies",
    "planes",
    "vmm",
    "streams",
    "pools",
    "pointers",
    "modules",
    "kernels",
    "captures",
    "graphs",
    "peers",
)


def load() -> None:
    """Register every group."""
    for subject in SUBJECTS:
        importlib.import_module(f"probes.{subject}")
