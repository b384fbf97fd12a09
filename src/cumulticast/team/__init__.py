"""The team: multicast memory for people, on any driver; it does not know which one it has.

What lies where:

- ``team.py`` Team; ``ranks.py`` what its ranks do together
- ``foundation.py`` what a team stands on; ``members.py`` who belongs to it
- ``array.py`` SymmetricArray; ``heap.py`` a team's memory, in blocks (``block.py``); ``host_view.py`` numpy on it
- ``replica.py``, ``dlpack.py`` one rank's part of an array, for other libraries; ``native/`` the C of it
- ``bringup.py`` the voted bring-up of a block; ``steps.py`` its steps; ``vote.py``, ``facts.py`` what ranks tell
- ``errors.py`` TeamError; ``watch.py`` who is gone while a kernel waits
- ``multicast.py`` MulticastObject; ``binding.py``, ``memory.py``, ``mapping.py``, ``handles.py`` what it is made of
- ``devices.py``, ``shapes.py`` what users may give for a device, a shape, a type
- ``resource.py``, ``contexts.py`` what has to be closed; contexts
- ``comm/`` how ranks talk: all-gathers with a time limit, and who failed
- ``collectives/`` kernels that broadcast, reduce and gather
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .array import SymmetricArray
    from .binding import Binding
    from .errors import TeamError
    from .mapping import Mapping
    from .memory import PhysicalMemory
    from .multicast import MulticastObject
    from .team import Team

__all__ = ["Binding", "Mapping", "MulticastObject", "PhysicalMemory", "SymmetricArray", "Team", "TeamError"]

# comm/ alone needs neither a driver nor numpy: the doctor tries its ways of passing descriptors.
_ROOMS = {
    "Binding": "binding",
    "Mapping": "mapping",
    "MulticastObject": "multicast",
    "PhysicalMemory": "memory",
    "SymmetricArray": "array",
    "Team": "team",
    "TeamError": "errors",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
