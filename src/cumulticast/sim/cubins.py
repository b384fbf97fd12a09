"""What cuLinkComplete hands out: an ELF file for CUDA (machine 190), as a cubin is, with the joined PTX in it.

Nothing else reads it than this driver; but programs keep such images in files, hand them to cuModuleLoadData, and look
at the first bytes. A real cubin holds machine code of a GPU (SASS), which cannot run here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from cumulticast.sim.images import Text

MAGIC = b"\x7fELF"
CUDA = 190  # EM_CUDA
SECTION = ".cumulticast.ptx"
STRINGS = ".shstrtab"

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_IDENT = MAGIC + bytes([2, 1, 1, 51, 7]) + bytes(7)  # 64 bits, little-endian, as cubins have it
_EXECUTABLE, _BITS, _STRING_TABLE = 2, 1, 3


def write(texts: Sequence[Text]) -> bytes:
    """Make an image of texts."""
    names = ["", STRINGS, *(f"{SECTION}.{text.name}" for text in texts)]
    table = b"".join(name.encode() + b"\0" for name in names)
    contents = [table, *(text.data for text in texts)]
    offset, sections = HEADER.size, [bytes(_SECTION.size)]
    for name, kind, data in zip(names[1:], [_STRING_TABLE, *[_BITS] * len(texts)], contents, strict=True):
        at = table.index(b"\0" + name.encode() + b"\0") + 1
        sections.append(_SECTION.pack(at, kind, 0, 0, offset, len(data), 0, 0, 1, 0))
        offset += len(data)
    head = HEADER.pack(
        _IDENT, _EXECUTABLE, CUDA, 1, 0, 0, offset, 0, HEADER.size, 0, 0, _SECTION.size, len(sections), 1
    )
    return head + b"".join(contents) + b"".join(sections)


def machine(head: bytes) -> int:
    """Answer the ELF machine, from the header."""
    return HEADER.unpack(head)[2]


def size_of(head: bytes) -> int:
    """Answer how long an ELF file is whose section headers stand last, as those of `write` and of cubins do."""
    _, _, _, _, _, _, sections, _, _, _, _, length, count, _ = HEADER.unpack(head)
    return sections + length * count


def read(data: bytes) -> list[Text]:
    """Find the texts that `write` put in; none in any other ELF file."""
    if len(data) < HEADER.size:  # as long as its own header says it is
        return []
    _, _, _, _, _, _, at, _, _, _, _, length, count, strings = HEADER.unpack_from(data)
    if length != _SECTION.size or at + length * count > len(data) or strings >= count:
        return []
    found = list(_SECTION.iter_unpack(data[at : at + length * count]))
    names = data[found[strings][4] :]
    texts: list[Text] = []
    for name, _, _, _, offset, size, *_ in found:
        words = names[name : names.find(b"\0", name)].decode(errors="replace")
        if words.startswith(f"{SECTION}."):
            texts.append(Text(data[offset : offset + size], words.removeprefix(f"{SECTION}.")))
    return texts
