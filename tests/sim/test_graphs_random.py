"""Random graphs: every launch leaves memory as their nodes in any legal order do."""

from __future__ import annotations

import random

import pytest
from cuda.bindings import driver as cu
from graph_parts import (
    RELAXED,
    Words,
    add_to,
    copy_params,
    function,
    kernel_params,
    launch,
    memset_params,
)

from answers import ok

WORDS, NODES, LAUNCHES = 6, 24, 3
MASK = 0xFFFFFFFF


class Plan:
    """Steps on words, and those that each must wait for: the last writers and readers of what it touches."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.steps = [self._step(chance) for _ in range(NODES)]
        self.after = [self._conflicts(k) for k in range(NODES)]

    @staticmethod
    def _step(chance: random.Random) -> tuple[str, int, int]:
        kind = chance.choice(("add", "add", "set", "copy"))
        at, other = chance.sample(range(WORDS), 2)
        return kind, at, other if kind == "copy" else chance.randrange(1000)

    def _touched(self, k: int) -> tuple[set[int], set[int]]:
        kind, at, other = self.steps[k]
        return {at}, {at, other} if kind == "copy" else {at}

    def _conflicts(self, k: int) -> list[int]:
        writes, uses = self._touched(k)
        found = []
        for earlier in range(k):
            their_writes, their_uses = self._touched(earlier)
            if writes & their_uses or uses & their_writes:
                found.append(earlier)
        return found

    def model(self, words: list[int]) -> None:
        """Do the steps one after the other."""
        for kind, at, other in self.steps:
            words[at] = {"add": words[at] + other & MASK, "set": other, "copy": words[other % WORDS]}[kind]


def built(plan: Plan, words: Words, context: int, add: object) -> object:
    """Make the graph node by node; every conflict is an edge, nothing else is."""
    graph, nodes = ok(cu.cuGraphCreate(0)), []
    for (kind, at, other), after in zip(plan.steps, plan.after, strict=True):
        before, place = [nodes[k] for k in after], words.address + 4 * at
        if kind == "add":
            params = kernel_params(add, add_to(place, other))
            nodes.append(ok(cu.cuGraphAddKernelNode(graph, before, len(before), params)))
        elif kind == "set":
            nodes.append(ok(cu.cuGraphAddMemsetNode(graph, before, len(before), memset_params(place, other), context)))
        else:
            params = copy_params(place, words.address + 4 * other, 4)
            nodes.append(ok(cu.cuGraphAddMemcpyNode(graph, before, len(before), params, context)))
    return graph


def captured(plan: Plan, words: Words, streams: list[object], add: object) -> object:
    """Capture the steps in several streams; events between them stand for the edges."""
    marks: list[object] = []
    start = ok(cu.cuEventCreate(2))
    ok(cu.cuStreamBeginCapture(streams[0], RELAXED))
    ok(cu.cuEventRecord(start, streams[0]))
    for stream in streams[1:]:
        ok(cu.cuStreamWaitEvent(stream, start, 0))
    for k, ((kind, at, other), after) in enumerate(zip(plan.steps, plan.after, strict=True)):
        stream, place = streams[k % len(streams)], words.address + 4 * at
        for earlier in after:
            ok(cu.cuStreamWaitEvent(stream, marks[earlier], 0))
        if kind == "add":
            ok(launch(add, stream, add_to(place, other)))
        elif kind == "set":
            ok(cu.cuMemsetD32Async(place, other, 1, stream))
        else:
            ok(cu.cuMemcpyDtoDAsync(place, words.address + 4 * other, 4, stream))
        marks.append(ok(cu.cuEventCreate(2)))
        ok(cu.cuEventRecord(marks[-1], stream))
    for mark in marks:
        ok(cu.cuStreamWaitEvent(streams[0], mark, 0))
    graph = ok(cu.cuStreamEndCapture(streams[0]))
    for event in (start, *marks):
        ok(cu.cuEventDestroy(event))
    return graph


@pytest.mark.parametrize("way", ["by hand", "captured"])
@pytest.mark.parametrize("seed", range(6))
def test_a_random_graph_does_what_its_steps_do(context, stream, way, seed):
    plan, words, add = Plan(seed), Words(WORDS), function("add")
    if way == "by hand":
        graph = built(plan, words, context, add)
    else:
        others = [ok(cu.cuStreamCreate(1)) for _ in range(2)]
        graph = captured(plan, words, [stream, *others], add)
        for each in others:
            ok(cu.cuStreamDestroy(each))
    made, expected = ok(cu.cuGraphInstantiate(graph, 0)), [0] * WORDS
    for _ in range(LAUNCHES):
        ok(cu.cuGraphLaunch(made, stream))
        plan.model(expected)
    ok(cu.cuStreamSynchronize(stream))
    assert words.read() == expected
    ok(cu.cuGraphExecDestroy(made)), ok(cu.cuGraphDestroy(graph))
    words.close()
