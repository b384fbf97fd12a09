"""Take off what launchers, loggers and mail programs put in front of a line, again and again.

A line of NCCL may come through torchrun, Ray, Kubernetes and a quoted mail, each with its own prefix and colours. What
a prefix tells of rank, host and time is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07?|\[(?:\d{1,2};)*\d{1,2}m(?=\S|$)")
_MONTHS = {
    name: i + 1
    for i, name in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
}
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_DAY = r"\d{4}[-/]\d\d[-/]\d\d"

#: Each pattern takes one prefix off; the first that fits wins, until none does.
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:>[ \t]?)+(?=\S|$)(?!>)",  # quoted mail
        rf"(?P<iso>{_DAY}[T ]{_CLOCK})(?:Z|[+-]\d\d:?\d\d)?[ \t](?:std(?:out|err) [FP] )?(?!\w+ [\w./-]+\[\d+\]: )",
        r"\[pod/[^\]]+\][ \t]?",  # kubectl logs --prefix
        r"\[\d+,(?P<mpi>\d+)\]<std(?:out|err|diag)>:[ \t]?",  # mpirun --tag-output
        r"\[rank(?P<rank>\d+)\]:?[ \t]?",  # torchrun
        r"\[default(?P<local>\d+)\]:[ \t]?",
        r"\[[A-Za-z_]\w*\|\d+\]:[ \t]?",
        r"\([A-Za-z_]\w*?(?:_TP(?P<tp>\d+))?(?:_\w+)? pid=\d+(?:, ip=[\w.:]+)?\)[ \t]?",  # Ray, vLLM v1
        r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+:\d+\][ \t]?",  # vLLM
        rf"\[{_DAY} {_CLOCK}(?: [A-Z]{{2}}\d+)*? TP(?P<sgl>\d+)(?: [A-Z]{{2}}\d+)*\][ \t]?",  # SGLang
        rf"\[(?P<stamp>{_DAY}[ T]{_CLOCK})\][ \t]?",  # NCCL, SGLang
        rf"\[(?P<fm>[A-Z][a-z]{{2}} \d\d \d{{4}} {_CLOCK})\] ?",  # Fabric Manager, IMEX
        r"\[(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|NOTICE)\] ?",
        r"\[tid \d+\] ?",
        rf"(?P<syslog>[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}) (?P<host>[\w.-]+) [\w./@-]+(?:\[\d+\])?: ",
        rf"{_DAY}T{_CLOCK}(?:Z|[+-]\d\d:?\d\d)? (?P<ihost>[\w.-]+) [\w./@-]+(?:\[\d+\])?: ",
        r"\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?",  # dmesg
        r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ?",  # dmesg -T
        rf"\[[IWEF]\d{{3,4}} {_CLOCK} [\w.]+:\d+\] ?",  # c10
        rf"[IWEF]\d{{4}} {_CLOCK} +\d+ [\w./-]+:\d+\] ?",  # glog
        rf"{_DAY} {_CLOCK} - [\w.]+ - (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - ",
        r"(?:DEBUG|INFO|WARNING|ERROR) [\w.]+:\d+ -- ",  # Ray's own
        r"[A-Za-z][\w.-]{0,30}\[\d+\]: ",  # program[pid]:
        r"\[(?:job|node|worker|task|step|trial) [\w.:/-]+\] ?",
        r"\d{1,5}: (?=\S)",  # srun --label
        r"={9} (?=\S)",  # compute-sanitizer
    )
)
_DOCKER = re.compile(r'\{"log":"(?P<text>.*?)(?:\\n)?","stream":"\w+"')


@dataclass(frozen=True, slots=True)
class Stripped:
    """A line without its prefixes, and what these told."""

    text: str
    rank: int | None = None
    local: int | None = None
    host: str | None = None
    time: datetime | None = None


@lru_cache(maxsize=4096)  # neighbours of a line are looked at by several readers
def strip(line: str) -> Stripped:
    """Take all prefixes off; indentation after the last one is kept."""
    docker = _DOCKER.match(line)
    text = docker["text"].replace("\\t", "\t").replace('\\"', '"') if docker else line
    if "[" in text:
        text = _COLOUR.sub("", text)
    answer = Stripped(text)
    for _ in range(12):
        found = _first(answer.text)
        if found is None:
            break
        answer = _told(answer, found)
    return answer


def _first(text: str) -> re.Match[str] | None:
    for pattern in _PREFIXES:
        found = pattern.match(text)
        if found is not None and found.end():
            return found
    return None


def _told(so_far: Stripped, found: re.Match[str]) -> Stripped:
    """Keep what a prefix tells; the outermost word on a thing holds."""
    told = found.groupdict()
    rank = next((int(told[name]) for name in ("rank", "mpi", "tp", "sgl") if told.get(name)), None)
    local = int(told["local"]) if told.get("local") else None
    stamp = told.get("iso") or told.get("stamp") or told.get("fm") or told.get("syslog")
    host = told.get("host") or told.get("ihost")
    return replace(
        so_far,
        text=found.string[found.end() :],
        rank=so_far.rank if rank is None else rank,
        local=so_far.local if local is None else local,
        host=so_far.host or host,
        time=time_of(stamp) if stamp else so_far.time,
    )


def time_of(stamp: str) -> datetime | None:
    """Read a time in the ways that logs write it; without a year it is of the year 1900. None when it is none.

    ``2026-03-03 08:41:39``, ``Mar 03 2026 08:30:12``, ``Mar  3 08:30:12``, ``Tue 2025-05-20 11:27:40 UTC``.
    """
    clock = re.search(r"(\d\d):(\d\d):(\d\d)", stamp)
    if clock is None:
        return None
    day = re.search(r"(\d{4})[-/](\d\d)[-/](\d\d)", stamp)
    named = re.search(r"([A-Z][a-z]{2}) +(\d{1,2})(?: (\d{4})\b)?", stamp[: clock.start()])
    late_year = re.search(r"\b(\d{4})\b", stamp[clock.end() :])
    try:
        if day:
            date = (int(day[1]), int(day[2]), int(day[3]))
        elif named and named[1] in _MONTHS:
            year = named[3] or (late_year[1] if late_year else "1900")
            date = (int(year), _MONTHS[named[1]], int(named[2]))
        else:
            return None
        return datetime(date[0], date[1], date[2], int(clock[1]), int(clock[2]), int(clock[3]))
    except ValueError:
        return None
