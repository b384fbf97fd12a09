"""A plan: multicast objects, what is in them, and what memory is bound where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cumulticast.layout.machines import Granularity, Limits

SHARED = "shared"  # the name of the blocks that several objects share


@dataclass(frozen=True, slots=True)
class Array:
    """An array in an object: its replicas all lie at this offset.

    Attributes
    ----------
    existing
        The name of the memory in which it lived before; None for new arrays.
    """

    name: str
    nbytes: int
    offset: int
    existing: str | None = None


@dataclass(frozen=True, slots=True)
class Bind:
    """A bind: `size` bytes of the memory of this name on `device`, from `mem_offset` on, at `mc_offset`.

    Attributes
    ----------
    created
        The plan's own memory (one of `Plan.blocks`): bind_mem. Otherwise memory that exists: bind_mem, or bind_addr
        with its address.
    unaligned
        It begins inside a granule: it takes one of the device's stock, and a granule of headroom behind it.
    """

    device: int
    mc_offset: int
    memory: str
    mem_offset: int
    size: int
    created: bool
    unaligned: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Physical memory to create on a device; the same name on several devices is one block each."""

    name: str
    device: int
    size: int


@dataclass(frozen=True, slots=True)
class PlannedObject:
    """A multicast object.

    Attributes
    ----------
    number
        Its place in the plan.
    team
        Devices to add.
    size
        For multicast_create.
    extent
        The address range that hardware gives it.
    """

    number: int
    team: tuple[int, ...]
    size: int
    extent: int
    arrays: tuple[Array, ...]
    binds: tuple[Bind, ...]

    @property
    def unaligned(self) -> bool:
        """Whether a device binds off the granularity."""
        return any(bind.unaligned for bind in self.binds)


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What a plan takes of a device: bytes of memory to create, covered by arrays, and wasted; and unaligned binds."""

    device: int
    memory: int
    arrays: int
    waste: int
    unaligned: int


@dataclass(frozen=True, slots=True)
class Count:
    """How much is used of how much there is."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Lack:
    """What a plan needs and the machine has not.

    Attributes
    ----------
    what
        slots, memory, unaligned, object (an array is larger than objects may be), bind (no bind shows an array).
    needed, available
        Of it; bytes for memory and object.
    why
        In words.
    """

    what: str
    needed: int
    available: int
    why: str
    device: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """What a granularity policy would cost: bytes wasted over all devices, and slots."""

    waste: int
    slots: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which arrays go where in which multicast objects.

    Attributes
    ----------
    limits
        The machine planned for.
    granularity
        The policy of sizes.
    objects, blocks
        What to create, and what to bind.
    devices
        What each device gives, those that are in a team.
    slots
        Multicast objects used, of those there are.
    unaligned
        Unaligned binds on the device that has most of them, of its stock.
    lacking
        What does not fit; empty in a plan that can be carried out.
    compared
        What each policy would waste, and which slots it would take.
    why
        Sentences: what was decided, and for what.
    """

    limits: Limits
    granularity: Granularity
    objects: tuple[PlannedObject, ...]
    blocks: tuple[Block, ...]
    devices: tuple[DeviceUse, ...]
    slots: Count
    unaligned: Count
    lacking: tuple[Lack, ...]
    compared: Mapping[Granularity, Total]
    why: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether the machine has all of it."""
        return not self.lacking

    @property
    def waste(self) -> int:
        """Bytes of memory to create that no array covers, over all devices."""
        return sum(device.waste for device in self.devices)

    def as_dict(self) -> dict[str, Any]:
        """Return what `cumulticast plan --json` prints, without the schema number."""
        return {
            "machine": self.limits.machine,
            "granularity": self.granularity,
            "fits": self.fits,
            "lacking": [asdict(lack) for lack in self.lacking],
            "waste": self.waste,
            "slots": asdict(self.slots),
            "unaligned": asdict(self.unaligned),
            "compared": {policy: asdict(total) for policy, total in self.compared.items()},
            "why": list(self.why),
            "objects": [asdict(planned) for planned in self.objects],
            "blocks": [asdict(block) for block in self.blocks],
            "devices": [asdict(device) for device in self.devices],
            "limits": asdict(self.limits),
        }

    def svg(self) -> str:
        """Draw the map of the address ranges."""
        from cumulticast.layout.svg import draw

        return draw(self)
