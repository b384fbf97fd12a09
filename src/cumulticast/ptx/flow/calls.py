"""A kernel and all device functions that it can call, as one graph of blocks.

Every function's registers and variables get names of their own (``f|%r1``). A call becomes: arguments are copied, the
number of the call's site goes to a register of the callee's, control goes to its first block; its return goes to the
site with that number. So a suspension inside of a function is like any other, and lanes may be in different functions.

Functions that can be entered again before they have returned (recursion), or that are called through a pointer, are
*framed*: their variables lie in a frame on the lane's stack in local memory, and what a caller of such a function still
needs afterwards is saved there (flow/stack.py). All others have one fixed place for each variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cumulticast.ptx import rewrite
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.flow import stack
from cumulticast.ptx.flow.arguments import SYSTEM, Arguments, call_target, lists
from cumulticast.ptx.flow.blocks import Block, Cutter, Exit, Jump, Table, Trap
from cumulticast.ptx.flow.pointers import FUNCTION_BASE, FUNCTION_STEP, address_taken, addresses, instructions
from cumulticast.ptx.flow.stack import SP, Frame, make
from cumulticast.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Operand,
    Prototype,
    Register,
    Statement,
    Symbol,
    Variable,
)

ADDRESS = Register("%address")  # of a variable in a frame, for the next instruction


@dataclass(slots=True)
class Program:
    """What `assemble` makes.

    Attributes
    ----------
    blocks
        Not in order yet; the first is where the kernel begins.
    registers
        Types by name.
    shared, local
        Variables of the functions' bodies, each with a name of its own.
    stack
        Whether calls take room on the lane's stack.
    """

    blocks: list[Block] = field(default_factory=list[Block])
    registers: dict[str, str] = field(default_factory=dict[str, str])
    shared: list[Variable] = field(default_factory=list[Variable])
    local: list[Variable] = field(default_factory=list[Variable])
    stack: bool = False


class Assembler:
    """Assembles one kernel."""

    def __init__(self, module: Module, kernel: Function, taken: Sequence[str] | None) -> None:
        self.module = module
        self.kernel = kernel
        self._taken = address_taken(module) if taken is None else taken
        self.program = Program()
        self.entries: dict[str, Block] = {}
        self.returns: dict[str, list[Block]] = {}
        self.sites: dict[str, list[Block]] = {}
        self.frames: dict[str, Frame] = {}
        self.saves: list[stack.Save] = []
        self.strays: list[Block] = []

    def assemble(self) -> Program:
        """Answer the whole graph."""
        functions = self._reached()
        framed = stack.framed(functions, self._callees)
        self.frames = {name: Frame(functions[name]) for name in framed}
        self._arguments = Arguments(self._name, self.frames, self.program.registers)
        self.program.stack = bool(framed)
        for function in functions.values():
            self._declare(function)
        for function in functions.values():
            self.entries[function.name] = Block()
        for function in functions.values():
            self._cut(function)
        self.program.blocks += self.strays
        for name in functions:
            self._connect_returns(name)
        if framed:
            self.program.registers[SP] = "b64"
            start = [make("mov", "u64", Register(SP), Integer(stack.size_of(self.program.local)))]
            self.entries[self.kernel.name].body[:0] = start
            stack.save_what_lives(self.program.blocks, self.saves, self.program.registers, self.frames)
        return self.program

    # ---- which functions

    @cached_property
    def _addresses(self) -> Mapping[str, int]:
        return addresses(self._taken)

    def _reached(self) -> dict[str, Function]:
        found = {self.kernel.name: self.kernel}
        todo = [self.kernel]
        while todo:
            for name in self._callees(todo.pop()):
                if name not in found:
                    found[name] = self._defined(name)
                    todo.append(found[name])
        return found

    def _callees(self, function: Function) -> list[str]:
        names: dict[str, None] = {}
        for ins in instructions(function):
            if ins.opcode != "call":
                continue
            target = call_target(ins)
            if isinstance(target, Symbol):
                if target.name not in SYSTEM:
                    names[self._alias(target.name)] = None
            else:
                names.update(dict.fromkeys(self._through_pointer(function, ins)))
        return list(names)

    def _through_pointer(self, function: Function, ins: Instruction) -> list[str]:
        """List the functions that an indirect call may lead to: those of its list, or of its prototype's shape."""
        shape = ins.operands[-1]
        name = shape.name if isinstance(shape, Symbol) else ""
        if name in function.tables:
            return [one for one in self._taken if one in function.tables[name]]
        prototype = function.prototypes.get(name)
        return [one for one in self._taken if prototype is None or _fits(self.module.functions[one], prototype)]

    def _alias(self, name: str) -> str:
        return self.module.aliases.get(name, name)

    def _defined(self, name: str) -> Function:
        function = self.module.functions.get(name)
        if function is None or function.body is None:
            raise PtxError(f"unresolved function {name}", function.line if function else 0)
        return function

    # ---- names

    def _name(self, function: Function, name: str) -> str:
        return name if function.kernel else f"{function.name}|{name}"

    def _declare(self, function: Function) -> None:
        program = self.program
        program.registers.update({self._name(function, n): kind for n, kind in function.registers.items()})
        program.registers[self.return_register(function.name)] = "b32"
        formals = () if function.kernel else (*function.parameters, *function.returns)
        frame = self.frames.get(function.name)
        for variable in (*function.variables.values(), *formals):
            renamed = replace(variable, name=self._name(function, variable.name))
            if variable.space == "shared":
                program.shared.append(renamed)
            elif variable.space == "reg":
                program.registers[renamed.name] = variable.type
            elif frame is None:
                program.local.append(renamed)
        if frame is not None:
            program.registers[frame.pointer] = "b64"

    @staticmethod
    def return_register(name: str) -> str:
        """Answer the register that says where a function returns to."""
        return f"{name}|%return"

    # ---- bodies

    def _cut(self, function: Function) -> None:
        body = [found for one in function.body or () for found in self._statement(function, one)]
        renamed = replace(function, body=body)
        cutter = Cutter(renamed, self, self.entries[function.name])
        blocks = cutter.cut()
        frame = self.frames.get(function.name)
        if frame is not None:
            blocks[0].body[:0] = frame.enter()
        self.program.blocks += blocks

    def _statement(self, function: Function, one: Statement) -> Sequence[Statement]:
        if isinstance(one, Label):
            return [one]
        variables = {*function.variables, *(v.name for v in (*function.parameters, *function.returns))}

        def symbol(name: str) -> str:
            return self._name(function, name) if name in variables else name

        if one.opcode in ("bra", "brx", "call"):  # labels are the function's; a call's variables are named later
            return [rewrite.instruction(one, lambda name: self._name(function, name), lambda name: name)]
        renamed = rewrite.instruction(one, lambda name: self._name(function, name), symbol)
        return self._placed(function, self._local(function, renamed))

    def _local(self, function: Function, ins: Instruction) -> Instruction:
        """Parameters of functions and arguments of calls are variables in local memory."""
        words = ("param", "param::func")
        if not any(word in ins.modifiers for word in words):
            return ins
        formals = {variable.name for variable in function.parameters}
        bases = [o.base.name for o in ins.operands if isinstance(o, Address) and isinstance(o.base, Symbol)]
        if function.kernel and "param::func" not in ins.modifiers and (not bases or bases[0] in formals):
            return ins
        return replace(ins, modifiers=tuple("local" if word in words else word for word in ins.modifiers))

    def _placed(self, function: Function, ins: Instruction) -> list[Instruction]:
        """In a framed function variables are found from the frame pointer; pointers to functions are numbers."""
        frame = self.frames.get(function.name)
        known = self._addresses
        before: list[Instruction] = []

        def place(one: Operand) -> Operand:
            if isinstance(one, Symbol) and one.name in known:
                return Integer(known[one.name])
            placed = one if frame is None else frame.place(one)
            if isinstance(one, Symbol) and isinstance(placed, Address):  # its address is meant
                self.program.registers[ADDRESS.name] = "b64"
                before.append(make("add", "s64", ADDRESS, placed.base, Integer(placed.offset)))
                return ADDRESS
            return placed

        placed = replace(ins, operands=tuple(place(one) for one in ins.operands))
        return [*before, placed]

    # ---- what the cutter asks

    def end_of_function(self, function: Function, block: Block) -> None:
        """End a block that returns."""
        if function.kernel:
            block.end = Exit()
            return
        frame = self.frames.get(function.name)
        if frame is not None:
            block.body += frame.leave()
        self.returns.setdefault(function.name, []).append(block)

    def call(self, function: Function, block: Block, ins: Instruction, following: Block) -> None:
        """End a block with a call; ``following`` is where it comes back to."""
        target = call_target(ins)
        if isinstance(target, Symbol) and target.name in SYSTEM:
            block.body += self._arguments.system_call(function, ins, self.module.functions[target.name])
            block.end = Jump((following,))
            return
        if isinstance(target, Symbol):
            callees = [self._defined(self._alias(target.name))]
        else:
            callees = [self.module.functions[name] for name in self._through_pointer(function, ins)]
        caller, framed = self.frames.get(function.name), callees[:1] and callees[0].name in self.frames
        arguments, results = lists(ins)
        if callees:
            block.body += self._arguments.passed(function, callees[0], arguments, to_callee=True)
        if caller is not None and framed:
            save = stack.Save(caller, block, following)
            self.saves.append(save)
            before, after = stack.mark(save)
            block.body.append(before)
            following.body.append(after)
        for callee in callees:
            number = len(self.sites.setdefault(callee.name, []))
            self.sites[callee.name].append(following)
            register = Register(self.return_register(callee.name))
            block.body.append(make("mov", "u32", register, Integer(number)))
        if callees:
            following.body += self._arguments.passed(function, callees[0], results, to_callee=False)
        if isinstance(target, Symbol):
            block.end = Jump((self.entries[callees[0].name],))
        else:
            self._indirect(block, target, {callee.name for callee in callees}, ins.line)

    def _indirect(self, block: Block, target: Operand, callees: set[str], line: int) -> None:
        """Go to the function whose address a register holds; an address that is no such function's ends the kernel."""
        wide, low, narrow = Register("%callee"), Register("%callee.low"), Register("%callee.index")
        self.program.registers.update({wide.name: "b64", low.name: "b64", narrow.name: "b32"})
        step = FUNCTION_STEP.bit_length() - 1
        block.body += [
            make("sub", "s64", wide, target, Integer(FUNCTION_BASE)),
            make("shl", "b64", low, wide, Integer(64 - step)),  # turned: what is no multiple of a step is large
            make("shr", "u64", wide, wide, Integer(step)),
            make("or", "b64", wide, wide, low),
            make("min", "u64", wide, wide, Integer(len(self._taken))),
            make("cvt", "u32.u64", narrow, wide),
        ]
        wrong = Block(end=Trap(line=line))
        self.strays.append(wrong)
        choices = (*(self.entries[name] if name in callees else wrong for name in self._taken), wrong)
        block.end = Table(tuple(dict.fromkeys(choices)), index=narrow, choices=choices)

    def _connect_returns(self, name: str) -> None:
        sites = tuple(self.sites.get(name, ()))
        for block in self.returns.get(name, ()):
            if len(set(sites)) == 1:
                block.end = Jump((sites[0],))
            elif sites:
                index = Register(self.return_register(name))
                block.end = Table(tuple(dict.fromkeys(sites)), index=index, choices=sites)
            else:
                block.end = Exit()

    # ---- arguments and results


def _fits(function: Function, prototype: Prototype) -> bool:
    """Tell whether a function has the parameters and results of a prototype, as far as their places tell."""
    pairs = ((function.parameters, prototype.parameters), (function.returns, prototype.returns))
    return all([v.size for v in mine] == [v.size for v in theirs] for mine, theirs in pairs)


def assemble(module: Module, kernel: Function, taken: Sequence[str] | None = None) -> Program:
    """Answer a kernel with all that it calls.

    Parameters
    ----------
    taken
        What `address_taken` answers for the module, if that is known: it looks at every instruction.

    Raises
    ------
    PtxError
        218: a function that is nowhere.
    """
    return Assembler(module, kernel, taken).assemble()
