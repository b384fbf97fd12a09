"""The handlers of NVML, by subject; importing them all fills the register."""

from importlib import import_module

SUBJECTS = ("system", "identity", "state", "memory", "processes", "nvlink", "topology", "fields", "fabric")


def load_all() -> None:
    """Import every subject."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
