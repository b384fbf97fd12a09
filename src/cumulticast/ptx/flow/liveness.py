"""Which registers a lane still needs at the beginning of each block."""

from __future__ import annotations

from cumulticast.ptx.flow import effects
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
    gen = {block: _exposed(block) for block in blocks}
    kill = {block: _killed(block) for block in blocks}
    live: dict[Block, Names] = {block: frozenset() for block in blocks}
    before: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for target in block.targets:
            before[target].append(block)
    todo = list(blocks)
    while todo:
        block = todo.pop()
        out: Names = frozenset[str]().union(*(live[target] for target in block.targets))
        found = gen[block] | (out - kill[block])
        if found != live[block]:
            live[block] = found
            todo.extend(before[block])
    return live


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
