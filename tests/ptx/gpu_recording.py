"""Instructions as a real GPU carried them out: read, and (once, after a recording) written.

    python tests/ptx/gpu_recording.py QUESTIONS.npz ANSWERS.npz FAULTS.json

joins what tests/recording/instruction_questions.py asked and what instruction_probe.py brought back. The file is an
xz-compressed npz: ``about`` (GPU, driver, date), ``questions`` (JSON), inputs ``group/register``, and for each group
its answers: instructions by inputs, 64 bits each. What fault_probe.py brought back lies beside it, as JSON.
"""

from __future__ import annotations

import io
import json
import lzma
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
PLACE = DATA / "h200_instructions.npz.xz"
FAULTS = DATA / "h200_faults.json"


@dataclass(frozen=True)
class Asked:
    """One group: what the registers hold, and what each instruction answered."""

    types: dict[str, str]
    inputs: dict[str, np.ndarray]
    lines: dict[str, str]
    answers: dict[str, np.ndarray]


@cache
def recording() -> dict[str, Asked]:
    """Read every group."""
    with np.load(io.BytesIO(lzma.decompress(PLACE.read_bytes()))) as found:
        groups = json.loads(str(found["questions"]))["groups"]
        return {name: _group(name, text, found) for name, text in groups.items()}


def _group(name: str, text: dict, found: np.lib.npyio.NpzFile) -> Asked:
    inputs = {register: found[f"{name}/{register}"] for register in text["types"]}
    answers = dict(zip(text["lines"], found[name], strict=True))
    return Asked(text["types"], inputs, text["lines"], answers)


def join(questions: str, answers: str, faults: str) -> None:
    """Put a recording in its place."""
    held = io.BytesIO()
    with np.load(questions) as asked, np.load(answers) as answered:
        about = json.loads(str(answered["about"]))
        np.savez(held, **{**{name: asked[name] for name in asked.files}, **{n: answered[n] for n in answered.files}})
    PLACE.write_bytes(lzma.compress(held.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    kernels = {name: _ending(found) for name, found in json.loads(Path(faults).read_text()).items()}
    FAULTS.write_text(json.dumps({"about": about, "kernels": kernels}, indent=1) + "\n")


def _ending(found: dict) -> dict:
    """Keep of a kernel's end the text, the statuses by step, and the first line that was printed."""
    steps = found["steps"] if isinstance(found["steps"], str) else dict(found["steps"])
    return {"ptx": found["ptx"], "steps": steps, "printed": found.get("printed", "").strip().split("\n")[-1]}


if __name__ == "__main__":
    join(*sys.argv[1:])
