"""`cumulticast.driver`: everything is NVIDIA's, and the exceptions say why."""

from __future__ import annotations

import ast
import ctypes
import inspect
import pickle
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings._v2 import driver as nvidia

from cumulticast import driver, sim

MIB = 1 << 20


@pytest.fixture
def machine() -> Iterator[None]:
    sim.start("hgx-h100-8", 2, profile="strict")
    try:
        driver.init(0)
        yield
    finally:
        sim.stop()


def one_device_object(size: int = 4 * MIB) -> tuple[int, int]:
    """Answer a multicast object of device 0 alone and memory of that device, both of this size."""
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 1, size
    mc = driver.multicast_create(prop)
    driver.multicast_add_device(mc, 0)
    memory = driver.MemAllocationProp_v1()
    memory.type, memory.location.type = driver.MemAllocationType.PINNED, driver.MemLocationType.DEVICE
    return mc, driver.mem_create(size, memory, 0)


# ---- forwarding


def test_every_public_name_is_forwarded_and_only_functions_are_wrapped() -> None:
    public = {name for name in dir(nvidia) if not name.startswith("_")}
    assert set(dir(driver)) == public
    for name in public:
        theirs, ours = getattr(nvidia, name), getattr(driver, name)
        if callable(theirs) and not isinstance(theirs, type):
            assert ours.__wrapped__ is theirs
        else:
            assert ours is theirs, name


def test_star_import_gives_the_same_names() -> None:
    names: dict[str, Any] = {}
    exec("from cumulticast.driver import *", names)
    assert set(dir(driver)) <= set(names)


def test_an_unknown_name_is_an_attribute_error_of_this_module() -> None:
    with pytest.raises(AttributeError, match=r"'cumulticast\.driver' has no attribute 'multicast_bind'"):
        driver.multicast_bind  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute '_FastEnum'"):
        driver._FastEnum  # noqa: B018


def test_a_function_is_wrapped_once_and_keeps_name_signature_and_documentation() -> None:
    bind = driver.multicast_bind_mem
    assert driver.multicast_bind_mem is bind
    assert (bind.__name__, bind.__doc__) == ("multicast_bind_mem", nvidia.multicast_bind_mem.__doc__)
    assert inspect.signature(bind) == inspect.signature(nvidia.multicast_bind_mem)
    assert pickle.loads(pickle.dumps(bind)) is bind


def test_exceptions_are_nvidias_own(machine: None) -> None:
    with pytest.raises(nvidia.InvalidValueError) as caught:
        driver.multicast_get_granularity(None, 0)
    assert type(caught.value) is nvidia.InvalidValueError
    assert caught.value.args == ("ERROR_INVALID_VALUE (1)",)


# ---- notes


def notes_of(call: Any, *args: Any) -> list[str]:
    with pytest.raises(nvidia.DriverError) as caught:
        call(*args)
    return getattr(caught.value, "__notes__", [])


def test_the_note_names_rule_value_and_the_nearest_legal_ones(machine: None) -> None:
    mc, memory = one_device_object()
    assert notes_of(driver.multicast_bind_mem, mc, 0, memory, 0, 3 * MIB, 0) == [
        "MC304 multicast_bind_mem: size 3145728 is not a multiple of 2097152 (2 MiB); "
        "nearest 2097152 or 4194304. More: cumulticast rules MC304"
    ]
    driver.multicast_bind_mem(mc, 0, memory, 0, 4 * MIB, 0)  # the neighbour is legal and raises nothing


def test_each_error_gets_its_own_notes(machine: None) -> None:
    mc, memory = one_device_object()
    first = notes_of(driver.multicast_bind_mem, mc, 0, memory, 0, 3 * MIB, 0)
    second = notes_of(driver.multicast_bind_mem, mc, 0, memory, 0, 4 * MIB, 1)
    third = notes_of(driver.device_get, 99)
    assert [note[:5] for note in (*first, *second, *third)] == ["MC304", "MC301", "MC004"]


def test_an_error_of_a_call_made_elsewhere_is_not_taken_for_ours(machine: None) -> None:
    """Another thread fails between our failures; the notes are of our own call."""
    mc, memory = one_device_object()
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            notes_of(driver.device_get, 99)

    other = threading.Thread(target=disturb)
    other.start()
    try:
        for _ in range(200):
            (note,) = notes_of(driver.multicast_bind_mem, mc, 0, memory, 0, 3 * MIB, 0)
            assert note.startswith("MC304 ")
    finally:
        stop.set()
        other.join()


def test_errors_before_init_have_notes_too() -> None:
    sim.start("hgx-h100-8", 1)
    try:
        (note,) = notes_of(driver.device_get_count)
        assert note.startswith("MC001 device_get_count: ")
    finally:
        sim.stop()


def test_errors_of_the_bindings_pass_untouched(machine: None) -> None:
    for call, args, kind in [
        (driver.multicast_bind_mem, (1, 2), TypeError),
        (driver.multicast_bind_mem, (-1, 0, 0, 0, 0, 0), OverflowError),
        (driver.multicast_create, ("prop",), ValueError),
    ]:
        with pytest.raises(kind) as caught:
            call(*args)
        assert not hasattr(caught.value, "__notes__")
    with pytest.raises(TypeError) as theirs:
        nvidia.multicast_bind_mem(1, 2)
    with pytest.raises(TypeError) as ours:
        driver.multicast_bind_mem(1, 2)
    assert str(ours.value) == str(theirs.value)


def test_arguments_by_name(machine: None) -> None:
    assert driver.device_get(ordinal=1) == 1


# ---- notes on other drivers


