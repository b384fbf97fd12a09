"""What is left of barriers once the warp is back: the value of bar.red; and the instructions that only order."""

from __future__ import annotations

from cumulticast.ptx.lower import ordering
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.syntax import Instruction


@lowers("barrier_result")
def lower_result(em: Emitter, ins: Instruction) -> None:
    """Read what a reducing barrier came to: a count (popc), or whether all (and) or any (or) held."""
    value = em.shaped("i32", em.field("barrier_value"))
    if "popc" in ins.modifiers:
        em.set(ins.operands[0], "i32", value)
    else:
        em.set(ins.operands[0], "i1", em.compare("icmp", "ne", "i32", value, em.const("i32", 0)))


@lowers("bar", "barrier")
def lower_warp_barrier(em: Emitter, ins: Instruction) -> None:
    """bar.warp.sync: its lanes have come together before; it orders memory."""
    if "warp" not in ins.modifiers:
        raise AssertionError(f"{ins.name} suspends and is no instruction of a block")
    ordering.fence(em, "acq_rel", ordering.Scope.WARP)


@lowers("griddepcontrol", "pmevent", "setmaxnreg")
def lower_hint(em: Emitter, ins: Instruction) -> None:
    """Nothing to do: launches of one stream never overlap here, and registers are not counted."""
    em.do(f"; {ins.name}")
