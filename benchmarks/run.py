"""Run all benchmarks, show them as a table, write benchmarks/results.json. Exit 1 when a bound does not hold."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHES = (
    "bench_import",
    "bench_door",
    "bench_vmm",
    "bench_multimem",
    "bench_kernels",
    "bench_ranks",
    "bench_explain",
    "bench_plan",
    "bench_team",
    "bench_collectives",
)


def main() -> int:
    """Run them one after the other: they share the processors."""
    sys.path.insert(0, str(HERE))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # ranks start as a user's do: from compiled files
    results = [result for name in BENCHES for result in importlib.import_module(name).run()]
    (HERE / "results.json").write_text(json.dumps({"schema": 1, "results": results}, indent=1) + "\n")
    for result in results:
        bound = result["bound"] or ""
        bound = bound if isinstance(bound, str) else f">= {bound}"
        mark = "" if not bound else "holds" if result["holds"] else "DOES NOT HOLD"
        print(f"{result['name']:<62} {result['value']:>10.3g} {result['unit']:<5} {bound:<8} {mark}")
    return 0 if all(result["holds"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
