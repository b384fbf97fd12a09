"""What fences, releases and acquires order: for the host by a fence of its own, for adversarial memory by a call.

Whether memory is adversarial is asked at run time, so that one machine code serves both (native/adversary.h).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from cumulticast.ptx.lower import access_ir
from cumulticast.ptx.lower.emitter import Emitter


class Scope(enum.IntEnum):
    """How far a release reaches (PTX_SCOPE_… in adversary.h). A cluster counts as its device, which is more."""

    NONE = 0
    WARP = 1
    CTA = 2
    GPU = 3
    SYS = 4


SCOPES = {"cta": Scope.CTA, "cluster": Scope.GPU, "gpu": Scope.GPU, "gl": Scope.GPU, "sys": Scope.SYS}
ALIAS = 1 << 8
ORDER = "order"
RUNTIME = "ptx_order"


def scope_of(words: Iterable[str]) -> Scope:
    """Answer the scope that an instruction names; without one it is that of the device (PTX ISA: .gpu)."""
    return next((SCOPES[word] for word in words if word in SCOPES), Scope.GPU)


def acquire(em: Emitter) -> None:
    """Let nothing that follows come before this."""
    em.do("fence acquire")


def release(em: Emitter, words: Iterable[str]) -> None:
    """Let others in a scope see what went before, once they see what follows."""
    fence(em, "release", scope_of(words))


def fence(em: Emitter, order: str, scope: Scope, *, alias: bool = False) -> None:
    """Order what went before with what follows.

    Parameters
    ----------
    order
        Of the host's fence: release, acq_rel, seq_cst.
    scope
        To which writes of before are released; NONE: to nobody.
    alias
        Whether memory of several addresses is the same for each of them from here on (fence.proxy.alias).
    """
    em.do(f"fence {order}")
    em.declare(f"void @{RUNTIME}(ptr, i32, i32, i32)")
    em.define(ORDER, _function())
    what = scope | (ALIAS if alias else 0)
    em.do(f"call void @{ORDER}(ptr {em.warp}, i32 {em.number}, i32 {em.active}, i32 {what})")


def _function() -> str:
    return "\n".join(
        [
            f"define internal void @{ORDER}(ptr %warp, i32 %number, i32 %active, i32 %what) alwaysinline {{",
            access_ir.field("adversary", "%adversary"),
            "  %plain = icmp eq ptr %adversary, null",
            "  br i1 %plain, label %done, label %tell",
            "tell:",
            f"  call void @{RUNTIME}(ptr %warp, i32 %number, i32 %active, i32 %what) cold",
            "  br label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )
