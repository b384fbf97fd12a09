"""Decide which arrays go where in which multicast objects.

The model. A multicast object is an address range over a team of devices. At each offset every device of the team binds
memory of its own, so an array is at one offset of one object and has a replica on each device: new arrays of one team
that share an object need one block of memory on each device and one bind each. What an object costs:

* a slot of the switches (128 on an HGX board), whatever its size;
* padding: its size, its binds and the memory under them are whole granules of 2 MiB (or, by the recommended
  granularity, of 512 MiB from 512 MiB on), on every device of the team;
* address range, in pages of 512 MiB on hardware: no memory, so nothing is saved by saving it.

Few large objects are cheap, then, and what keeps arrays apart is: another team (an object has one team), `separate`,
a largest size, and the recommended granularity, under which an object below 512 MiB pads less than one just above it.
With any of these it is bin packing, where a bin costs its rounded size first and a slot second.

What is best, in this order: it fits (slots, memory of each device, stock of unaligned binds); then the fewest bytes of
memory that no array covers, over all devices; then the fewest objects. Teams do not compete for waste, so each is
packed by itself (`team.py`): first fit decreasing and variants of it, the best of them, and for up to ten arrays the
optimum (`exact.py`). Only slots are common: where they are short, the teams that pay least for it merge objects
(`draft.py`).

Memory that exists takes address range and binds, and no memory: `existing.py`. On SM_107, where a bind may begin inside
a granule, memory of different teams can stand closer than whole granules: `sharing.py`. Elsewhere it is never tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cumulticast.layout.build import build
from cumulticast.layout.draft import Draft, Team, Wanted, draft
from cumulticast.layout.existing import Window, memory_sizes, merged, window
from cumulticast.layout.machines import DEFAULT_MACHINE, Granularity, Limits, limits
from cumulticast.layout.planned import Lack, Plan
from cumulticast.layout.request import Request, RequestError, coerce
from cumulticast.layout.sizes import free_name, nearest_name, whole

POLICIES: tuple[Granularity, Granularity] = ("minimum", "recommended")


def plan(
    requests: Iterable[object],
    machine: str | Limits = DEFAULT_MACHINE,
    *,
    granularity: Granularity = "minimum",
    max_object: int | None = None,
    memory: int | None = None,
    slots: int | None = None,
    unaligned: int | None = None,
) -> Plan:
    """Lay arrays out in multicast objects.

    Parameters
    ----------
    requests
        `Request`, mappings with its fields, or (name, nbytes[, team]).
    machine
        A preset of ``cumulticast machines``, or limits of your own.
    granularity
        ``minimum``: sizes are multiples of 2 MiB. ``recommended``: as the driver recommends, 512 MiB for large objects.
    max_object
        Bytes that an object may have at most; None: any number.
    memory, slots, unaligned
        What is left: bytes on each device, multicast objects, unaligned binds of each device. None: all there is.

    Returns
    -------
    Plan
        Also when it does not fit: `.lacking` says what is missing, and how much.

    Raises
    ------
    ValueError, TypeError
        A request or an argument that cannot be; the text names the value and the nearest one that can.
    """
    if granularity not in POLICIES:
        raise ValueError(f"granularity {granularity!r} is none; nearest {nearest_name(str(granularity), POLICIES)!r}")
    if isinstance(machine, str):
        machine = limits(machine, memory=memory, slots=slots, unaligned=unaligned)
    elif not isinstance(machine, Limits):  # pyright: ignore[reportUnnecessaryIsInstance] (users are not typed)
        raise TypeError(f"machine {machine!r}: the name of a preset, such as {DEFAULT_MACHINE!r}, or Limits")
    elif (memory, slots, unaligned) != (None, None, None):
        raise ValueError("memory, slots and unaligned are part of the limits given as machine; use dataclasses.replace")
    if max_object is not None:
        whole("max_object", max_object, machine.granularity)
    asked = checked([coerce(request) for request in requests], machine)
    wanted, lacking = grouped(asked, machine)
    drafts: dict[Granularity, Draft] = {policy: draft(wanted, machine, policy, max_object) for policy in POLICIES}
    return build(machine, granularity, drafts, max_object, lacking)


def checked(requests: Sequence[Request], machine: Limits) -> Sequence[Request]:
    """Return the requests if the machine can have them.

    Raises
    ------
    ValueError
        A name occurs twice, a device does not exist, or an alignment exceeds the granularity.
    """
    places: dict[str, int] = {}
    for number, request in enumerate(requests):
        first = places.setdefault(request.name, number)
        if first != number:
            free = free_name(request.name, {other.name for other in requests})
            raise RequestError(request.name, f"requests {first} and {number} have this name; nearest free {free}")
        if request.team is not None and request.team[-1] >= machine.devices:
            last = machine.devices - 1
            has = f"{machine.machine} has 0 to {last}; nearest {last}"
            raise RequestError(request.name, f"device {request.team[-1]} does not exist, {has}")
        if request.alignment > machine.granularity:
            why = f"alignment {request.alignment} exceeds the granularity, at which objects are mapped"
            raise RequestError(request.name, f"{why}; nearest {machine.granularity}")
    return requests


def grouped(requests: Sequence[Request], machine: Limits) -> tuple[dict[Team, Wanted], list[Lack]]:
    """Sort requests by team; find the window of each array that exists, or note that there is none."""
    everyone = tuple(range(machine.devices))
    sizes = memory_sizes(requests, machine.granularity)
    new: dict[Team, tuple[list[Request], list[Request]]] = {}
    old: dict[Team, tuple[list[Window], list[Window]]] = {}
    lacking: list[Lack] = []
    for request in requests:
        team = request.team or everyone
        if request.existing is None:
            new.setdefault(team, ([], []))[request.separate].append(request)
            continue
        found = window(request, team, machine, sizes[request.existing.memory])
        if isinstance(found, str):
            lacking.append(Lack("bind", 1, 0, found))
        else:
            old.setdefault(team, ([], []))[request.separate].append(found)
    wanted: dict[Team, Wanted] = {}
    for team in dict.fromkeys((*new, *old)):
        arrays, windows = new.get(team, ([], [])), old.get(team, ([], []))
        wanted[team] = Wanted(*arrays, merged(windows[0], machine.granularity), windows[1])
    return wanted, lacking
