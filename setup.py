"""Build the compiled parts: libcuda.so.1, the module that puts Python behind it, and the simulator's arithmetic."""

import importlib.util
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent


def load_builder(path: str):
    """Import one of the package's build files, which cannot be imported as a part of it yet."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class build_with_libcuda(build_ext):  # noqa: N801 (setuptools names its commands so)
    """build_ext, and the one library that is no extension module."""

    def run(self):
        super().run()
        door = load_builder("src/cumulticast/libcuda/build_door.py")
        package = "src/cumulticast" if self.inplace or self.editable_mode else f"{self.build_lib}/cumulticast"
        door.build_libcuda(ROOT / package / "libcuda", self.distribution.get_version())


setup(
    cffi_modules=[
        "src/cumulticast/libcuda/build_door.py:ffibuilder",
        "src/cumulticast/sim/native/build_native.py:ffibuilder",
    ],
    cmdclass={"build_ext": build_with_libcuda},
)
