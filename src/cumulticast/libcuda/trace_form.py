"""How the lines of one entry are written: made once for each entry, so that a call only fills it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cumulticast.libcuda.trace_values import dumps, exported, shared, shower

if TYPE_CHECKING:
    from cumulticast.libcuda.table import Entry, Param
    from cumulticast.sim.driver import Driver

#: Parameters that are handles of memory or multicast objects, and so name objects of the world (`cumulticast ps`).
HANDLES = ("handle", "mcHandle", "memHandle")
CALLS_WITH_HANDLES = frozenset({
    "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
    "cuMemRetainAllocationHandle", "cuMemGetAllocationPropertiesFromHandle", "cuMulticastCreate",
    "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindAddr", "cuMulticastUnbind",
})  # fmt: skip
EXPORT, IMPORT = "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"
NULL, UNREADABLE, UNWRITABLE = 1, 2, 3  # door.h
BAD = {UNREADABLE: "unreadable", UNWRITABLE: "unwritable"}


class Form:
    """The names of an entry's arguments and how each is shown."""

    def __init__(self, entry: Entry) -> None:
        self.symbol = entry.symbol
        self.base = entry.base
        self.params = entry.params
        self._inputs = [(f'"{p.name}": ', shower(entry, p)) for p in entry.params if p.direction != "out"]
        self._outputs = [(f'"{p.name}": ', shower(entry, p)) for p in entry.params if p.direction in ("out", "inout")]
        self._numbers = _format_of_numbers(entry)
        self.names_objects = entry.base in CALLS_WITH_HANDLES
        self._handles = _places(entry, "out", inverted=True)
        self._made = _places(entry, "out")

    def args(self, inputs: tuple[Any, ...]) -> str:
        """Write a call's inputs."""
        if self.base == IMPORT:
            handle, kind = inputs
            return f'"osHandle": {shared(kind, handle)}, "shHandleType": {kind}'
        if self._numbers is not None:
            return self._numbers % inputs
        return ", ".join([name + show(value) for (name, show), value in zip(self._inputs, inputs, strict=False)])

    def bad_args(self, given: list[int], fault: int) -> str:
        """Write the argument words of a call with a bad pointer, and what is wrong with that one."""
        kind, bad = fault & 0xFF, fault >> 8
        shown = {p.name: _word(p, word) for p, word in zip(self.params, given, strict=True)}
        shown[self.params[bad].name] = None if kind == NULL else f"{given[bad]:#x} is {BAD[kind]}"
        return dumps(shown)[1:-1]

    def out(self, inputs: tuple[Any, ...], result: Any) -> str:
        """Write a call's outputs."""
        if self.base == EXPORT:
            return f'"shareableHandle": {exported(inputs[2], inputs[0])}'
        if not self._outputs:
            return ""
        values: tuple[Any, ...] = result if len(self._outputs) > 1 else (result,)
        return ", ".join([name + show(value) for (name, show), value in zip(self._outputs, values, strict=False)])

    def given_objects(self, driver: Driver, inputs: tuple[Any, ...]) -> dict[str, int]:
        """Answer which objects of the world the inputs name."""
        return _objects(driver, self._handles, inputs)

    def made_objects(self, driver: Driver, result: Any) -> dict[str, int]:
        """Answer which objects of the world the outputs name."""
        return _objects(driver, self._made, (result,))


def _format_of_numbers(entry: Entry) -> str | None:
    """Answer a format for inputs that are all whole numbers, as a bind's are (twice as fast); None for others."""
    params = [p for p in entry.params if p.direction != "out"]
    if any(p.direction != "value" or p.kind in ("bytes", "f32") for p in params):
        return None
    return ", ".join(f'"{p.name}": %d' for p in params)


def _places(entry: Entry, direction: str, *, inverted: bool = False) -> list[tuple[int, str]]:
    """Answer where handles stand among the parameters of one direction."""
    params = [p for p in entry.params if (p.direction == direction) != inverted]
    return [(place, p.name) for place, p in enumerate(params) if p.name in HANDLES]


def _objects(driver: Driver, places: list[tuple[int, str]], values: tuple[Any, ...]) -> dict[str, int]:
    if driver.process is None or not values:
        return {}
    found = {name: driver.process.handles.find(values[place]) for place, name in places}
    return {name: handle.obj for name, handle in found.items() if handle is not None}


def _word(param: Param, word: int) -> int | str | None:
    """Show an argument word: a number, or where a pointer points to."""
    if param.direction == "value":
        return word - (1 << 64) if param.kind == "i32" and word >> 63 else word
    return None if not word else f"{word:#x}"
