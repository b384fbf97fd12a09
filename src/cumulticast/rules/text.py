"""Words that rules share: sizes, addresses, multiples, and the Python name of a call."""

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

# Families of names that `_v2` keeps together although the C name has capitals or digits inside.
_JOINED = (
    ("HtoD", "Htod"), ("DtoH", "Dtoh"), ("DtoD", "Dtod"), ("AtoA", "Atoa"), ("AtoD", "Atod"),
    ("AtoH", "Atoh"), ("DtoA", "Dtoa"), ("HtoA", "Htoa"), ("L2Cache", "L2cache"),
    ("PCIBus", "PciBus"), ("P2PAtt", "P2pAtt"), ("P2PAto", "P2pAto"), ("DynamicSMem", "DynamicSmem"),
)  # fmt: skip


def size_text(size: int) -> str:
    """Say a number of bytes in the largest binary unit: ``2 MiB``, ``about 3.1 MiB``, ``100 bytes``."""
    for unit, name in _UNITS:
        if size >= unit:
            exact = size % unit == 0
            return f"{size // unit} {name}" if exact else f"about {size / unit:.1f} {name}"
    return "1 byte" if size == 1 else f"{size} bytes"


def bytes_text(size: int) -> str:
    """Say a number of bytes exactly and readably: ``2097152 (2 MiB)``."""
    return f"{size} ({size_text(size)})" if size >= 1 << 10 else str(size)


def nearest_multiples(value: int, step: int, least: int = 0, shown: str = "d") -> str:
    """Name the multiples of ``step`` on both sides of ``value``: ``2097152 or 4194304``.

    Parameters
    ----------
    value, step
        The offending value and the step it should be a multiple of.
    least
        The smallest value that would be legal (1 for sizes, where 0 is no answer).
    shown
        How to print: ``d`` for sizes and offsets, ``#x`` for addresses.
    """
    below = value - value % step
    legal = [below, below + step] if below >= least else [below + step]
    return " or ".join(format(multiple, shown) for multiple in legal)


def not_multiple(name: str, value: int, step: int, least: int = 0, shown: str = "d") -> str | None:
    """Return the message for a value that is not a multiple of ``step``, or None when it is one."""
    if value % step == 0:
        return None
    nearest = nearest_multiples(value, step, least, shown)
    return f"{name} {format(value, shown)} is not a multiple of {bytes_text(step)}; nearest {nearest}"


def beyond(what: str, start: int, size: int, limit: int, whole: str) -> str | None:
    """Return the message for a piece ``[start, start + size)`` that ends past ``limit``, or None.

    Parameters
    ----------
    what
        The name of the offset, such as ``mc_offset``.
    whole
        What the limit is the size of, such as ``the multicast object``.
    """
    end = start + size
    if end <= limit:
        return None
    room = f"at most {bytes_text(limit - start)} from there" if start < limit else "nothing lies there"
    return f"{what} {start} + size {size} = {end} is beyond {whole} of {bytes_text(limit)}; {room}"


def overlap(start: int, size: int, other_start: int, other_size: int) -> bool:
    """Whether two pieces have a byte in common."""
    return start < other_start + other_size and other_start < start + size


def splits(ptr: int, size: int, mapped_ptr: int, mapped_size: int) -> str | None:
    """Return the message for a range that covers a mapping in part, or None when in whole or not at all."""
    whole = ptr <= mapped_ptr and mapped_ptr + mapped_size <= ptr + size
    if whole or not overlap(ptr, size, mapped_ptr, mapped_size):
        return None
    mapping = f"the mapping at {mapped_ptr:#x} of {bytes_text(mapped_size)}"
    return f"[{ptr:#x}, {ptr + size:#x}) covers only a part of {mapping}"


def no_device(dev: int, count: int) -> str | None:
    """Return the message for an ordinal outside of 0 to count - 1, or None."""
    if 0 <= dev < count:
        return None
    return f"device {dev} does not exist; this process sees {count} (0 to {count - 1})"


def listed(values: tuple[int, ...]) -> str:
    """Say a tuple of numbers: ``none``, ``3``, ``0, 1 and 5``."""
    words = [str(value) for value in values]
    if not words:
        return "none"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def python_name(call: str) -> str:
    """Turn a C name into the name ``cuda.bindings._v2.driver`` gives it.

    ``cuMulticastBindMem_v2`` becomes ``multicast_bind_mem_v2``, ``cuMemcpyHtoD_v2`` ``memcpy_htod_v2``.
    """
    stem, mark, version = call.removeprefix("cu").partition("_v")
    for written, joined in _JOINED:
        stem = stem.replace(written, joined)
    return _snake(stem) + mark + version


def _snake(stem: str) -> str:
    """Put an underscore before each capital that begins a word, and before 2D and 3D."""
    words: list[str] = []
    for position, letter in enumerate(stem):
        before, after = stem[position - 1 : position], stem[position + 1 : position + 2]
        dimension = letter in "23" and after == "D" and before.islower()
        starts_word = before.islower() or (after.islower() and (before.isupper() or before.isdigit()))
        capital = letter.isupper() and starts_word
        words.append("_" + letter if dimension or capital else letter)
    return "".join(words).lower()
