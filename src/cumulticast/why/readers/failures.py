"""Lines in which a CUDA call fails, whoever prints them.

The status is found by name, number or wording; the call in the line, in the traceback above, or (NCCL) later through
``file:line`` and the version. ``area`` says what the failing call was for: ``multicast``, ``fabric`` (memory with
fabric handles), ``init`` (CUDA does not come up) or ``other``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from cumulticast.why.calls import call_in, runtime_call_in
from cumulticast.why.mentions import mentioned
from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed
from cumulticast.why.statuses import status_in

WORDS = (
    "error_", "cuda failure", "cuda error", "cudaerror", "error 80", "returned 80", "code=80", "cuda runtime error",
    "system not yet initialized", "present state", "cu failure", "driver error", "cudart error", "non-zero status",
    "returning ", "couldn't init cuda", "cumulticast", "cumemcreate", "cumemmap failed", "cumemsetaccess",
    "cumemimport", "cumemexport", "cuinit", "multicast_bind",
)  # fmt: skip
_NCCL = re.compile(
    r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<dev>\d+)\] (?:(?P<file>[\w/]+\.(?:cc|h|cu)):(?P<at>\d+) "
    r"(?:\(\w+\) )?)?NCCL (?:WARN|INFO)"
)
_PLACE = re.compile(r"\b(?P<file>(?:transport/)?nvls\.cc|mnnvl\.cc|allocator\.cc):(?P<at>\d+)")
_NOT_A_FAILURE = re.compile(r"Search for `cudaError|unhandled cuda error|ATTRIBUTE_|\braise RuntimeError")
_MULTICAST = re.compile(
    r"(?i)multicast|nvls|symm_?(?:etric_?)?mem|SymmDeviceMemory|mnnvl|rendezvous|NVLink SHARP|map_block|nvshmem"
    r"|mem_heap\.cpp"
)
_INIT = re.compile(
    r"(?i)cudaGetDeviceCount|cudaSetDevice|cudaFree\(0|\bcuInit\b|_cuda_init|cuda initiali[sz]ation|init cuda"
    r"|creating client|deviceQuery|device vector|torch\._C\._cuda|CUDA initialization|THCGeneral|DeviceCount"
)
_TRACEBACK = re.compile(r'^>>> |^In \[|^\s+File "|^\s+|^#\d+ |^Traceback|^Exception raised|^C\+\+')
_RANK = re.compile(r"(?i)\b(?:on |by )?rank[ =:#]{0,2}(?P<rank>\d{1,6})\b")
_CULPRIT = re.compile(r"\brank (?P<rank>\d{1,6}) failed at \w+: ")  # TeamError: every rank says whose it was
_GRACEFUL = re.compile(r"Proceeding without|[Gg]racefully|falling back|NCCL INFO")
_CPP_TRACE = re.compile(r"^\s*(?:Exception raised from|C\+\+ Captured|#\d+ |frame #\d+|\s+\S)")
_ON = re.compile(r" on (?P<host>[\w.-]+), rank = (?P<rank>\d+) in ")


def _failure(line: Line) -> Iterator[Observation]:
    text = line.text
    if _NOT_A_FAILURE.search(text):
        return
    if mentioned(line):
        if _MULTICAST.search(text):
            yield observed(line, "mention")
        return
    code = status_in(text)
    if code is None:
        return
    nccl = _NCCL.search(text)
    above = [] if nccl else _above(line)
    call = _worded(text) or call_in(text) or (None if nccl else _call_above(above)) or _call_below(line, code)
    facts: dict[str, str | None] = {
        "code": str(code),
        "call": call,
        "runtime": runtime_call_in(text) or next(filter(None, map(runtime_call_in, above[:3])), None),
        "graceful": "yes" if _GRACEFUL.search(text) else None,
        "tool": "sanitizer" if "Program hit" in text else None,
        "area": _area(line, call, code, above, nccl is not None),
        **_groups(_RANK, text),
        **_groups(_PLACE, text),
        **_groups(_NCCL, text),
        **_groups(_ON, text),
        **_groups(_CULPRIT, text),
    }
    yield observed(line, "failure", "", **facts)


def _groups(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    """Answer what a pattern finds, without what is not there."""
    found = pattern.search(text)
    return {name: value for name, value in found.groupdict().items() if value} if found else {}


def _worded(text: str) -> str | None:
    """Name the call of messages that name it in words: NCCL's of the bind, gpu-burn's of cuInit."""
    if re.search(r"(?i)couldn't init cuda", text):
        return "cuInit"
    if re.search(r"(?i)failed to multicast-bind user buffer", text):
        return "cuMulticastBindAddr"
    return "cuMulticastBindMem" if re.search(r"(?i)failed to bind NVLink SHARP", text) else None


def _above(line: Line, count: int = 24) -> list[str]:
    """Answer the lines of the traceback that ends here, the nearest first."""
    texts: list[str] = []
    for earlier in line.preceding(count):
        if not _TRACEBACK.match(earlier.text) and not earlier.raw.startswith(">>> "):
            break
        texts.append(earlier.text)
        if earlier.text.startswith("Traceback"):
            break
    return texts


def _below(line: Line) -> str:
    """Join the lines of the C++ trace that torch prints below an error."""
    return " ".join(takewhile(_CPP_TRACE.match, (later.text for later in line.following(8))))


def _call_above(above: list[str]) -> str | None:
    return next(filter(None, map(call_in, above[:8])), None)


def _call_below(line: Line, code: int) -> str | None:
    """Name the call that torch's C++ frames below an error point to: map_block maps and gives access to peers."""
    if "CUDA driver error" not in line.text:
        return None
    below = _below(line)
    return "cuMemSetAccess" if code == 101 and "map_block" in below else None


def _area(line: Line, call: str | None, code: int, above: list[str], nccl: bool) -> str:
    """Say what the failing call was for."""
    text = line.text
    if call and call.startswith("cuMulticast"):
        return "multicast"
    near = text if nccl else " ".join([text, *above])
    if nccl and not _MULTICAST.search(near):
        near += " ".join(
            later.text for later in line.following(2) if "NCCL INFO" in later.text and " -> " in later.text
        )
    if code == 800 and call in (None, "cuMemCreate") and re.search(r"(?i)cuMemCreate|fabric|mnnvl|symm_?mem", near):
        return "fabric"
    if re.search(r"FromShareableHandle|ToShareableHandle", near) or call in ("cuMemCreate", "cuMemSetAccess"):
        return (
            "multicast" if _MULTICAST.search(near) and call != "cuMemCreate" else "fabric" if code != 2 else _kind(near)
        )
    if "CUDA driver error" in text:
        near += _below(line)
    if call == "cuInit" or _INIT.search(near):
        return "init"
    return _kind(near) if _MULTICAST.search(near) else "init" if code in (802, 803) else "other"


def _kind(near: str) -> str:
    return "multicast" if _MULTICAST.search(near) else "other"


SIGNS = (Sign(WORDS, _failure),)
