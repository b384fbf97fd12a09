"""LLVM IR text → machine code of this host, through llvmlite.

Object code is what is kept and cached; it is linked into the process by `link`. Every symbol that object code asks for
must be one of the C runtime's: LLVM would resolve an unknown one to address 0, and the first call would be a crash.
"""

# llvmlite has no types: what comes from it is unknown to the checker.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import itertools
import struct
import threading
from dataclasses import dataclass

from llvmlite import binding as llvm

from cumulticast.ptx.compiled import ENTRY
from cumulticast.ptx.runtime import address_of

_LOCK = threading.Lock()
_STATE: dict[int, llvm.TargetMachine] = {}
#: Characters of a text from which on its code is made by the fast, plain generator: the other one's time grows faster
#: than the text (measured: 630 KB 2.5 s, 790 KB 14 s, 1.6 MB beyond a minute; the plain one takes 3.2 MB in 4 s).
LARGE = 700_000
CAREFUL, PLAIN = 2, 0
_LINKER: list[llvm.LLJIT] = []
_NUMBERS = itertools.count()


def host() -> str:
    """Describe the processor that code is made for; code of another one is not run."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _target_machine(effort: int = CAREFUL) -> llvm.TargetMachine:
    """Answer the machine that code is compiled for; never give it to an engine, which would free it at its own end."""
    if not _STATE:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    if effort not in _STATE:
        _STATE[effort] = _new_target_machine(effort)
    return _STATE[effort]


def _new_target_machine(effort: int = CAREFUL) -> llvm.TargetMachine:
    features = llvm.get_host_cpu_features().flatten()
    if "+avx512f" in features:
        features += ",-prefer-256-bit"
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=effort, reloc="pic", codemodel="default"
    )


def object_code(ir: str) -> bytes:
    """Compile LLVM IR text.

    Raises
    ------
    RuntimeError
        LLVM does not accept the text: a fault of the compiler's, never of the user's.
    """
    with _LOCK:
        machine = _target_machine(CAREFUL if len(ir) < LARGE else PLAIN)
        module = llvm.parse_assembly(ir)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        _optimise(module, machine)
        return machine.emit_object(module)


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run the passes that a trial found worth their time: no vectoriser, since the code is vectors already."""
    options = llvm.PipelineTuningOptions(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_aggressive_dce_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


@dataclass(slots=True)
class Linked:
    """Machine code in this process; it stays as long as this does."""

    library: llvm.ResourceTracker

    def address(self, name: str) -> int:
        """Answer where a function begins."""
        return self.library[name]


def link(code: bytes, name: str = ENTRY) -> Linked:
    """Put object code into this process; the address of the function ``name`` can be asked for.

    JITLink lays all of an object down in one piece. (MCJIT asks for code and constants apart; where the address space
    is crowded they come to lie further from each other than 32-bit displacements reach, and LLVM aborts.)

    Raises
    ------
    RuntimeError
        The code asks for a function that the runtime does not have.
    """
    with _LOCK:
        _target_machine()
        library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name)
        for symbol in undefined(llvm.ObjectFileRef.from_data(code)):
            address = address_of(symbol)
            if address is None:
                raise RuntimeError(f"machine code asks for {symbol}, which the runtime does not have")
            library.import_symbol(symbol, address)
        return Linked(library.link(_linker(), f"kernel {next(_NUMBERS)}"))


def _linker() -> llvm.LLJIT:
    if not _LINKER:
        _LINKER.append(llvm.create_lljit_compiler(_new_target_machine(), use_jit_link=True))
    return _LINKER[0]


def undefined(found: llvm.ObjectFileRef) -> list[str]:
    """List the symbols that an ELF object asks others for."""
    sections = {section.name(): section.data() for section in found.sections()}
    symbols, strings = sections[b".symtab"], sections[b".strtab"]
    names: list[str] = []
    for at in range(24, len(symbols), 24):  # Elf64_Sym; the first is void
        name, _, _, section = struct.unpack_from("<IBBH", symbols, at)
        if section == 0 and name:
            names.append(strings[name : strings.index(b"\0", name)].decode())
    return names
