"""The zygote of these tests: what a team needs is imported before ranks are forked. See tests/processes/zygote.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "processes"), str(HERE.parent / "conformance")]

import zygote  # noqa: E402

for module in ("object_steps", "matrix_part", "cumulticast.libcuda.serve"):
    importlib.import_module(module)

if __name__ == "__main__":
    zygote.main(int(sys.argv[1]))
