"""A kernel's fault in words: which kernel and line, which thread, and what this process knows of the place.

The C side judges an access by a table of rights and has but few words for it (ptx/native/judge.c, multicast.c); they
begin with what was done: ``read at 0x…``, ``write at 0x…``, ``multimem at 0x…``. Here the rule is found that such an
access breaks; where the rule says that it is undefined, it is reported as a finding, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cumulticast.rules import Rule, Status, access, multicast_access
from cumulticast.sim import places
from cumulticast.sim.address_space import READ, READWRITE, Mapping
from cumulticast.sim.regions import Region, access_at, region_at
from cumulticast.sim.windows import Unbound

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.engine import Fault
    from cumulticast.sim.launches import Launch
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

LONGEST_LINE = 80
ACCESS = re.compile(r"(read|write|multimem) at 0x")
BY_THE_HOST = "the host "  # how the words begin when not the table refused the access, but the host's MMU
LABEL_AND_GUARD = re.compile(r"([\w$%]+:\s*)?(@!?[\w$%]+\s+)?")

Broken = tuple[Rule[...], str]


def explained(process: Process, context: Context, asked: Launch, fault: Fault) -> str:
    """Say in words where a kernel failed and why: its name, the line of its text, the thread, the place.

    Findings are reported on the way; the driver's lock is held.
    """
    place = line(asked.function, fault.instruction)
    if fault.status == Status.LAUNCH_TIMEOUT:
        return _out_of_time(asked, fault, place)
    where = f"kernel {asked.function.kernel.name}{f' {place}' if place else ''}, {_thread(fault)}"
    if fault.status != Status.ILLEGAL_ADDRESS or not fault.address:
        return f"{where}: {fault.reason}"
    broken = _broken(process, context, fault, opcode(asked.function, fault.instruction))
    if broken is None:
        return f"{where}: {_with_place(process, fault)}"
    rule, reason = broken
    if rule.kind == "undefined":
        process.driver.report(rule, f"{where}: {reason}")
    return f"{where}: {fault.reason}; {rule.code}: {reason} ({places.inside(process, fault.address)})"


def _out_of_time(asked: Launch, fault: Fault, place: str) -> str:
    """Nothing was wrong at that place; it is where the lowest block that is left looked at memory last."""
    last = f"; {_thread(fault)} was last at {place}" if place else ""
    return f"kernel {asked.function.kernel.name}: {fault.reason}{last}"


def _thread(fault: Fault) -> str:
    return f"block {fault.block}, thread {fault.thread}"


# ---- the place


def _with_place(process: Process, fault: Fault) -> str:
    """Add to the words what is known of the address. Offsets in shared, local and parameter memory are no addresses."""
    known = ""
    if ACCESS.match(fault.reason):
        known = places.around(process, fault.address)
    elif fault.reason.startswith(BY_THE_HOST):  # perhaps a replica's own address, which is nobody's business
        known = places.inside(process, fault.address)
    return f"{fault.reason}; {known}" if known else fault.reason


def _broken(process: Process, context: Context, fault: Fault, opcode: str) -> Broken | None:
    """Find the rule that an access broke; None: none of those that know the place."""
    did, region = ACCESS.match(fault.reason), region_at(process, fault.address)
    if did is None or region is None:
        return None
    if did[1] == "multimem":
        return _by_multimem(process, context, fault.address, region)
    if region.multicast:
        return _of(multicast_access.multimem_only, fault.address, opcode or f"an ordinary {did[1]}")
    wanted, granted = READWRITE if did[1] == "write" else READ, access_at(process, context, region)
    return _of(access.device_access, fault.address, context.ordinal, granted, wanted)


def _by_multimem(process: Process, context: Context, address: int, region: Region) -> Broken | None:
    mapping = region.mapping
    if mapping is None or not region.multicast:
        return None
    granted = access_at(process, context, region)
    lacks = _of(multicast_access.multicast_access, address, context.ordinal, granted, READWRITE)
    return lacks or _of(multicast_access.bound_everywhere, address, *_hole(process, mapping, address))


def _hole(process: Process, mapping: Mapping, address: int) -> tuple[int, int, int]:
    """Answer which device lacks memory there, and which bytes of the object; an empty hole if none does by now."""
    window = process.windows.open(mapping.handle.obj, process.extent(mapping.handle))
    offset = mapping.offset + address - mapping.base
    try:
        window.segments(offset, mapping.offset + mapping.size - offset)
    except Unbound as hole:
        if hole.start <= offset:
            return hole.device, hole.start, hole.end
    return 0, 0, 0


def _of(rule: Rule[...], *facts: object) -> Broken | None:
    reason = rule.check(*facts)
    return None if reason is None else (rule, reason)


# ---- the text


def _words(function: Function, instruction: int) -> tuple[int, str]:
    """Answer the number of an instruction's line, 0 when it is not known, and what stands there."""
    lines = function.kernel.code().lines
    number = lines[instruction] if instruction < len(lines) else 0
    if not number or len(function.module.texts) > 1:  # which of them it is a line of nobody has written down
        return number, ""
    text = function.module.text.data.split(b"\n")
    return number, text[number - 1].decode(errors="replace").strip() if number <= len(text) else ""


def line(function: Function, instruction: int) -> str:
    """Answer the number of an instruction's line and what stands there; empty when it is not known."""
    number, words = _words(function, instruction)
    if not number:
        return ""
    return f"line {number} ({words[:LONGEST_LINE]})" if words else f"line {number}"


def opcode(function: Function, instruction: int) -> str:
    """Answer an instruction's name with its modifiers; empty where several stand in its line, or it is not known."""
    _, words = _words(function, instruction)
    if words.count(";") != 1:
        return ""
    return LABEL_AND_GUARD.sub("", words, count=1).split()[0]
