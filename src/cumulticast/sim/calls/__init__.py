"""What each call of the driver API does, by subject; `cumulticast.sim.entry` says how they are found."""

from importlib import import_module
from pkgutil import iter_modules


def load_all() -> None:
    """Import every module of this package, so that its handlers are registered."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
