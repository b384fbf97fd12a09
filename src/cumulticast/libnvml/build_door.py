"""Build libnvidia-ml.so.1 and its extension module from the sources of libcuda's door (../libcuda)."""

import csv
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent


def load(path: Path, name: str):
    """Import a file by its path: at build time the package cannot be imported yet."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


door = load(HERE.parent / "libcuda" / "build_door.py", "cumulticast_build_door")
LIBNVML = door.Library("libnvidia-ml.so.1", "libnvml", ("DOOR_NVML",))
ffibuilder = door.extension(LIBNVML)


def error_string() -> str:
    """Write nvmlErrorString, the one entry that answers no status: it works before nvmlInit and without Python."""
    with (HERE / "statuses.tsv").open() as lines:
        rows = [row for row in csv.reader(lines, delimiter="\t") if row and not row[0].startswith("#")]
    cases = "\n".join(f'    case {code}: return "{text}";' for code, _, text in rows)
    return (
        f"EXPORT const char *nvmlErrorString(int result)\n{{\n    switch (result) {{\n{cases}\n"
        f'    default: return "Unknown Error";\n    }}\n}}\n'
    )


def build_libnvml(directory: str | Path, version: str) -> Path:
    """Compile libnvidia-ml.so.1 into ``directory`` and answer its path."""
    table = door.load_table()
    entries = list(table.unversioned((HERE / "calls.txt").read_text(encoding="utf-8")))
    return door.build_library(LIBNVML, door.entries_inc(entries) + error_string(), directory, version)
