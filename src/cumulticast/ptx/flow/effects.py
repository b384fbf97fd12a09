"""What an instruction reads, writes and touches, as far as control flow has to know."""

from __future__ import annotations

from cumulticast.ptx.syntax import Address, Instruction, Negated, Operand, Pair, Register, Special, Vector

#: Instructions without a destination whose first operand is no address.
NO_DESTINATION = frozenset(
    (
        *("bra", "brx", "call", "ret", "exit", "trap", "brkpt", "pmevent", "nanosleep", "fence", "membar"),
        *("setmaxnreg", "griddepcontrol", "cp", "stackrestore", "assertfail", "device_free"),
    )
)
CARRY = "%cc"
#: A lane must not go on before the other lanes of its member mask are there.
GATHERING = frozenset(("shfl", "vote", "match", "redux", "elect"))
#: The same, and all lanes are members.
WHOLE_WARP = frozenset(("mma", "ldmatrix", "stmatrix", "movmatrix"))
WATCHING = frozenset(("volatile", "relaxed", "acquire", "acq_rel", "mmio", "try_wait", "test_wait"))
OTHER_SPACES = frozenset(
    ("shared", "local", "param", "const", "shared::cta", "shared::cluster", "param::entry", "param::func")
)


def registers_of(operand: Operand) -> tuple[str, ...]:
    """List the registers in an operand."""
    match operand:
        case Register(name):
            return (name,)
        case Negated(register):
            return (register.name,)
        case Address(base):
            return (base.name,) if isinstance(base, Register) else ()
        case Vector(elements):
            return tuple(name for element in elements for name in registers_of(element))
        case Pair(first, second):
            return registers_of(first) + registers_of(second)
        case _:
            return ()


def specials_of(operand: Operand) -> tuple[str, ...]:
    """List the special registers in an operand."""
    match operand:
        case Special(name):
            return (name,)
        case Vector(elements):
            return tuple(name for element in elements for name in specials_of(element))
        case _:
            return ()


def has_destination(ins: Instruction) -> bool:
    """Tell whether the first operand is written."""
    if not ins.operands or isinstance(ins.operands[0], Address):
        return False
    if ins.opcode in ("bar", "barrier"):
        return "red" in ins.modifiers
    return ins.opcode not in NO_DESTINATION


def written(ins: Instruction) -> tuple[str, ...]:
    """List the registers that an instruction writes."""
    found = registers_of(ins.operands[0]) if has_destination(ins) else ()
    return (*found, CARRY) if "cc" in ins.modifiers else found


def read(ins: Instruction) -> tuple[str, ...]:
    """List the registers that an instruction reads, its guard not included."""
    sources = ins.operands[1:] if has_destination(ins) else ins.operands
    found = tuple(name for operand in sources for name in registers_of(operand))
    return (*found, CARRY) if ins.opcode in ("addc", "subc", "madc") else found


def gathers(ins: Instruction) -> bool:
    """Tell whether lanes wait for others of their warp at this instruction."""
    return (ins.opcode in GATHERING | WHOLE_WARP and "sync" in ins.modifiers) or (
        ins.opcode in ("bar", "barrier") and "warp" in ins.modifiers
    )


def watches(ins: Instruction) -> bool:
    """Tell whether an instruction's value can be changed by others: what a spinning loop looks at."""
    if ins.opcode in ("atom", "mbarrier") or (ins.opcode == "multimem" and ins.modifiers[0] == "ld_reduce"):
        return True
    return ins.opcode == "ld" and not WATCHING.isdisjoint(ins.modifiers)


def touches_memory(ins: Instruction) -> bool:
    """Tell whether an instruction touches memory that is worth walking through in a GPU's order."""
    return ins.opcode in ("ld", "st", "atom", "red", "multimem") and OTHER_SPACES.isdisjoint(ins.modifiers)
