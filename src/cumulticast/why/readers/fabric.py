"""Fabric state: ``nvidia-smi -q``, its CSV form, NVSwitch partitions, and NCCL's line about MNNVL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cumulticast.why.mentions import mentioned
from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed

_FIELD = re.compile(r"^(?P<indent>\s*)(?P<name>[A-Z][\w ]*?)\s*:\s*(?P<value>\S.*?)\s*$")
_HEALTH = ("Summary", "Bandwidth", "Route Recovery in progress", "Route Unhealthy", "Access Timeout Recovery",
           "Incorrect Configuration", "Partition Assigned")  # fmt: skip
_GOOD = {"Summary": ("Healthy", "N/A", "Not Supported"), "Partition Assigned": ("True", "N/A", "Not Supported")}
_CSV = re.compile(r"(?:^|[,\s])(?P<state>Completed|In Progress|Not Started)\s*,\s*(?P<status>[^,]+?)\s*$")


def _section(line: Line) -> Iterator[Observation]:
    """Read the section ``Fabric`` of ``nvidia-smi -q``."""
    if line.text.strip() != "Fabric":
        return
    fields: dict[str, tuple[Line, str]] = {}
    for later in line.following(16):
        found = _FIELD.match(later.text)
        if found is None and later.text.strip() != "Health":
            break
        if found is not None:
            if found["name"] in fields or found["name"] in ("Processes", "GPU"):
                break
            fields[found["name"]] = later, found["value"]
    if "State" in fields:
        value = {name: text for name, (_, text) in fields.items()}
        yield observed(
            fields["State"][0],
            "fabric",
            state=value["State"],
            status=value.get("Status"),
            clique=value.get("CliqueId"),
            uuid=value.get("ClusterUUID"),
        )
    yield from _health(fields)


def _health(fields: dict[str, tuple[Line, str]]) -> Iterator[Observation]:
    for name in _HEALTH:
        if name not in fields:
            continue
        line, value = fields[name]
        good = _GOOD.get(name, ("Full", "False", "None", "N/A", "Not Supported"))
        if not any(word.startswith(value) for word in good):  # a text may be cut off within a word
            yield observed(line, "health-bad", field=name.replace(" ", "_"), value=value.replace(" ", "_"))
        elif value == "Healthy":
            yield observed(line, "health-good")


def _csv(line: Line) -> Iterator[Observation]:
    """Read an answer to ``--query-gpu=...fabric.state,fabric.status``."""
    found = _CSV.search(line.text)
    if found:
        yield observed(line, "fabric", state=found["state"], status=found["status"])


def _told(line: Line) -> Iterator[Observation]:
    """Read what monitors print: ``fabric state: In Progress``."""
    found = re.search(
        r"(?i)\bfabric[ ._-]?state\b[\"' ]*[:=][\"' ]*(completed|in[ _]progress|not[ _]started)", line.text
    )
    if found and not mentioned(line):
        yield observed(line, "fabric", state=found[1].replace("_", " ").title())


def _attached(line: Line) -> Iterator[Observation]:
    found = re.match(r"\s*Attached GPUs\s*: *(\d+)", line.text)
    if found:
        yield observed(line, "gpu-count", count=found[1])


def _partition(line: Line) -> Iterator[Observation]:
    """Read ``fmpm -l``: a partition that is not active."""
    found = re.search(r'"?isActive"?\s*[:=]\s*(0|1|false|true)', line.text)
    if found:
        yield observed(line, "partition-inactive" if found[1] in ("0", "false") else "partition-active")


def _mask_is_bad(mask: int) -> bool:
    """Decode a health mask: 2-bit fields in which 1 is bad and 2 good; bits 11:8 a configuration (0, 1 good).

    Source: nvlink_inband_msg.h. 0xaa, 0x80 and 0x1aa are healthy. Bits 13:12 tell whether a partition is assigned,
    where none needs to be; a missing one shows in the configuration.
    """
    fields = [mask >> shift & 3 for shift in (0, 2, 4, 6)]
    return 1 in fields or (mask >> 8 & 0xF) > 1


def _mnnvl(line: Line) -> Iterator[Observation]:
    found = re.search(r"fabric UUID (\S+) cliqueId (\S+) state (\d+) healthMask (0x[0-9a-fA-F]+)", line.text)
    if not found:
        return
    state = {"0": "N/A", "1": "Not Started", "2": "In Progress", "3": "Completed"}.get(found[3], "N/A")
    if state != "N/A":
        yield observed(line, "fabric", state=state, clique=found[2], uuid=found[1], by="nccl")
    if _mask_is_bad(int(found[4], 16)):
        yield observed(line, "health-bad", field="healthMask", value=found[4])


SIGNS = (
    Sign(("fabric",), _section),
    Sign(("completed", "in progress", "not started"), _csv),
    Sign(("fabric state", "fabric_state", "fabric.state", "fabricstate"), _told),
    Sign(("attached gpus",), _attached),
    Sign(("isactive",), _partition),
    Sign(("mnnvl busid",), _mnnvl),
)
