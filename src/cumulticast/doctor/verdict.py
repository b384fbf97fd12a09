"""What the results together mean for multicast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cumulticast.doctor.result import Answer, Result

#: Without these there is no multicast: where one of them is missing, it cannot work.
ESSENTIAL = ("driver", "devices", "fabric", "memory", "mig", "confidential-computing", "trial")
#: Without an answer of these nothing can be said.
NEEDED = ("driver", "devices")


def judge(results: Sequence[Result]) -> tuple[Answer, str]:
    """Answer whether multicast can work, and why."""
    found = {result.check: result for result in results}
    if broken := [found[name] for name in ESSENTIAL if name in found and found[name].outcome == "missing"]:
        return "cannot", "; ".join(dict.fromkeys(result.summary for result in _with_causes_first(broken)))
    if _tried(found):
        return "works", _grounds(found)
    if unknown := [name for name in NEEDED if name not in found or found[name].outcome in ("not-available", "crashed")]:
        told = (found[name].summary if name in found else f"{name} was not asked" for name in unknown)
        return "unknown", "; ".join(dict.fromkeys(told))
    if crashed := [found[name] for name in ESSENTIAL if name in found and found[name].outcome == "crashed"]:
        return "unknown", "; ".join(f"{result.check}: {result.summary}" for result in crashed)
    return "works", _grounds(found)


def _with_causes_first(results: list[Result]) -> list[Result]:
    return sorted(results, key=lambda result: not result.causes)


def _tried(found: Mapping[str, Result]) -> bool:
    """Whether a multicast object came up: nothing else needs to be known then."""
    return "trial" in found and found["trial"].outcome in ("ok", "partial")


def _grounds(found: Mapping[str, Result]) -> str:
    if _tried(found):
        return f"tried on the simulated machine: {found['trial'].summary}"
    lacking = [found[name].summary for name in ESSENTIAL if name in found and found[name].outcome == "partial"]
    known = "every query says so" if "fabric" in found and found["fabric"].outcome == "ok" else "the devices say so"
    known = f"the devices say so, but {'; '.join(lacking)}" if lacking else known
    return f"{known}; nothing was bound (a stale Fabric Manager registration shows only in a bind)"
