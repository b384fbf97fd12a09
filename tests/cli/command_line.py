"""Run `cumulticast` and other programs in processes of their own, within a time limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

LIMIT = 60.0


def clean_environment(**extra: str) -> dict[str, str]:
    """Answer the environment without what a surrounding `cumulticast run` or a terminal puts there."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CUMULTICAST_", "CUDA_LOG", "PYTHON"))}
    for name in ("LD_LIBRARY_PATH", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        kept.pop(name, None)
    return {**kept, **extra}


def program(*command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=dict(env) if env is not None else clean_environment(),
        check=False,
    )


def cumulticast(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return program(sys.executable, "-m", "cumulticast.cli", *words, env=env)


def answered_json(*words: str, code: int = 0) -> Any:
    done = cumulticast(*words)
    assert (done.returncode, done.stderr) == (code, ""), done.stderr
    return json.loads(done.stdout)
