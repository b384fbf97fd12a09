"""What follows about the fabric: its state, cliques, missing GPUs and switches, several hosts, sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation

MINIMUM = 2 << 20  # bytes; the smallest multicast granularity that any log shows


def _states(notes: Notes) -> Iterator[Observation]:
    for one in notes.of("fabric"):
        state, status = one.fact("state"), one.fact("status")
        if state in ("In Progress", "Not Started"):
            yield replace(one, kind="fabric-pending")
        elif state == "Completed":
            good = any(word.startswith(status) for word in ("Success", "N/A"))  # it may be cut off
            yield replace(one, kind="fabric-good" if good else "fabric-bad")
        if state == "Completed" and _zero(one.fact("uuid")):
            yield replace(one, kind="uuid-zero")


def _zero(uuid: str) -> bool:
    return bool(uuid) and not uuid.strip("0.-")


def _cliques(notes: Notes) -> Iterator[Observation]:
    """See different cliques (or clusters) among GPUs: one line of each."""
    first: dict[str, Observation] = {}
    for one in notes.of("fabric"):
        if one.fact("clique") not in ("", "N/A"):
            key = one.fact("clique").removeprefix("0x") + (one.fact("uuid") if one.fact("by") == "nccl" else "")
            first.setdefault(key, one)
    kinds = {one.fact("by") for one in first.values()}
    if len(first) > 1 and len(kinds) == 1:
        yield from (replace(one, kind="cliques-differ") for one in first.values())


def _odd_count(notes: Notes) -> Iterator[Observation]:
    yield from (replace(one, kind="gpus-missing") for one in notes.of("gpu-count") if one.fact("count") in "3567")


def _no_switch(notes: Notes) -> Iterator[Observation]:
    """See that the machine has no NVSwitch: counted, or by how its GPUs are joined, or by their kind."""
    counts = [one for one in notes.of("switch-count") if int(one.fact("count")) == 0]
    strong = [*counts, *notes.of("topo-pcie", "gpu-card")]
    if strong and not notes.has("gpu-switched", "topo-nvlink"):
        yield from (replace(one, kind="no-switch") for one in [*strong[:6], *notes.of("fm-absent")])


def _boards(notes: Notes) -> Iterator[Observation]:
    """See an HGX board, whose node runs Fabric Manager, or a Grace node, whose Fabric Manager is on the switch trays.

    One GPU alone may be passed through to a guest, and the host runs it.
    """
    switched = notes.of("gpu-switched")
    grace = [one for one in switched if one.fact("name").startswith(("GB", "GH"))]
    if grace:
        yield replace(grace[0], kind="grace")
        return
    several = len(switched) > 1 or any(int(one.fact("count")) > 1 for one in notes.of("gpu-count"))
    boards = [*(switched[:1] if several else ()), *notes.of("topo-nvlink")[:1]]
    yield from (replace(one, kind="hgx") for one in boards)


def _several_hosts(notes: Notes) -> Iterator[Observation]:
    """See a job over several machines."""
    hosts: dict[str, Observation] = {}
    for one in notes.of("init-start", "mnnvl-gpu", "failure", "process-at"):
        if one.fact("host"):
            hosts.setdefault(one.fact("host"), one)
    if len(hosts) > 1:
        yield from (replace(one, kind="several-hosts") for one in list(hosts.values())[:2])
    if notes.has("multi-node"):
        yield replace(notes.of("multi-node")[0], kind="several-hosts")


def _odd_sizes(notes: Notes) -> Iterator[Observation]:
    """See a size that is no multiple of the multicast granularity, beside a bind that was refused with 1."""
    if not any(one.code == 1 and one.fact("area") == "multicast" for one in notes.of("failure")):
        return
    minimum = [int(one.fact("bytes")) for one in notes.of("granularity")]
    recommended = [int(one.fact("bytes") or one.fact("more")) for one in notes.of("granularity-recommended")]
    told = minimum or recommended
    step = max(MINIMUM, min(told, default=0))
    for one in notes.of("size"):
        if int(one.fact("bytes")) % step:
            yield replace(one, kind="size-odd")


STEPS = (_states, _cliques, _odd_count, _no_switch, _boards, _several_hosts, _odd_sizes)
