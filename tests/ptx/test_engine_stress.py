"""The engine of streams alone, in C, under sanitizers: no access out of bounds or after free, no race, no leak."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import cumulticast.ptx.native

HERE = Path(__file__).parent
NATIVE = Path(cumulticast.ptx.native.__file__).parent
HEADER = "layout.h"  # written by the build


@pytest.mark.timeout(120)
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_engine_is_clean_under_load(sanitizer: str, tmp_path: Path) -> None:
    program = tmp_path / "stress"
    sources = [HERE / "engine_stress.c", *sorted(NATIVE.glob("engine*.c"))]
    assert (NATIVE / HEADER).exists()
    built = subprocess.run(
        [os.environ.get("CC", "gcc"), "-std=gnu11", "-g", "-O1", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all",
         f"-I{NATIVE}", "-o", program, *sources, "-lpthread"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode and ("cannot find" in built.stderr or "unsupported" in built.stderr):
        pytest.skip(f"this compiler has no sanitizer {sanitizer}")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    left, called = map(int, done.stdout.split())
    assert left == 0
    assert called > 100
