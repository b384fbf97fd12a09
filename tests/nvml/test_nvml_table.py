"""The call table of NVML against NVIDIA's header."""

from __future__ import annotations

import csv
import re
import subprocess
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from cumulticast.libnvml.calls import load_all
from cumulticast.libnvml.entry import HANDLERS, entries
from cumulticast.libnvml.status import Status

load_all()
STATUSES = Path(__file__).parents[2] / "src/cumulticast/libnvml/statuses.tsv"
DECLARED = re.compile(r"^\s*(?:DEPRECATED\([^)]*\)\s*)?(.+?)\s*DECLDIR\s+(nvml\w+)\s*\(([^;]*?)\)\s*;", re.S | re.M)
PARAMETER = re.compile(r"(.*?)(\w+)$", re.S)


@pytest.fixture(scope="module")
def header() -> Path:
    if find_spec("nvidia") is None:
        pytest.skip("the wheel nvidia-nvml-dev is not installed")
    found = [file for file in files("nvidia-nvml-dev") or () if file.name == "nvml.h"]
    return Path(str(found[0].locate()))


@pytest.fixture(scope="module")
def declared(header: Path) -> dict[str, list[tuple[str, str]]]:
    """Answer symbol → its parameters as (type, name); of nvmlErrorString nothing, which answers no status."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
    found: dict[str, list[tuple[str, str]]] = {}
    for answer, symbol, params in DECLARED.findall(text):
        if answer.split()[-1] == "nvmlReturn_t":
            words = [" ".join(param.split()) for param in params.split(",") if param.split() != ["void"]]
            found[symbol] = [(m[1].strip(), m[2]) for word in words if (m := PARAMETER.match(word))]
    return found


@pytest.fixture(scope="module")
def sizes(header: Path, declared, tmp_path_factory) -> dict[str, int]:
    """Answer the size of what every type stands for, or points to, as the C compiler sees it."""
    types = sorted({kind.replace("const ", "").rstrip(" *") for params in declared.values() for kind, _ in params})
    lines = "".join(f'printf("{kind}|%zu\\n", sizeof({kind}));' for kind in types)
    where = tmp_path_factory.mktemp("sizes")
    (where / "sizes.c").write_text(f"#include <nvml.h>\n#include <stdio.h>\nint main(void) {{ {lines} return 0; }}\n")
    subprocess.run(["gcc", "-w", f"-I{header.parent}", "sizes.c", "-o", "sizes"], cwd=where, check=True)
    shown = subprocess.run([where / "sizes"], capture_output=True, text=True, check=True).stdout
    return {kind: int(size) for kind, size in (line.split("|") for line in shown.splitlines())}


def test_every_entry_of_the_header_is_exported(declared):
    assert {entry.symbol for entry in entries()} == declared.keys()
    assert len(entries()) == 435


def test_answered_entries_are_described_and_only_they(declared):
    described = {entry.symbol for entry in entries() if not entry.opaque and declared[entry.symbol]}
    assert described - HANDLERS.keys() == {"nvmlDeviceGetAttributes_v2"}  # of MIG devices, and there are none
    assert not {symbol for symbol in HANDLERS if declared[symbol]} - described


def test_parameters_have_the_names_sizes_and_directions_of_the_header(declared, sizes):
    for entry in entries():
        if entry.opaque:
            continue
        theirs = declared[entry.symbol]
        assert [param.name for param in entry.params] == [name for _, name in theirs], entry.symbol
        for ours, (kind, _) in zip(entry.params, theirs, strict=True):
            assert ("*" in kind) == (ours.direction != "value"), (entry.symbol, ours)
            assert ("const" in kind) == (ours.direction == "in"), (entry.symbol, ours)
            if ours.kind != "cstr":
                assert ours.size == sizes[kind.replace("const ", "").rstrip(" *")], (entry.symbol, ours)


def test_statuses_are_those_of_the_header(header: Path):
    names = dict(re.findall(r"\b(NVML_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", header.read_text()))
    with STATUSES.open() as lines:
        rows = [row for row in csv.reader(lines, delimiter="\t") if not row[0].startswith("#")]
    assert {name: code for code, name, _ in rows} == names
    for status in Status:
        name = "NVML_SUCCESS" if status == 0 else f"NVML_ERROR_{status.name}"
        assert names[name] == str(int(status))
