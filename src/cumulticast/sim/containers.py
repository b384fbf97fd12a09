"""From an image that a program hands over, whatever its form, to the PTX in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cumulticast.rules import broken, modules
from cumulticast.sim import cubins, fatbin, raw
from cumulticast.sim.images import Text
from cumulticast.sim.process import Process

PAGE = 4096
Reader = Callable[[int, int], bytes]  # offset, size → bytes


def texts_at(process: Process, name: str, address: int, sm: int, size: int | None = None) -> list[Text]:
    """Read the PTX of an image in memory, for a device of architecture ``sm``.

    Raises
    ------
    Refused
        1: no pointer. 200: nothing that a driver knows. 209: no PTX in it for this device.
    """
    head = raw.get(process, name, address, 4)
    if int.from_bytes(head, "little") == fatbin.WRAPPER_MAGIC:
        _, _, address, _ = fatbin.WRAPPER.unpack(raw.get(process, name, address, fatbin.WRAPPER.size))
        head = raw.get(process, name, address, 4)

    def read(offset: int, count: int) -> bytes:
        return raw.get(process, name, address + offset, count)

    if is_binary(head):
        return binary(read, head, sm)
    return [Text(read(0, size).partition(b"\0")[0] if size else string_at(process, name, address))]


def texts_in(data: bytes, sm: int) -> list[Text]:
    """Read the PTX of an image that was read from a file; refuses as `texts_at` does."""

    def read(offset: int, count: int) -> bytes:
        if offset + count > len(data):
            raise broken(modules.image_recognised, f"it ends after {len(data)} bytes", False)
        return data[offset : offset + count]

    return binary(read, data[:4], sm) if is_binary(data[:4]) else [Text(data.partition(b"\0")[0])]


def texts_of_file(process: Process, path: bytes, sm: int) -> list[Text]:
    """Read the PTX of a file; 301 where it cannot be read."""
    try:
        data = Path(path.decode(errors="surrogateescape")).read_bytes()
    except (OSError, ValueError) as error:
        process.driver.judge(modules.file_found, path.decode(errors="replace"), str(error))
        raise
    return texts_in(data, sm)


def is_binary(head: bytes) -> bool:
    """Tell ELF files and fatbins from text, by their first four bytes."""
    return head == cubins.MAGIC or int.from_bytes(head, "little") == fatbin.MAGIC


def binary(read: Reader, head: bytes, sm: int) -> list[Text]:
    """Read the PTX of an ELF file or a fatbin."""
    return in_elf(read) if head == cubins.MAGIC else in_fatbin(read, sm)


def in_elf(read: Reader) -> list[Text]:
    """Read an image of cuLinkComplete; any other cubin holds SASS alone (209)."""
    head = read(0, cubins.HEADER.size)
    if cubins.machine(head) != cubins.CUDA:
        raise broken(modules.image_recognised, f"an ELF file for machine {cubins.machine(head)}, not for CUDA", False)
    texts = cubins.read(read(0, cubins.size_of(head)))
    if not texts:
        raise broken(modules.image_has_ptx, "a cubin", 0, False)
    return texts


def in_fatbin(read: Reader, sm: int) -> list[Text]:
    """Read the PTX of a fatbin that fits the device best."""
    try:
        found = list(fatbin.entries(read(0, fatbin.size_of(read(0, fatbin.HEADER.size)))))
    except fatbin.Damaged as error:
        raise broken(modules.image_recognised, str(error), False) from error
    chosen = fatbin.best(found, sm)
    if chosen is None:
        kinds = [f"{'PTX' if entry.kind == fatbin.PTX else 'SASS'} for sm_{entry.arch}" for entry in found]
        raise broken(modules.image_has_ptx, f"a fatbin of {', '.join(kinds) or 'nothing'}", sm, False)
    return [Text(chosen.data.partition(b"\0")[0])]


def string_at(process: Process, name: str, address: int) -> bytes:
    """Read a C string of any length, page by page: it may end right before an unmapped one."""
    pieces: list[bytes] = []
    while True:
        size = PAGE - address % PAGE
        piece, nul, _ = raw.get(process, name, address, size).partition(b"\0")
        pieces.append(piece)
        if nul:
            return b"".join(pieces)
        address += size