class OtherDriver:
    """Stands in for the bindings on a driver that refuses every device and logs what it is told to."""

    DriverError = nvidia.DriverError

    def __init__(self, log: str | None) -> None:
        self.log = log

    def device_get(self, ordinal: int) -> int:
        raise nvidia.InvalidDeviceError(101)

    def logs_dump_to_memory(self, iterator: int, buffer: int, size: int, flags: int) -> None:
        assert (iterator, flags) == (0, 0)
        if self.log is None:
            raise RuntimeError("function cuLogsDumpToMemory is not found")
        room = ctypes.c_size_t.from_address(size)
        text = self.log.encode()
        assert len(text) <= room.value
        ctypes.memmove(buffer, text + b"\0", len(text) + 1)
        room.value = len(text)


def notes_on(monkeypatch: pytest.MonkeyPatch, log: str | None) -> list[str]:
    other = OtherDriver(log)
    monkeypatch.setattr(driver, "_bindings", other)
    monkeypatch.delitem(vars(driver), "device_get", raising=False)
    try:
        return notes_of(driver.device_get, 99)
    finally:
        vars(driver).pop("device_get", None)


def line(text: str, thread: int | None = None, level: str = "E") -> str:
    return f"[12:34:56.789][{thread or threading.get_native_id()}][CUDA][{level}] {text}\n"


REFUSED = "Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet"
MC004 = "device_get answers 101 when one of these rules is broken"


def test_a_driver_without_a_log_gives_the_rules_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    (note,) = notes_on(monkeypatch, None)
    assert note.startswith(MC004)
    assert "MC004 a device ordinal exists" in note


def test_an_empty_log_gives_the_rules_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    (note,) = notes_on(monkeypatch, "")
    assert note.startswith(MC004)


def test_a_real_drivers_reason_comes_first_and_the_rules_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reason, rules = notes_on(monkeypatch, line("Device ordinal 99 is invalid") + line(REFUSED))
    assert reason == "Device ordinal 99 is invalid"
    assert rules.startswith(MC004)


def test_a_reason_with_a_rule_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = line("MC306 multicast_bind_mem: x") + line("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMulticastBindMem")
    log += line("MC532 finding", level="W") + line("MC004 device_get: no device 99") + line(REFUSED)
    assert notes_on(monkeypatch, log) == ["MC004 device_get: no device 99"]


@pytest.mark.parametrize(
    "foreign",
    [
        line("MC004 device_get: another thread's", thread=1) + line(REFUSED, thread=1),
        line("MC004 x") + line("Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGetName"),
        line("MC004 x") + line("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuDeviceGet"),
        line("MC004 x") + line(REFUSED) + line("and something after it"),
        "no line of the log at all\n",
    ],
    ids=["thread", "call", "status", "order", "format"],
)
def test_lines_that_are_not_of_this_call_are_not_used(monkeypatch: pytest.MonkeyPatch, foreign: str) -> None:
    (note,) = notes_on(monkeypatch, foreign)
    assert note.startswith(MC004)


# ---- speed


def test_the_way_without_errors_stays_cheap(machine: None) -> None:
    """A wrapped call costs some 50 ns more; 500 would show that the log is read each time."""

    def nanoseconds(function: Any) -> float:
        start = time.perf_counter_ns()
        for _ in range(2000):
            function()
        return (time.perf_counter_ns() - start) / 2000

    pairs = [(nanoseconds(nvidia.device_get_count), nanoseconds(driver.device_get_count)) for _ in range(15)]
    assert statistics.median(ours - theirs for theirs, ours in pairs) < 500


# ---- types

STUB = ast.parse(Path(driver.__file__).with_suffix(".pyi").read_text())
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef) and node.name != "__getattr__"]
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_the_stub_has_the_real_parameters(node: ast.FunctionDef) -> None:
    declared = [argument.arg for argument in node.args.args]
    assert declared == list(inspect.signature(getattr(nvidia, node.name)).parameters)
    assert ast.get_docstring(node)


def test_the_stub_agrees_with_the_docstrings_on_what_is_returned() -> None:
    for node in FUNCTIONS:
        first = (getattr(nvidia, node.name).__doc__ or "").splitlines()[0]
        _, arrow, returned = first.partition(" -> ")
        declared = ast.unparse(node.returns) if node.returns else ""
        if returned in ("bytes", "str"):
            assert declared == returned
        elif returned in ("tuple", "list"):
            assert declared.startswith(f"{returned}["), node.name
        elif arrow:
            assert declared == "int", node.name
        else:  # nothing, or a structure
            assert declared == "None" or declared.split(" | ")[-1] in {c.name for c in CLASSES}, node.name


def test_the_stub_has_every_function_of_the_multicast_and_memory_calls() -> None:
    names = {name for name in dir(nvidia) if name.startswith("multicast_") and callable(getattr(nvidia, name))}
    assert len(names) == 8
    assert names <= {node.name for node in FUNCTIONS}


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_the_stub_has_real_classes_with_real_members(node: ast.ClassDef) -> None:
    real = getattr(nvidia, node.name)
    declared = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}  # type: ignore[union-attr]
    base = ast.unparse(node.bases[0])
    if base == "_Enum":
        assert declared == set(real.__members__)
    elif base == "DriverError":
        assert issubclass(real, nvidia.DriverError)
    elif base == "_Struct":
        assert declared <= set(dir(real()))


def test_the_stub_has_every_exception() -> None:
    real = {n for n, c in vars(nvidia).items() if isinstance(c, type) and issubclass(c, nvidia.DriverError)}
    assert real <= {node.name for node in CLASSES}


def test_the_stub_has_the_dtypes() -> None:
    annotated = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    assert "multicast_object_prop_v1_dtype" in annotated
    assert all(isinstance(getattr(nvidia, name), np.dtype) for name in annotated)
