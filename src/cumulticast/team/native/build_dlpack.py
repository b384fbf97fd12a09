"""Build `cumulticast.team._dlpack`: setup.py names `ffibuilder`; run as a script, this builds in place."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
ROOM = HERE.parent
# As setuptools calls it (cffi keeps to the stable ABI), so that neither build hides the other.
NAME = "_dlpack.abi3.so"

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


# setuptools wants paths relative to the working directory; absolute ones send objects to the scratch place.
ffibuilder = builder(os.path.relpath(HERE))


def main() -> int:
    """Build the extension and place it beside the package `native`."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(builder(str(HERE)).compile(tmpdir=scratch))
        # A running process may have the old one mapped: replace the name, never the contents.
        partial = ROOM / f".{NAME}.{os.getpid()}"
        shutil.copy(built, partial)
        partial.replace(ROOM / NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
