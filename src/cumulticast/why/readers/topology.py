"""Which GPUs there are and what joins them: ``nvidia-smi -L``, ``topo -m``, ``topo -p2p r``, lists in logs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed

_NAME = re.compile(
    r"(?:NVIDIA|Tesla|GeForce|Quadro) (?P<name>(?:GeForce )?(?:[RG]TX )?(?:PRO )?[A-Z]{0,3}\d{1,4}\w*"
    r"(?:[ -](?:80GB|40GB|141GB|48GB|96GB|PCI[eE]|NVL|SXM\d?|HBM3e?|Ada|Generation|Ti|SUPER)\b)*)"
)
#: Boards with NVSwitch carry these; the PCIe and NVL forms of the same chips do not stand behind switches.
_SWITCHED = re.compile(r"HBM3|SXM|\bH200\b|\bH20\b|\bH800\b|\b[GB]?B[23]00\b|\bGH200\b")
_CARD = re.compile(
    r"[RG]TX|GeForce|PCI[eE]|NVL\b|\bA(?:2|10G?|16|30|40|6000)\b|\bL(?:4|20|40S?)\b|\bT4\b|\bV100\b|Quadro|\bA\d000\b"
)
_ROW = re.compile(r"^\s*GPU(?P<row>\d+)\s+(?P<cells>\S.*)$")
_PCIE = {"SYS", "PHB", "NODE", "PXB", "PIX"}
_NO_PEER = {"CNS", "GNS", "TNS", "NS"}


def _name(line: Line) -> Iterator[Observation]:
    found = _NAME.search(line.text)
    if found:
        name = found["name"]
        kind = "card" if _CARD.search(name) else "switched" if _SWITCHED.search(name) else None
        if kind:
            yield observed(line, "gpu-" + kind, name=name)


def _matrix(line: Line) -> Iterator[Observation]:
    """Read a row of a topology or peer-to-peer matrix; columns that are no GPUs are left out."""
    found = _ROW.match(line.text)
    if found is None:
        return
    cells = found["cells"].split()
    row = int(found["row"])
    width = _width(line, row)
    links = {cell for cell in cells[:width] if cell != "X"}
    if links & _NO_PEER:
        yield observed(line, "p2p-missing")
    elif "OK" not in links and "X" in cells:
        if links & _PCIE:
            yield observed(line, "topo-pcie", links=" ".join(sorted(links)))
        elif links and all(re.fullmatch(r"NV\d+", cell) for cell in links):
            switched = width >= 4 or max(int(cell[2:] or 0) for cell in links) >= 18
            yield observed(line, "topo-nvlink" if switched else "topo-bridge", gpus=str(width))


def _width(line: Line, row: int) -> int:
    """Count the GPU columns by the header above, or by the rows if it is cut off."""
    for earlier in line.preceding(row + 3):
        columns = re.findall(r"\bGPU\d+\b", earlier.text)
        if len(columns) > 1 and not _ROW.match(earlier.text):
            return len(columns)
    rows = row + 1
    for later in line.following(16):
        if not _ROW.match(later.text):
            break
        rows += 1
    return rows


SIGNS = (
    Sign(("nvidia ", "geforce", "quadro", "tesla "), _name),
    Sign(("gpu0", "gpu1"), _matrix),
)
