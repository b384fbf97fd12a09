"""The order of blocks: loops lie together, and what comes after a loop comes after it.

Of several blocks in which lanes of a warp wait, the lowest runs first. With this order (Bourdoncle's weak topological
order) lanes that were separated meet again where their ways join. Every loop has one *latch*, its last block, which
alone goes back to the loop's header: there all lanes that go round again have come together, and there the warp hands
over to others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.blocks import Block, Jump, Leave, Suspend, Trap, predicate_of
from cumulticast.ptx.layout import ROUNDS, Reason
from cumulticast.ptx.syntax import Instruction


@dataclass(slots=True, eq=False)
class Loop:
    """Blocks that reach each other, and the one through which lanes come in."""

    header: Block
    members: frozenset[Block]


def arrange(blocks: list[Block]) -> list[Block]:
    """Give every loop its latch, order the blocks, and number them."""
    _, loops = weak_order(blocks)
    blocks = [*blocks, *(_latch(loop) for loop in loops)]
    ordered, _ = weak_order(blocks)
    for index, block in enumerate(ordered):
        block.index = index
    return ordered


def _latch(loop: Loop) -> Block:
    latch = Block()
    for block in loop.members:
        if loop.header in block.targets:
            block.end.retarget(loop.header, latch)
    latch.end = Suspend((loop.header,), reason=Reason.SPIN if _spins(loop) else BUDGET, cost=_cost(loop))
    return latch


# ---- what a loop does


BUDGET = Reason.WAIT  # marks, in a latch, a loop that hands over only after some rounds
MEMORY_ROUNDS = 2


def _cost(loop: Loop) -> int:
    """Tell what a round takes of the warp's budget.

    A loop that walks through memory hands over after few rounds, so that the warps walk side by side, as on a GPU: that
    is worth more than the time it takes. Any other only must not keep others from running for ever.
    """
    touches = any(effects.touches_memory(ins) for block in loop.members for ins in block.body)
    return ROUNDS // MEMORY_ROUNDS if touches else 1


LOCAL = "%local"  # stands for all of local memory: what goes through a variable there


def _spins(loop: Loop) -> bool:
    """Tell whether the exit of a loop depends on what others can change: as a value, or by the way it was come to."""
    tainted: set[str] = set()
    chosen: set[Block] = set()  # blocks that lanes come to or not, as a tainted value decides
    while True:
        before = len(tainted), len(chosen)
        for block in loop.members:
            for ins in block.body:
                if block in chosen or effects.watches(ins) or not tainted.isdisjoint(_sources(ins)):
                    tainted.update(effects.written(ins) or ((LOCAL,) if "local" in ins.modifiers else ()))
            if predicate_of(block.end) in tainted:
                chosen |= _chosen_by(block, loop)
        if (len(tainted), len(chosen)) == before:
            break
    exits = (b for b in loop.members if isinstance(b.end, Leave | Trap) or not loop.members.issuperset(b.targets))
    return any(block in chosen or predicate_of(block.end) in tainted for block in exits)


def _sources(ins: Instruction) -> tuple[str, ...]:
    found = effects.read(ins)
    if ins.guard is not None:
        found = (*found, ins.guard.name)
    return (*found, LOCAL) if ins.opcode == "ld" and "local" in ins.modifiers else found


def _chosen_by(block: Block, loop: Loop) -> set[Block]:
    """Collect what can be come to, in one round of a loop, from some targets of a branch and not from all."""
    ways = [_ahead(target, loop) for target in block.targets if target in loop.members]
    return set[Block]().union(*ways) - ways[0].intersection(*ways[1:]) if len(ways) > 1 else set()


def _ahead(start: Block, loop: Loop) -> set[Block]:
    found = {start} - {loop.header}
    todo = list(found)
    while todo:
        for target in todo.pop().targets:
            if target in loop.members and target is not loop.header and target not in found:
                found.add(target)
                todo.append(target)
    return found


# ---- weak topological order


def weak_order(blocks: list[Block]) -> tuple[list[Block], list[Loop]]:
    """Order the blocks and list the loops, inner ones after the loop they lie in."""
    ordered: list[Block] = []
    loops: list[Loop] = []
    _order(blocks[0], frozenset(blocks), ordered, loops)
    return ordered, loops


def _order(first: Block, inside: frozenset[Block], ordered: list[Block], loops: list[Loop]) -> None:
    for component in _components([first, *_in_text_order(inside)], inside):
        header = component[0]
        ordered.append(header)
        if len(component) == 1 and header not in header.targets:
            continue
        members = frozenset(component)
        loops.append(Loop(header, members))
        rest = members - {header}
        if rest:
            start = next(t for t in [*header.targets, *_in_text_order(rest)] if t in rest)
            _order(start, rest, ordered, loops)


def _in_text_order(blocks: Iterable[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.body[0].line if block.body else 1 << 30)


def _components(roots: list[Block], inside: frozenset[Block]) -> list[list[Block]]:
    """List strongly connected components in topological order (Tarjan, without recursion); each begins at its entry."""
    numbers: dict[Block, int] = {}
    low: dict[Block, int] = {}
    stack: list[Block] = []
    on_stack: set[Block] = set()
    found: list[list[Block]] = []
    for root in roots:
        if root in numbers:
            continue
        work = [(root, iter(_inner(root, inside)))]
        numbers[root] = low[root] = len(numbers)
        stack.append(root)
        on_stack.add(root)
        while work:
            block, targets = work[-1]
            for target in targets:
                if target not in numbers:
                    numbers[target] = low[target] = len(numbers)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(_inner(target, inside))))
                    break
                if target in on_stack:
                    low[block] = min(low[block], numbers[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[block])
                if low[block] == numbers[block]:
                    at = stack.index(block)
                    found.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found[::-1]


def _inner(block: Block, inside: frozenset[Block]) -> list[Block]:
    # The last target is visited first, so that in the result the first one (the branch taken) comes late: a loop's
    # body before what follows it is a matter of components; of two arms either order is right.
    return [target for target in reversed(block.targets) if target in inside]


def is_latch(block: Block) -> bool:
    """Tell whether a block only goes round a loop."""
    return isinstance(block.end, Suspend) and block.end.ins is None


def plain(block: Block) -> bool:
    """Tell whether a block merely goes on to another."""
    return isinstance(block.end, Jump)
