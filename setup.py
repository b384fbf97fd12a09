"""Build the compiled parts: the two libraries, the modules that put Python behind them, and the arithmetic."""

import importlib.util
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent


def load_builder(path: str):
    """Import one of the package's build files, which cannot be imported as a part of it yet."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class build_with_libraries(build_ext):  # noqa: N801 (setuptools names its commands so)
    """build_ext, and the libraries that are no extension modules."""

    def run(self):
        super().run()
        package = "src/cumulticast" if self.inplace or self.editable_mode else f"{self.build_lib}/cumulticast"
        for room in ("libcuda", "libnvml"):
            door = load_builder(f"src/cumulticast/{room}/build_door.py")
            getattr(door, f"build_{room}")(ROOT / package / room, self.distribution.get_version())


setup(
    cffi_modules=[
        "src/cumulticast/libcuda/build_door.py:ffibuilder",
        "src/cumulticast/libnvml/build_door.py:ffibuilder",
        "src/cumulticast/sim/native/build_native.py:ffibuilder",
        "src/cumulticast/ptx/native/build_runtime.py:ffibuilder",
        "src/cumulticast/team/native/build_dlpack.py:ffibuilder",
    ],
    cmdclass={"build_ext": build_with_libraries},
)
