"""fence and membar; hints to caches, which change nothing that a program can see.

The host keeps one copy of memory for all proxies, so a fence between proxies orders no more than acq_rel does.
"""

from __future__ import annotations

from cumulticast.ptx.lower import ordering
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.ordering import Scope
from cumulticast.ptx.syntax import Instruction


@lowers("fence", "membar")
def lower_fence(em: Emitter, ins: Instruction) -> None:
    """Order what was before with what comes after; membar is as strong as fence.sc (PTX ISA)."""
    if ins.has("sc") or (ins.opcode == "membar" and not any(word.startswith("proxy") for word in ins.modifiers)):
        order = "seq_cst"
    else:
        order = next((word for word in ("acquire", "release") if ins.has(word)), "acq_rel")
    if order == "acquire":
        ordering.acquire(em)
        return
    proxy = any(word.startswith("proxy") for word in ins.modifiers)
    scope = Scope.NONE if proxy and not ins.has("release") else ordering.scope_of(ins.modifiers)
    ordering.fence(em, order, scope, alias=ins.has("proxy::alias") or (proxy and ins.has("alias")))


@lowers("prefetch", "prefetchu", "applypriority", "discard")
def lower_hint(em: Emitter, ins: Instruction) -> None:
    """Leave memory as it is: a prefetch never faults, and data discarded may be read as it was."""


@lowers("createpolicy")
def lower_createpolicy(em: Emitter, ins: Instruction) -> None:
    """Answer a cache policy: opaque 64 bits that only cache hints take, and they ignore them."""
    em.set(ins.operands[0], "i64", em.const("i64", 0))
