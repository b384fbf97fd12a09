"""Read what is to be planned: JSON, CSV with a header, or lines of ``name size [devices]``."""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from cumulticast.cli.answers import UsageError
from cumulticast.cli.sizes import parse_size
from cumulticast.layout import Request
from cumulticast.layout.request import coerce
from cumulticast.layout.sizes import free_name, nearest_name

COLUMNS = (
    "name", "size", "shape", "dtype", "devices", "alignment", "separate", "memory", "offset", "memory_size",
)  # fmt: skip
HOW = "a line is: name size [devices], as in `grad 2MiB 0-7`"
_YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read(text: str, source: str) -> dict[str, tuple[str, Request]]:
    """Return the requests by name, each with the place it came from.

    Parameters
    ----------
    source
        The name of the file, for errors.

    Raises
    ------
    UsageError
        Something in it is no request; the text has the place, the value, and what would do.
    """
    found: dict[str, tuple[str, Request]] = {}
    for place, fields in _records(text, source):
        try:
            request = coerce(_fields(fields))
        except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
            raise UsageError(f"{place}: {error}") from None
        if request.name in found:
            first = found[request.name][0].rpartition(":")[2]
            raise UsageError(
                f"{place}: name {request.name!r} is taken ({first}); nearest {free_name(request.name, found)!r}"
            )
        found[request.name] = place, request
    if not found:
        raise UsageError(f"{source}: no requests; {HOW}")
    return found


def _records(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    head = text.lstrip()[:1]
    if head in ("[", "{"):
        return _from_json(text, source)
    first = next(_lines(text), (0, ""))[1]
    return _from_csv(text, source) if _is_header(first) else _from_lines(text, source)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if words:
            yield number, words


def _is_header(line: str) -> bool:
    return "," in line and "name" in [word.strip().lower() for word in line.split(",")]


def _from_json(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{source}:line {error.lineno}: no JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or that many brackets
        raise UsageError(f"{source}: no JSON that can be read: {error}") from None
    if isinstance(document, Mapping):
        document = cast("Mapping[str, Any]", document).get("requests", document)
    if not isinstance(document, list):
        raise UsageError(f'{source}: no list of requests; write [{{"name": "grad", "size": "2MiB"}}]')
    for number, item in enumerate(cast("list[Any]", document)):
        if not isinstance(item, Mapping):
            raise UsageError(f'{source}:requests[{number}]: {item!r} is no object; write {{"name": ..., "size": ...}}')
        yield f"{source}:requests[{number}]", cast("Mapping[str, Any]", item)


def _from_csv(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    lines = list(_lines(text))
    names = [name.strip().lower() for name in lines[0][1].split(",")]
    for number, line in lines[1:]:
        try:
            (cells,) = csv.reader([line], skipinitialspace=True)
        except csv.Error as error:
            raise UsageError(f"{source}:line {number}: {error}") from None
        if len(cells) > len(names):
            raise UsageError(f"{source}:line {number}: {len(cells)} cells for {len(names)} columns")
        yield f"{source}:line {number}", {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell}


def _from_lines(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in _lines(text):
        words = line.split(None, 2)
        if len(words) < 2:
            raise UsageError(f"{source}:line {number}: {line!r} has no size; {HOW}")
        yield f"{source}:line {number}", dict(zip(("name", "size", "devices"), words, strict=False))


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what people write into the fields of a request."""
    made: dict[str, Any] = {}
    existing: dict[str, Any] = {}
    for name, value in given.items():
        match name:
            case "size" | "nbytes":
                made["nbytes"] = _size(value)
            case "devices" | "team":
                made["team"] = devices(value)
            case "alignment":
                made["alignment"] = _size(value)
            case "shape":
                made["shape"] = _shape(value)
            case "separate":
                made["separate"] = _yes(value)
            case "memory":
                existing["memory"] = value
            case "offset":
                existing["offset"] = _offsets(value)
            case "memory_size":
                existing["size"] = _size(value)
            case "name" | "dtype":
                made[name] = value
            case _:
                raise ValueError(f"unknown field {name!r}; nearest {nearest_name(name, COLUMNS)!r}")
    return {**made, "existing": existing} if existing else made


def _size(value: Any) -> Any:
    return parse_size(value) if isinstance(value, str) else value


def _offsets(value: Any) -> Any:
    if isinstance(value, str):
        value = [parse_size(word) for word in value.replace(",", " ").split()]
    if not isinstance(value, list):
        return value
    offsets = [_size(one) for one in cast("list[Any]", value)]
    return offsets[0] if len(offsets) == 1 else offsets


def _shape(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"\d+([x×,\s]+\d+)*", value.strip()):
        raise ValueError(f"shape {value!r} is none; write 512x700")
    return [int(side) for side in re.split(r"[x×,\s]+", value.strip())]


def _yes(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in _YES_NO:
        return _YES_NO[str(value).lower()]
    raise ValueError(f"separate {value!r} is neither yes nor no")


def devices(value: Any) -> Any:
    """Read a team written as ``0-3,6``, ``0 1 2``, or ``all``; anything but text is left as it is.

    Raises
    ------
    ValueError
        It is none.
    """
    if not isinstance(value, str):
        return value
    if value.strip().lower() in ("all", ""):
        return None
    found: list[int] = []
    for word in value.replace(",", " ").split():
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", word)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"devices {word!r} are none; write 0-3,6 or all")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(found)
