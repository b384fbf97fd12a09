"""What is asked for: arrays by name and size, each for a team of devices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from cumulticast.layout.sizes import item_size, nearest_name, nearest_power, whole

ALIGNMENT = 256  # as every CUDA allocator gives it


class RequestError(ValueError):
    """A request that cannot be: the text says why, and the nearest that can; `name` is the request's."""

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Existing:
    """Memory in which an array already lives: one allocation of this name on each device of its team.

    Attributes
    ----------
    memory
        The name of the allocations. Requests with the same name live in the same allocations.
    offset
        Where the array begins in them, in bytes: one number, or one for each device of the team, ascending.
    size
        Bytes of each allocation; None: it ends with the granule in which the last array of this name ends.
    """

    memory: str
    offset: int | tuple[int, ...] = 0
    size: int | None = None

    def __post_init__(self) -> None:
        _text("memory", self.memory)
        if isinstance(self.offset, list):
            object.__setattr__(self, "offset", tuple(cast("list[int]", self.offset)))
        for offset in self.offset if isinstance(self.offset, tuple) else (self.offset,):
            whole("offset", offset, 0)
        if self.size is not None:
            whole("memory size", self.size, 1)


@dataclass(frozen=True, slots=True)
class Request:
    """One array, with a replica on every device of its team.

    Attributes
    ----------
    name
        Unique in a plan.
    nbytes
        Bytes of one replica.
    team
        The devices, numbered over all nodes; None: all of the machine. Arrays of different teams never share an object.
    alignment
        The array begins at a multiple of this: a power of two. It says nothing about existing memory.
    separate
        The array wants an object of its own.
    existing
        Where it already lives; None: the plan makes its memory.

    Raises
    ------
    RequestError
        A value that cannot be; the text names it and the nearest one that can.
    """

    name: str
    nbytes: int
    team: tuple[int, ...] | None = None
    alignment: int = ALIGNMENT
    separate: bool = False
    existing: Existing | None = None

    def __post_init__(self) -> None:
        _text("name", self.name)
        try:
            whole("nbytes", self.nbytes, 1)
            whole("alignment", self.alignment, 1)
            if self.alignment & (self.alignment - 1):
                raise ValueError(
                    f"alignment {self.alignment} is no power of two; nearest {nearest_power(self.alignment)}"
                )
            if self.team is not None:
                object.__setattr__(self, "team", _team(self.team))
            if not isinstance(self.separate, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"separate {self.separate!r} is neither True nor False")
            if not isinstance(self.existing, Existing | None):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"existing {self.existing!r} is no Existing, nor a mapping with its fields")
        except ValueError as error:
            raise RequestError(self.name, error) from None


def coerce(item: object) -> Request:
    """Make a request of a `Request`, a mapping, or a sequence (name, size[, team]).

    A mapping has the fields of `Request`; `shape` and `dtype` (float32) may stand for `nbytes`; `existing` may be a
    mapping.

    Raises
    ------
    ValueError, TypeError
        It is none of these, or a field cannot be.
    """
    if isinstance(item, Request):
        return item
    if isinstance(item, Mapping):
        return _from_mapping(cast("Mapping[str, Any]", item))
    if isinstance(item, Sequence) and not isinstance(item, str | bytes):
        values = cast("Sequence[Any]", item)
        if len(values) in (2, 3):
            return Request(*values)
    raise TypeError(f"{item!r} is no request; one is Request, a mapping, or (name, nbytes[, team])")


FIELDS = (*(field.name for field in fields(Request)), "shape", "dtype")


def _from_mapping(item: Mapping[str, Any]) -> Request:
    values = _known(item, FIELDS, str(item.get("name", "a request")))
    name = str(values.setdefault("name", ""))
    _text("name", values["name"])
    try:
        if "shape" in values or "dtype" in values:
            values["nbytes"] = _bytes_of(values)
        if "nbytes" not in values:
            raise ValueError("neither nbytes (in files: size) nor shape is given")
        if isinstance(values.get("existing"), Mapping):
            values["existing"] = _existing(values["existing"])
    except ValueError as error:
        raise RequestError(name, error) from None
    return Request(**values)


def _bytes_of(values: dict[str, Any]) -> int:
    shape, dtype = values.pop("shape", None), values.pop("dtype", "float32")
    if "nbytes" in values or shape is None:
        raise ValueError("give nbytes (in files: size), or shape and dtype")
    sides = cast("list[Any]", [shape] if isinstance(shape, int) else _listed("shape", shape, "[512, 700]"))
    for side in sides:
        whole("a side of shape", side, 1)
    return math.prod(sides) * item_size(dtype)


def _existing(item: Mapping[str, Any]) -> Existing:
    values = _known(item, tuple(field.name for field in fields(Existing)), "existing")
    if "memory" not in values:
        raise ValueError("existing has no memory; name the allocation, as in {'memory': 'pool', 'offset': 0}")
    return Existing(**values)


def _known(item: Mapping[str, Any], names: Iterable[str], whose: str) -> dict[str, Any]:
    names = tuple(names)
    for key in item:
        if key not in names:
            raise ValueError(f"{whose}: unknown field {key!r}; nearest {nearest_name(str(key), names)!r}")
    return dict(item)


def _text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} {value!r} is no name; any text will do")


def _listed(what: str, value: object, how: str) -> list[object]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{what} {value!r} is no list; write {how}")
    return list(cast("Iterable[object]", value))


def _team(devices: object) -> tuple[int, ...]:
    listed = _listed("team", devices, "[0, 1]")
    for device in listed:
        whole("device", device, 0)
    team = tuple(sorted(cast("list[int]", listed)))
    if not team:
        raise ValueError("the team has no devices; name at least one, or leave it out for all")
    if len(set(team)) < len(team):
        raise ValueError(f"team {list(team)} names a device twice; nearest {sorted(set(team))}")
    return team
