"""Find a CUresult in a line: by name, by number, or by the driver's wording of it."""

from __future__ import annotations

import re
from functools import cache

from cumulticast.rules.status import Status

#: Names of the runtime that are not the driver's in other letters.
_RUNTIME = {
    "InvalidValue": 1,
    "MemoryAllocation": 2,
    "InitializationError": 3,
    "InvalidDevice": 101,
    "InvalidResourceHandle": 400,
    "IllegalAddress": 700,
    "IllegalState": 401,
    "NotPermitted": 800,
    "NotSupported": 801,
    "SystemNotReady": 802,
    "SystemDriverMismatch": 803,
    "Contained": 221,
    "Unknown": 999,
    "PeerAccessUnsupported": 217,
    "Timeout": 909,
}
_NAME = re.compile(r"\b(?:CUDA_)?ERROR_[A-Z][A-Z0-9_]+\b")
_RUNTIME_NAME = re.compile(r"\bcudaError([A-Z]\w+)")
_NUMBER = re.compile(
    r"(?i)(?:cuda|cu|cudart|driver)[\w ]*(?:error|failure|status)(?: code)?[ :=(#]*(\d{1,3})\b(?!\.\d)"
    r"|\b(?:error|code)[ =:]*(\d{1,3})(?=[:(])|\berror (\d{3})\b|\breturned (\d{1,3})\b"
    r"|non-zero status: (\d{1,3})\b|\bReturning (\d{1,3}) \("
)
#: What must stand beside a wording that other programs use, too.
_ABOUT_CUDA = re.compile(
    r"(?i)cuda|\bcu(?:Mem|Multicast|Init|Device|Ctx)\w*|\bCu failure|driver error|CUDART|gpu_burn|\(error code "
    r"|couldn't init"
)
#: Wordings that nothing but CUDA uses.
_PLAIN = ("system not yet initialized", "the operation cannot be performed in the present state")


@cache
def wordings() -> tuple[tuple[str, int], ...]:
    """Answer (wording, code), longest first, so that a longer one wins over its beginning."""
    pairs = [(status.text.lower(), int(status)) for status in Status if int(status)]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@cache
def names() -> dict[str, int]:
    """Answer name → code, with and without ``CUDA_``."""
    pairs = {status.cuda_name: int(status) for status in Status if int(status)}
    return {**pairs, **{name.removeprefix("CUDA_"): code for name, code in pairs.items()}}


def status_in(text: str) -> int | None:
    """Answer the failing CUresult that a line tells, or None."""
    return _by_name(text) or _by_number(text) or _by_wording(text)


def _by_name(text: str) -> int | None:
    if "ERROR_" in text:
        for found in _NAME.finditer(text):
            if found[0] in names():
                return names()[found[0]]
    found = _RUNTIME_NAME.search(text)
    return _RUNTIME.get(found[1]) if found else None


_OF_CALL = re.compile(
    r"non-zero status: (\d{1,3}) cu[A-Z]|\bcu[A-Z]\w+ (?:failed|returned|answered|error)[\w ]*?[:=( ]+(\d{1,3})\b"
)


def _by_number(text: str) -> int | None:
    told = _OF_CALL.search(text)
    if told and int(told[1] or told[2]) in _codes() - {0}:
        return int(told[1] or told[2])
    for found in _NUMBER.finditer(text):
        code = int(next(filter(None, found.groups())))
        if code and code in _codes() and _fits(text, code):
            return code
    return None


@cache
def _codes() -> frozenset[int]:
    return frozenset(map(int, Status))


def _fits(text: str, code: int) -> bool:
    """Trust a small number only with its wording: ``exited with error code 1`` is no CUresult."""
    return (code >= 100 and _ABOUT_CUDA.search(text) is not None) or Status(code).text.lower() in text.lower()


def _by_wording(text: str) -> int | None:
    lower = text.lower()
    for wording, code in wordings():
        if wording in lower and (wording in _PLAIN or (len(wording) > 8 and _ABOUT_CUDA.search(text))):
            return code
    return None
