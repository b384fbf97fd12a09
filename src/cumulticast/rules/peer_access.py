"""Access of one context to another's memory."""

from .book import rule
from .source import Document, Transcript
from .status import Status

_ENABLE = ("cuCtxEnablePeerAccess",)
_BOTH = ("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess")


@rule(
    "MC905",
    "peer access joins valid contexts",
    calls=_BOTH,
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "is not a valid context, or if the current context is"),
        Transcript("contexts_made", "peer.null", recording="driver"),
    ),
    spec=("PC6",),
)
def peer_contexts(current: int, peer: int, known: bool) -> str | None:
    """Enable peer access from the current context to a valid context of another device.

    The direction counts: it opens the peer's memory to the current context, not the other way round. Memory
    from mem_create does not need it; mem_set_access does that work.

        ctx_enable_peer_access(0, 0)      # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: ctx_set_current(one), then enable(other), and once more with the two exchanged.
    """
    if current == 0:
        return "no context is current in this thread"
    return None if known else f"peer context {peer:#x} is not a context of this process"


@rule(
    "MC906",
    "the two devices of a peer access can reach each other",
    calls=_ENABLE,
    status=Status.PEER_ACCESS_UNSUPPORTED,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`` if"),
        Transcript("contexts_made", "peer.itself", recording="driver"),
    ),
    spec=("PC6",),
)
def peer_possible(dev: int, peer_dev: int, possible: bool) -> str | None:
    """Check device_can_access_peer before enabling.

    Devices on different nodes, or without a common link, cannot reach each other's memory directly. A context
    of the same device counts as unreachable, too: a real driver answers 217 for it (documents: MC913).

        device_can_access_peer(0, 1) == 0   # enable is refused
        device_can_access_peer(0, 1) == 1   # good

    Fix: copy through the host where there is no peer access.
    """
    return None if possible else f"device {dev} cannot access device {peer_dev}"


@rule(
    "MC907",
    "peer access is enabled once",
    calls=_ENABLE,
    status=Status.PEER_ACCESS_ALREADY_ENABLED,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`` if direct"),
        Transcript("peer_access", "on.twice", recording="peer"),
    ),
    spec=("PC6",),
)
def peer_once(peer: int, enabled: bool) -> str | None:
    """Enable each direction once; a second call is refused and changes nothing.

    Libraries in one process share the primary context, so another one may have been first. Most programs
    treat 704 as success.

        ctx_enable_peer_access(peer, 0); ctx_enable_peer_access(peer, 0)   # the second: refused
        ctx_enable_peer_access(peer, 0)                                    # good

    Fix: ignore this status.
    """
    return f"access to peer context {peer:#x} is already enabled" if enabled else None


@rule(
    "MC908",
    "the flags of a peer access are 0",
    calls=_ENABLE,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuCtxEnablePeerAccess", "if `Flags` is not 0"),
        Transcript("peer_access", "on.flags1", recording="peer"),
    ),
    spec=("PC6",),
)
def peer_flags(flags: int) -> str | None:
    """Pass 0 as flags.

    No flag is defined.

        ctx_enable_peer_access(peer, 1)   # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: pass 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC909",
    "peer access is disabled after it was enabled",
    calls=("cuCtxDisablePeerAccess",),
    status=Status.PEER_ACCESS_NOT_ENABLED,
    evidence="documented",
    source=(
        Document(
            "ctx_disable_peer_access",
            "Returns ``CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`` if direct peer access has not yet been",
        ),
        Transcript("peer_access", "off.never_on", recording="peer"),
    ),
)
def peer_enabled(peer: int, enabled: bool) -> str | None:
    """Disable only a direction that is enabled.

        ctx_disable_peer_access(peer)                                    # never enabled: refused
        ctx_enable_peer_access(peer, 0); ctx_disable_peer_access(peer)   # good

    Destroying a context disables its directions by itself.

    Fix: pair the calls.
    """
    return None if enabled else f"access to peer context {peer:#x} is not enabled"


@rule(
    "MC913",
    "peer access joins two different contexts",
    calls=_ENABLE,
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    held="strict",
    source=Document("ctx_enable_peer_access", "is not a valid context, or if the current context is"),
    spec=("PC6",),
)
def peer_is_other(current: int, peer: int) -> str | None:
    """Name the context of another device as the peer.

    The documents answer the current context itself with 201; a real driver was recorded to answer 217, as for
    every context of the same device (MC906). Profile `strict` follows the sentence, `hardware` the recording.

        ctx_enable_peer_access(own, 0)    # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: leave the diagonal out of a loop over all pairs.
    """
    return "the peer context is the current context itself" if peer == current else None
