"""Build `cumulticast.team._dlpack`: setup.py names `ffibuilder`."""

import os
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
FLAGS = ["-O2", "-std=gnu11", "-fvisibility=hidden", "-Wall", "-Wextra"]


def declarations() -> str:
    """Return the plain declarations of `dlpack.h`, the one place that states them."""
    header = (HERE / "dlpack.h").read_text(encoding="utf-8")
    return header.split("// cffi\n")[1].split("// end\n")[0]


def builder(here: str) -> FFI:
    """Return the cffi builder for the sources in `here`."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(
        "cumulticast.team._dlpack",
        '#include "dlpack.h"',
        sources=[f"{here}/dlpack.c"],
        include_dirs=[here],
        depends=[f"{here}/dlpack.h"],
        extra_compile_args=FLAGS,
    )
    return ffi


# setuptools wants paths relative to the working directory.
ffibuilder = builder(os.path.relpath(HERE))
