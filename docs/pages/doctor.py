"""docs/doctor.md: the checks of the doctor, and what it finds under each fault."""

from __future__ import annotations

from collections.abc import Iterator

from cumulticast.doctor.register import checks
from cumulticast.doctor.verdict import ESSENTIAL
from cumulticast.why.causes import causes
from pages import statements
from pages.markdown import page, table

ABOUT = """`cumulticast doctor` says whether multicast can work on the machine at hand, real or simulated, and if not,
why. It only queries: on a real driver no multicast object is made. What could crash or hang runs in a process of its
own with a time limit (`--limit S`), and a crash is a result. `--json` prints `{"schema": 1, "results": [...],
"multicast": "works"|"cannot"|"unknown", "why": ...}`; `--share` leaves out UUIDs, host and user names, home
directories and addresses.

Exit code: 0 it works · 1 it cannot, or something is wrong (a cause or a rule is named) · 2 usage · 3 could not tell.

Outcomes: *ok* · *partial*: there, with something lacking · *missing*: not there, or unusable · *not-available*:
cannot be asked here · *crashed*: the check came to no end. Multicast *cannot* work when one of """
REAL = """On a real driver a stale registration shows only in a bind, and a stall only while it lasts; there *works*
means that every query says so. The log of the Fabric Manager, where it can be read, is explained like any other
text."""


def pages() -> Iterator[tuple[str, str]]:
    """Make the page."""
    rows = [(f"`{check.name}`", check.title, "yes" if check.apart else "") for check in checks().values()]
    essential = ", ".join(f"`{name}`" for name in ESSENTIAL)
    found = [
        (
            f"`{one['fault']}`",
            f"[{one['cause']}](causes/{one['cause']}.md): {causes()[one['cause']].title}",
            one["multicast"],
            one["seen"],
        )
        for one in statements.read("diagnoses")
    ]
    yield (
        "doctor.md",
        page(
            "The doctor",
            f"{ABOUT}{essential} is missing.",
            "## Checks",
            table(("check", "what it looks at", "apart"), rows),
            "## What it finds under each [fault](faults.md)",
            table(("fault", "cause", "multicast", "how it shows"), found),
            REAL,
        ),
    )
