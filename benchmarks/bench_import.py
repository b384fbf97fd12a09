"""What `import cumulticast` costs beyond an empty interpreter, and what it must not pull in."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def seconds(code: str) -> float:
    """Time a fresh interpreter."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def run() -> list[dict]:
    """Measure in turn."""
    pairs = [(seconds("import cumulticast"), seconds("pass")) for _ in range(15)]
    cost = statistics.median(with_it - without for with_it, without in pairs)
    code = "import cumulticast, sys; sys.exit(bool({'numpy', 'cuda'} & set(sys.modules)))"
    light = subprocess.run([sys.executable, "-c", code]).returncode == 0
    return [
        {"name": "import cumulticast", "value": cost * 1e3, "unit": "ms", "bound": "< 50", "holds": cost < 0.05},
        {"name": "import without numpy and cuda", "value": float(light), "unit": "", "bound": "1", "holds": light},
    ]
