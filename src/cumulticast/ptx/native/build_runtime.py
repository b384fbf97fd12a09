"""Build `cumulticast.ptx._runtime`: setup.py names `ffibuilder`; run as a script, this builds in place."""

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
ROOM = HERE.parent
# As setuptools calls it (cffi keeps to the stable ABI), so that neither build hides the other.
NAME = "_runtime.abi3.so"

# Results are compared bit by bit: nothing may be contracted or reordered.
FLAGS = [
    "-O3",
    "-std=gnu11",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wextra",
]


def declarations() -> str:
    """Return the plain declarations of the headers, the one place that states them, and the shared structures."""
    parts = [load_layout().structures()]
    for path in sorted(HERE.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        if "// cffi\n" in text:
            parts.append(text.split("// cffi\n")[1].split("// end\n")[0])
    return "\n".join(parts)


def load_layout():
    """Import layout.py, which cannot be imported as a part of the package yet."""
    spec = importlib.util.spec_from_file_location("layout", ROOM / "layout.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write_layout() -> None:
    """Write layout.h of layout.py."""
    text = load_layout().header()
    target = HERE / "layout.h"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def builder(here: str) -> FFI:
    """Return the cffi builder for the sources in `here`."""
    write_layout()
    headers = [path for path in sorted(HERE.glob("*.h")) if "// cffi\n" in path.read_text(encoding="utf-8")]
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(
        "cumulticast.ptx._runtime",
        "\n".join(f'#include "{path.name}"' for path in headers),
        sources=sorted(f"{here}/{path.name}" for path in HERE.glob("*.c")),
        include_dirs=[here],
        depends=sorted(f"{here}/{path.name}" for path in HERE.glob("*.h")),
        libraries=["m", "pthread"],
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
        shutil.copy2(built, ROOM / f"{NAME}.new")
        (ROOM / f"{NAME}.new").replace(ROOM / NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
