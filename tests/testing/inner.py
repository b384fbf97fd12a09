"""Run tests in a pytest of their own and read how each of them ended."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class Ended:
    """How one test ended: passed, failed or error; and all that was said about it."""

    how: str
    text: str


@dataclass(frozen=True)
class Inner:
    """A run: its exit code, what it printed, and its tests by name."""

    code: int
    printed: str
    tests: dict[str, Ended]


def run_inner(*words: str | Path, directory: Path) -> Inner:
    """Run pytest with these words; warnings are errors."""
    results = directory / "results.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", f"--junitxml={results}"]
    command += ["-o", "junit_logging=all"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CUMULTICAST_"))}
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=100, cwd=directory, env=env)
    cases = ElementTree.parse(results).iter("testcase") if results.exists() else ()
    return Inner(done.returncode, done.stdout + done.stderr, {case.attrib["name"]: _ended(case) for case in cases})


def _ended(case: ElementTree.Element) -> Ended:
    troubles = [child for child in case if child.tag in ("failure", "error")]
    how = {"failure": "failed", "error": "error"}[troubles[0].tag] if troubles else "passed"
    text = "\n".join(child.text or child.get("message", "") for child in case)
    return Ended(how, text)
