"""Build the two halves of a door: a library such as ``libcuda.so.1`` (plain C) and the extension ``_door`` (cffi).

Runs when the package is installed, before anything of it can be imported: it reads the call table through its file.
``libnvidia-ml.so.1`` is built from the same sources (libnvml/build_door.py).
"""

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent

CDEF = """
    void serve(uintptr_t function_list, uintptr_t on_other, uintptr_t on_failure);
    const char *attach(const char *path, uintptr_t faults, uint32_t calm);
    void close_door(void);
    void collect_again(void);
    void hold_back_collector(void);
    void let_collector_go(void);
    void forget(void);
    void redeliver(uintptr_t exception);
    uint64_t given(int k);
    void *entry(int index);
    const char *loaded_library(void);
"""


@dataclass(frozen=True, slots=True)
class Library:
    """One of the libraries that are built from door.c.

    Attributes
    ----------
    soname
        Its file name and SONAME.
    room
        The package that it lies in, below cumulticast.
    macros
        What to define for it (door.h).
    """

    soname: str
    room: str
    macros: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """Where the sources of its room lie."""
        return HERE.parent / self.room


LIBCUDA = Library("libcuda.so.1", "libcuda")


def extension(library: Library) -> FFI:
    """Describe the extension module that puts Python behind a library."""
    builder = FFI()
    builder.cdef(CDEF)
    headers = ("dlfcn.h", "link.h", "string.h", "stdint.h")
    lines = ["#define _GNU_SOURCE", *(f"#define {name}" for name in library.macros)]
    lines += [f"#include <{header}>" for header in headers]
    lines += [(HERE / "door.h").read_text(), (HERE / "python.c").read_text()]
    builder.set_source(f"cumulticast.{library.room}._door", "\n".join(lines), py_limited_api=False)
    return builder


ffibuilder = extension(LIBCUDA)


def load_table():
    """Import table.py by its path: at build time the package cannot be imported yet."""
    spec = importlib.util.spec_from_file_location("cumulticast_call_table", HERE / "table.py")
    table = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = table
    spec.loader.exec_module(table)
    return table


DIRECTIONS = {"value": "SCALAR", "in": "IN", "out": "OUT", "inout": "INOUT"}


def c_param(param, names: list[str]) -> str:
    """One parameter as door.c's ``struct param``."""
    direction = "TEXT" if param.kind == "cstr" else DIRECTIONS[param.direction]
    width, size = (0, param.size) if param.kind == "bytes" else (param.size, 0)
    count = names.index(param.count) if param.count else -1
    if direction == "IN" and not size:  # an input passed by its address
        width, size = 0, width
    return f"{{ {direction}, {width}, {int(param.kind == 'i32')}, {int(param.optional)}, {count}, {size} }}"


def entry_code(entry) -> tuple[str, str]:
    """The row and the exported function of one entry."""
    params = entry.params
    names = [param.name for param in params]
    described = ", ".join(c_param(param, names) for param in params) or "{ 0 }"
    row = f'    {{ "{entry.symbol}", {len(params)}, {{ {described} }} }},'
    arguments = ", ".join(f"uint64_t a{k}" for k in range(len(params))) or "void"
    words = ", ".join(f"a{k}" for k in range(len(params))) or "0"
    function = (
        f"EXPORT int {entry.symbol}({arguments})\n"
        f"{{ const uint64_t a[] = {{ {words} }}; return enter(ENTRY_{entry.symbol}, a); }}"
    )
    return row, function


def entries_inc(entries) -> str:
    """The generated part of door.c. Arguments are words: integers and pointers travel alike in both ABIs."""
    rows, functions = zip(*map(entry_code, entries), strict=True)
    names = ",\n".join(f"    ENTRY_{e.symbol}" for e in entries)
    addresses = ",\n".join(f"    (void *){e.symbol}" for e in entries)
    return "\n".join(
        [
            f"enum {{\n{names},\n    ENTRY_COUNT\n}};",
            "static const struct entry entries[] = {",
            *rows,
            "};",
            "static int enter(int index, const uint64_t *args);",
            *functions,
            f"static void *const addresses[] = {{\n{addresses}\n}};",
            "",
        ]
    )


def libpython() -> str:
    """The shared library that a C program's driver starts Python from."""
    name = sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY") or ""
    path = os.path.join(sysconfig.get_config_var("LIBDIR") or "", name)
    soname = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    return path if ".so" in name and os.path.exists(path) else soname


def build_libcuda(directory: str | Path, version: str) -> Path:
    """Compile libcuda.so.1 into ``directory`` and answer its path."""
    return build_library(LIBCUDA, entries_inc(list(load_table().by_symbol().values())), directory, version)


def build_library(library: Library, entries: str, directory: str | Path, version: str) -> Path:
    """Compile a library with the generated code ``entries`` into ``directory`` and answer its path."""
    out = Path(directory) / library.soname
    out.parent.mkdir(parents=True, exist_ok=True)
    generated = library.place / "entries.inc"
    generated.write_text(entries)
    compiler = shlex.split(os.environ.get("CC") or "gcc")
    macros = {
        "DOOR_PYTHON_VERSION": f"{sys.version_info.major}.{sys.version_info.minor}",
        "DOOR_PYTHON_EXECUTABLE": sys.executable,
        "DOOR_LIBPYTHON": libpython(),
        "DOOR_VERSION": version,
        "DOOR_ENTRIES": str(generated),
    }
    command = [
        *compiler,
        *("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"),
        *("-Wno-unused-parameter", f"-Wl,-soname,{library.soname}", "-Wl,-z,defs"),
        *(f'-D{name}="{value}"' for name, value in macros.items()),
        *(f"-D{name}" for name in library.macros),
        f"-I{sysconfig.get_paths()['include']}",
        *("-o", str(out), str(HERE / "door.c"), "-ldl", "-lpthread"),
    ]
    subprocess.run(command, check=True)
    return out
