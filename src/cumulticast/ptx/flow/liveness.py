"""Which registers a lane still needs at the beginning of each block."""

from __future__ import annotations

from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.bits import Bits
from cumulticast.ptx.flow.blocks import Block, Suspend, Table, predicate_of

Names = frozenset[str]


def uses_of_end(block: Block) -> tuple[str, ...]:
    """List the registers that the end of a block reads."""
    end = block.end
    if isinstance(end, Suspend) and end.ins is not None:
        return effects.read(end.ins)
    if isinstance(end, Table) and end.index is not None:
        return effects.registers_of(end.index)
    predicate = predicate_of(end)
    return () if predicate is None else (predicate,)


def live_in(blocks: list[Block]) -> dict[Block, Names]:
    """Answer for each block the registers whose values it, or a later one, reads."""
    exposed = [_exposed(block) for block in blocks]
    bits = Bits(name for names in exposed for name in sorted(names))
    gen = [bits.of(names) for names in exposed]
    keep = [~bits.of(name for name in _killed(block) if name in bits) for block in blocks]
    place = {block: n for n, block in enumerate(blocks)}
    following = [[place[target] for target in block.targets] for block in blocks]
    live = list(gen)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(blocks))):
            out = 0
            for target in following[n]:
                out |= live[target]
            found = gen[n] | out & keep[n]
            if found != live[n]:
                live[n] = found
                changed = True
    return {block: bits.names(live[n]) for n, block in enumerate(blocks)}


def _exposed(block: Block) -> Names:
    """Collect what a block reads before it has written it."""
    found: set[str] = set()
    done: set[str] = set()
    for ins in block.body:
        reads = [*effects.read(ins), *((ins.guard.name,) if ins.guard else ())]
        found.update(name for name in reads if name not in done)
        if ins.guard is None:
            done.update(effects.written(ins))
        else:  # lanes whose guard fails keep the old value
            found.update(name for name in effects.written(ins) if name not in done)
    found.update(name for name in uses_of_end(block) if name not in done)
    return frozenset(found)


def _killed(block: Block) -> Names:
    return frozenset(name for ins in block.body if ins.guard is None for name in effects.written(ins))
