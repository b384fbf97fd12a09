"""Commands that people show with their answers: systemctl, lspci, uptime, nvidia-imex-ctl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cumulticast.why.mentions import mentioned
from cumulticast.why.observation import Observation
from cumulticast.why.prefixes import time_of
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed

_STATES = ("active", "inactive", "failed", "activating", "deactivating", "unknown")
_FM = re.compile(r"(?:nvidia-)?fabric-?manager")
_UNITS = re.compile(r"is-(?P<what>active|enabled)\s+(?P<units>[\w .@-]+)")
_HEADER = re.compile(r"^[●○×*↻x]?\s*nvidia-fabric-?manager\.service - ")
_ACTIVE = re.compile(r"^\s*Active: (?P<state>\w+)(?:.* since (?P<since>.*?)(?:; (?P<ago>.*) ago|;|$))?")


def _asked(line: Line) -> Iterator[Observation]:
    """Read ``systemctl is-active UNIT...``: one answer a line, in the order of the units."""
    found = _UNITS.search(line.text)
    if found is None:
        return
    units = [unit for unit in found["units"].split() if not unit.startswith("-")]
    for unit, answer in zip(units, line.following(len(units)), strict=False):
        word = answer.text.strip()
        if _FM.search(unit) and (word in _STATES or word in ("disabled", "enabled")):
            yield observed(answer, _state_kind(word), state=word)


def _state_kind(word: str) -> str:
    return {"active": "fm-active", "enabled": "fm-enabled", "disabled": "fm-inactive"}.get(word, "fm-inactive")


def _status(line: Line) -> Iterator[Observation]:
    """Read ``systemctl status nvidia-fabricmanager``: the line ``Active:`` below the header."""
    if not _HEADER.match(line.text):
        return
    for later in line.following(12):
        found = _ACTIVE.match(later.text)
        if found:
            yield observed(
                later, _state_kind(found["state"]), state=found["state"], since=found["since"], ago=found["ago"]
            )
            return


def _switches(line: Line) -> Iterator[Observation]:
    """Read a count of NVSwitch bridges: ``lspci ... | wc -l``."""
    text = line.text
    counted = re.search(r"wc -l|grep (?:-\w*c|--count)", text)
    if not counted or not re.search(r"(?i)lspci.*(?:10de:22a3|nvswitch|bridge: ?nvidia|0680|10de:1af1)", text):
        return
    for answer in line.following(1):
        if answer.text.strip().isdecimal():
            yield observed(
                answer, "switch-count", count=answer.text.strip(), side=text.split("$")[0].split("#")[0].strip()
            )


def _booted(line: Line) -> Iterator[Observation]:
    for answer in line.following(1):
        if re.search(r"uptime -s", line.text) and time_of(answer.text):
            yield observed(answer, "boot-time", when=answer.text.strip())


def _imex_hangs(line: Line) -> Iterator[Observation]:
    """Read a call of nvidia-imex-ctl that did not come back."""
    if not re.search(r"nvidia-imex-ctl\b", line.text) or "Check the IMEX" in line.text or mentioned(line):
        return
    for answer in line.following(2):
        if re.search(r"exit (?:code|status):? 124|^124$|(?i:timed out)|^Terminated|^\^C", answer.text.strip()):
            yield observed(answer, "imex-ctl-hangs")
            return


def _imex_hang_told(line: Line) -> Iterator[Observation]:
    told = re.search(r"(?i)nvidia-imex-ctl\b.*\b(?:hangs|hung|never returns|does not return|timed out)", line.text)
    if told and not mentioned(line):
        yield observed(line, "imex-ctl-hangs")


def _no_computedomain(line: Line) -> Iterator[Observation]:
    if re.search(r"kubectl.*\bget (?:\S+ )*computedomains?\b", line.text):
        for answer in line.following(1):
            if answer.text.startswith("No resources found"):
                yield observed(answer, "computedomain-none")


def _empty_channels(line: Line) -> Iterator[Observation]:
    """Read a listing of the channel directory that shows nothing."""
    if re.search(r"\bls\b.*/dev/nvidia-caps-imex-channels", line.text):
        for answer in line.following(1):
            if answer.text.strip() == "total 0":
                yield observed(answer, "imex-channels-missing")


SIGNS = (
    Sign(("nvidia-caps-imex-channels",), _empty_channels),
    Sign(("is-active", "is-enabled"), _asked),
    Sign(("nvidia-fabricmanager.service - ", "nvidia-fabric-manager.service - "), _status),
    Sign(("lspci",), _switches),
    Sign(("uptime -s",), _booted),
    Sign(("nvidia-imex-ctl",), _imex_hangs),
    Sign(("nvidia-imex-ctl",), _imex_hang_told),
    Sign(("computedomain",), _no_computedomain),
)
