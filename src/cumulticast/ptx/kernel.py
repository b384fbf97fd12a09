"""One kernel of a module, from its statements to object code.

cut into blocks → ordered, loops given their latch → which lanes run where → what is live → frame → LLVM IR → object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cumulticast.ptx import machine_code
from cumulticast.ptx.compiled import ENTRY, Compiled
from cumulticast.ptx.flow import effects, stack
from cumulticast.ptx.flow.blocks import Block, Suspend, leaves, reachable
from cumulticast.ptx.flow.calls import Program, assemble
from cumulticast.ptx.flow.frames import lay_out
from cumulticast.ptx.flow.lanes import VARYING, Lanes, constants
from cumulticast.ptx.flow.liveness import Names, live_in, uses_of_end
from cumulticast.ptx.flow.order import arrange
from cumulticast.ptx.flow.pointers import address_taken, addresses
from cumulticast.ptx.flow.writer import Writer
from cumulticast.ptx.layout import Reason
from cumulticast.ptx.lower import all_lowerings
from cumulticast.ptx.lower.emitter import Emitter, Slot
from cumulticast.ptx.lower.kernel_emitter import KernelEmitter, Places
from cumulticast.ptx.stored import Outline, Summary
from cumulticast.ptx.syntax import Function, Instruction, Module

#: Instructions whose f32 results are those of arithmetic: a NaN in them has the one pattern of the hardware. (f64 keeps
#: the payload of a NaN, recorded on an H200.)
ARITHMETIC = frozenset(["add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"])
LAZY = {"f32": "float"}
DYNAMIC_ALIGN = 16
MOST_REGISTERS, SPARE_REGISTERS = 255, 8


def compile_kernel(module: Module, name: str, numbers: Mapping[str, int]) -> Compiled:
    """Compile a kernel.

    Parameters
    ----------
    module
        What the parser made, checked.
    name
        Of the kernel.
    numbers
        Module variables → their place in the table of addresses.

    Raises
    ------
    PtxError
        218: an instruction that is not simulated.
    """
    all_lowerings()
    function = module.functions[name]
    program = assemble(module, function)
    places = place_variables(module, function, program, numbers)
    blocks = _ordered(program.blocks)
    lanes = Lanes(blocks, frozenset(v.name for v in function.parameters))
    live = live_in(blocks)
    slots = _slots(blocks, program.registers, lanes)
    frame = lay_out(blocks, lanes, live, slots)
    writer = Writer(KernelEmitter(slots, places, constants(blocks)), blocks, lanes, live, frame)
    ir = writer.write(ENTRY)
    return Compiled(
        code=machine_code.object_code(ir),
        frame_size=frame.size,
        places=len(frame.places) + 1,
        shared_size=places.shared_size,
        local_size=places.local_size,
        stack=program.stack,
        turning=_turns(blocks, lanes),
        registers=_registers(live, slots),
        lines=tuple(writer.lines),
    )


def _ordered(blocks: list[Block]) -> list[Block]:
    leaves(blocks)
    reached = reachable(blocks[0])
    return arrange([block for block in dict.fromkeys(blocks) if block in reached])


def _registers(live: dict[Block, Names], slots: dict[str, Slot]) -> int:
    """Estimate 32-bit registers of a thread: the most that live at the beginning of a block, and some to compute in."""
    words = max(sum(-(-int(slots[name].kind[1:]) // 32) for name in names if name in slots) for names in live.values())
    return min(MOST_REGISTERS, -(-(words + SPARE_REGISTERS) // 8) * 8)


def _turns(blocks: list[Block], lanes: Lanes) -> bool:
    return any(isinstance(b.end, Suspend) and b.end.reason is Reason.SPIN and not lanes.converged(b) for b in blocks)


# ---- registers


def _instructions(blocks: list[Block]) -> list[Instruction]:
    return [ins for block in blocks for ins in block.body]


def _slots(blocks: list[Block], registers: Mapping[str, str], lanes: Lanes) -> dict[str, Slot]:
    """Give every register that occurs its kind and shape."""
    arithmetic: dict[str, set[str]] = {}
    names: dict[str, None] = {}
    for ins in _instructions(blocks):
        for name in effects.written(ins):
            arithmetic.setdefault(name, set()).add(_arithmetic_of(ins))
            names[name] = None
        names.update(dict.fromkeys(effects.read(ins)))
        if ins.guard is not None:
            names[ins.guard.name] = None
    for block in blocks:
        names.update(dict.fromkeys(uses_of_end(block)))
    return {
        name: Slot(
            "i1" if name == effects.CARRY else Emitter.kind(registers[name]),
            lanes.level.get(name, 0) < VARYING,
            _only(arithmetic.get(name, {""})),
        )
        for name in names
    }


def _arithmetic_of(ins: Instruction) -> str:
    """Answer the float kind of which an instruction's result is arithmetic, or ""."""
    if ins.opcode in ARITHMETIC and ins.types and len(set(ins.types)) == 1:
        return LAZY.get(ins.types[-1], "")
    return ""


def _only(kinds: set[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else ""


# ---- variables


def place_variables(module: Module, function: Function, program: Program, numbers: Mapping[str, int]) -> Places:
    """Lay out a kernel's shared, local and parameter space."""
    variables = [*module.variables.values(), *program.shared]
    shared, shared_size = stack.lay_out([v for v in variables if v.space == "shared" and v.size])
    dynamic = -(-shared_size // DYNAMIC_ALIGN) * DYNAMIC_ALIGN
    shared |= {v.name: dynamic for v in variables if v.space == "shared" and not v.size}
    local, local_size = stack.lay_out(program.local)
    params, _ = stack.lay_out(function.parameters)
    offsets = {
        **{name: ("shared", at) for name, at in shared.items()},
        **{name: ("local", at) for name, at in local.items()},
        **{name: ("param", at) for name, at in params.items()},
    }
    return Places(numbers, offsets, shared_size, local_size)


def parameter_offsets(function: Function) -> tuple[tuple[int, int], ...]:
    """Answer (offset, size) of each parameter."""
    at, _ = stack.lay_out(function.parameters)
    return tuple((at[variable.name], variable.size) for variable in function.parameters)


def static_sizes(module: Module, function: Function, taken: Sequence[str] | None = None) -> tuple[int, int]:
    """Answer static shared memory of a block and local memory of a thread, in bytes, without compiling."""
    places = place_variables(module, function, assemble(module, function, taken), {})
    return places.shared_size, places.local_size


def summarise(module: Module) -> Summary:
    """Answer what is to be known of a module without its statements."""
    variables = (v for v in module.variables.values() if v.space in ("global", "const") and v.linkage != "extern")
    kernels = (function for function in module.functions.values() if function.kernel)
    taken = address_taken(module)
    outlines = tuple(_outlined(module, function, taken) for function in kernels)
    return Summary(outlines, tuple(variables), dict(addresses(taken)))


def _outlined(module: Module, function: Function, taken: Sequence[str]) -> Outline:
    shared, local = static_sizes(module, function, taken)
    offsets = tuple(at for at, _ in parameter_offsets(function))
    return Outline(function.name, function.parameters, offsets, shared, local, function.directives)
