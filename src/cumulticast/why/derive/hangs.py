"""What follows about waiting: who is inside of which call, and a set-up that the log leaves in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation


def _waits(notes: Notes) -> Iterator[Observation]:
    """See processes inside of the bind, and whether all that are shown are."""
    inside = notes.of("stack-bind")
    if not inside:
        return
    in_bind = {one.fact("process") for one in inside}
    shown = {one.fact("process") for one in notes.of("stack")}
    all_in = len(in_bind) > 2 and in_bind >= shown
    yield from (replace(one, kind="bind-waits-all" if all_in else "bind-waits") for one in inside)


def _divergence(notes: Notes) -> Iterator[Observation]:
    """See some processes in a window registration and others in another collective."""
    window = notes.of("stack-window")
    registering = {one.fact("process") for one in window}
    other = [one for one in notes.of("stack-collective") if one.fact("process") not in registering]
    if window and other:
        shown: dict[str, Observation] = {}
        for one in window:
            if one.fact("frame") == "ncclCommWindowRegister" or one.fact("process") not in shown:
                shown[one.fact("process")] = one
        yield from (replace(one, kind="registration-diverges") for one in [*shown.values(), *other])


def _unfinished(notes: Notes) -> Iterator[Observation]:
    """See a multicast set-up that the log leaves in the middle: created or imported, nothing behind it."""
    begun = notes.of("nvls-creating", "nvls-importing")
    if begun and not notes.has("init-complete", "nvls-working", "failure", "nvls-fallback"):
        yield from (replace(one, kind="nvls-unfinished") for one in (notes.of("nvls-creating") or begun)[:8])


def _partly(notes: Notes) -> Iterator[Observation]:
    """See failing binds of some ranks only, where the log shows the others."""
    failed = {one.rank for one in notes.of("failure") if one.fact("area") == "multicast" and one.rank is not None}
    everyone = {int(one.fact("rank")) for one in notes.of("init-start")}
    if failed and len(everyone) > len(failed):
        first = next(one for one in notes.of("failure") if one.rank in failed)
        yield replace(first, kind="some-ranks-only")


STEPS = (_waits, _divergence, _unfinished, _partly)
