"""Carry straight-line PTX out on 32 lanes, with no kernel around it: the bench on which single instructions are tested.

    out = run(".reg .b32 %a, %b, %c;", "add.s32 %c, %a, %b;", {"%a": a, "%b": b}, ["%c"])

``a`` and ``b`` are arrays of 32 unsigned integers (uint8 for predicates, uint16, uint32, uint64): the registers' bits.
Every instruction is carried out in both shapes: for 32 lanes, and with ``uniform=True`` once for all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cumulticast.ptx import machine_code
from cumulticast.ptx.lower import all_lowerings
from cumulticast.ptx.lower.emitter import LANES, Emitter, Slot, lowering
from cumulticast.ptx.parser import parse
from cumulticast.ptx.syntax import Instruction, Statement

Array = np.ndarray
Compiled = Callable[..., dict[str, Array]]
DTYPES = {"i1": np.uint8, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}
HEADER = ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"


def run(
    declarations: str,
    body: str,
    inputs: Mapping[str, Array],
    outputs: list[str],
    *,
    uniform: bool = False,
    target: str = "sm_90a",
    warp: int = 0,
    active: int | None = None,
) -> dict[str, Array]:
    """Answer the bits of the output registers after the body; with ``uniform`` lane 0's inputs are used, for all.

    ``warp`` is the address of a struct ptx_warp; ``active`` the lanes, as bits, that carry the body out (None: all).
    """
    compiled = prepare(declarations, body, list(inputs), outputs, uniform=uniform, target=target, active=active)
    return compiled(inputs, warp)


def prepare(
    declarations: str,
    body: str,
    inputs: list[str],
    outputs: list[str],
    *,
    uniform: bool = False,
    target: str = "sm_90a",
    active: int | None = None,
) -> Compiled:
    """Compile a body once; what is answered carries it out on any inputs."""
    module = parse(HEADER.format(target=target) + declarations + "\n" + body + "\nret;\n}\n")
    function = module.functions["k"]
    slots = {name: Slot(Emitter.kind(kind), uniform) for name, kind in function.registers.items()}
    slots["%cc"] = Slot("i1", uniform)
    em = Emitter(slots)
    em.vector = not uniform
    if active is not None:
        em.active = str(active - (active >> 31 << 32))
        em.mask = f"<{', '.join(f'i1 {active >> lane & 1}' for lane in range(LANES))}>"
    ir = _ir(em, function.body or [], inputs, outputs)
    linked = machine_code.link(machine_code.object_code(ir), "straight")
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked.address("straight"))

    def carry_out(values: Mapping[str, Array], warp: int = 0) -> dict[str, Array]:
        arrays = [np.ascontiguousarray(values[name], DTYPES[slots[name].kind]) for name in inputs]
        assert linked.library is not None and all(len(array) == LANES for array in arrays)
        results = {name: np.zeros(LANES, DTYPES[slots[name].kind]) for name in outputs}
        pointers = [array.ctypes.data for array in (*arrays, *results.values())]
        table = (ctypes.c_uint64 * len(pointers))(*pointers)
        entry(ctypes.addressof(table), warp)
        return results

    return carry_out


def _ir(em: Emitter, body: Sequence[Statement], inputs: list[str], outputs: list[str]) -> str:
    all_lowerings()
    for name, slot in em.slots.items():
        em.entry.append(f"  {em.register(name)} = alloca {em.t(slot.kind)}, align 64")
    for i, name in enumerate(inputs):
        _load(em, em.slots[name], name, i)
    for statement in body:
        if isinstance(statement, Instruction) and statement.opcode != "ret":
            em.line = em.number = statement.line
            found = lowering(statement)
            assert found is not None, f"nobody lowers {statement.name}"
            found(em, statement)
    for i, name in enumerate(outputs):
        _store(em, em.slots[name], name, len(inputs) + i)
    head = [*sorted(em.declared), *em.defined.values(), "define void @straight(ptr %io, ptr %warp) {", "entry:"]
    return "\n".join([*head, *em.entry, *em.lines, "  ret void", "}", ""])


def _place(em: Emitter, index: int) -> str:
    at = em.emit(f"getelementptr i64, ptr %io, i64 {index}")
    return em.emit(f"load ptr, ptr {at}")


def _load(em: Emitter, slot: Slot, name: str, index: int) -> None:
    kind = "i8" if slot.kind == "i1" else slot.kind
    value = em.emit(f"load {em.t(kind)}, ptr {_place(em, index)}, align 1")
    if slot.kind == "i1":
        value = em.compare("icmp", "ne", "i8", value, em.const("i8", 0))
    em.do(f"store {em.t(slot.kind)} {value}, ptr {em.register(name)}")


def _store(em: Emitter, slot: Slot, name: str, index: int) -> None:
    value = em.load(name)
    kind = slot.kind
    if kind == "i1":
        value, kind = em.cast("zext", "i1", "i8", value), "i8"
    if not em.vector:
        em.vector = True
        value = em.splat(kind, value)
        em.do(f"store {em.t(kind)} {value}, ptr {_place(em, index)}, align 1")
        em.vector = False
        return
    em.do(f"store {em.t(kind)} {value}, ptr {_place(em, index)}, align 1")
