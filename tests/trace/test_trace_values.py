"""How arguments of each kind are written."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cumulticast.libcuda.table import by_symbol
from cumulticast.libcuda.trace_form import Form
from cumulticast.libcuda.trace_values import MOST_ITEMS, shower

ENTRIES = by_symbol()


def shown(symbol: str, name: str, value: Any) -> Any:
    entry = ENTRIES[symbol]
    param = next(p for p in entry.params if p.name == name)
    return json.loads(shower(entry, param)(value))


PROP = struct.pack("<iiiiQBBH4s", 1, 9, 3, 1, 0, 0, 1, 2, b"\1\0\0\0")
ACCESS = struct.pack("<iii", 1, 5, 3) + struct.pack("<iii", 4, 0, 1)
POOL = struct.pack("<iiiiQQH54s", 1, 1, 1, 2, 0, 4096, 0, bytes(54))


@pytest.mark.parametrize(
    ("symbol", "name", "value", "text"),
    [
        ("cuMulticastBindMem", "size", 2 << 20, 2 << 20),
        ("cuMulticastAddDevice", "dev", -3, -3),
        ("cuMemCreate", "flags", (1 << 64) - 1, (1 << 64) - 1),
        ("cuMulticastGetGranularity", "granularity", -1, (1 << 64) - 1),  # an output is as wide as its place
        ("cuDeviceGetCount", "count", 0xFFFF_FFFF, -1),
        ("cuPointerGetAttribute", "ptr", 0x7000_0000_0000, 0x7000_0000_0000),
        ("cuCtxPopCurrent_v2", "pctx", True, 1),
        ("cuGetProcAddress_v2", "symbol", b"cuInit", "cuInit"),
        ("cuGetProcAddress_v2", "symbol", b'\xff"\n', '\N{REPLACEMENT CHARACTER}"\n'),
        ("cuMemGetAccess", "location", struct.pack("<ii", 1, 3), {"type": "DEVICE", "id": 3}),
        ("cuMemGetAccess", "location", struct.pack("<ii", 77, 3), {"type": 77, "id": 3}),
        ("cuDeviceGetUuid", "uuid", bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ("cuDeviceGetName", "name", b"NVIDIA H100\0\0\0", "NVIDIA H100"),
        ("cuDeviceGetLuid", "luid", bytes(range(8)), "0001020304050607"),
        ("cuMemcpyBatchAsync", "dsts", struct.pack("<QQ", 5, 1 << 60), [5, 1 << 60]),
        (
            "cuMulticastCreate",
            "prop",
            struct.pack("<I4xQQQ", 8, 2 << 20, 8 | 32, 7),
            {"numDevices": 8, "size": 2 << 20, "handleTypes": "FABRIC|0x20", "flags": 7},
        ),
        (
            "cuMemCreate",
            "prop",
            PROP,
            {
                "type": "PINNED",
                "requestedHandleTypes": "POSIX_FILE_DESCRIPTOR|FABRIC",
                "location": {"type": "HOST_NUMA", "id": 1},
                "gpuDirectRDMACapable": 1,
                "usage": 2,
                "reserved": 1,
            },
        ),
        (
            "cuMemSetAccess",
            "desc",
            ACCESS,
            [
                {"location": {"type": "DEVICE", "id": 5}, "flags": "READWRITE"},
                {"location": {"type": "HOST_NUMA_CURRENT", "id": 0}, "flags": "READ"},
            ],
        ),
        (
            "cuMemPoolCreate",
            "poolProps",
            POOL,
            {
                "allocType": "PINNED",
                "handleTypes": "POSIX_FILE_DESCRIPTOR",
                "location": {"type": "DEVICE", "id": 2},
                "maxSize": 4096,
            },
        ),
    ],
)
def test_values(symbol: str, name: str, value: Any, text: Any) -> None:
    assert shown(symbol, name, value) == text


def test_what_may_be_null() -> None:
    assert shown("cuCtxCreate_v4", "ctxCreateParams", None) is None


def test_long_values_are_cut_and_say_so() -> None:
    many = shown("cuMemSetAccess", "desc", ACCESS * 5000)
    assert len(many) == MOST_ITEMS + 1 and many[-1] == "… (10000 elements)"
    assert len(shown("cuMemSetAccess", "desc", ACCESS * (MOST_ITEMS // 2))) == MOST_ITEMS
    assert shown("cuDeviceGetProperties", "prop", bytes(56)) == "00" * 56
    assert shown("cuCtxGetDevResource", "resource", bytes(144)).endswith("… (144 bytes)")
    assert shown("cuGetProcAddress_v2", "symbol", b"x" * 4000).endswith("… (4000 characters)")


def test_numbers_that_json_does_not_have() -> None:
    floats = [(s, p.name) for s, e in ENTRIES.items() for p in e.params if p.kind == "f32"]
    symbol, name = floats[0]
    assert shown(symbol, name, 1.5) == 1.5
    for value in (math.nan, math.inf, -math.inf):
        assert shown(symbol, name, value) == str(value)


VALUES = {
    "value": st.integers(-(1 << 64), 1 << 64),
    "bytes": st.binary(max_size=300),
}


@given(st.data())
def test_every_argument_of_every_entry_is_json(data: st.DataObject) -> None:
    """Structures come as long as the table says they are."""
    entry = data.draw(st.sampled_from(list(ENTRIES.values())))
    form, inputs = Form(entry), []
    for param in entry.params:
        if param.direction == "out":
            continue
        if param.kind == "cstr":
            inputs.append(data.draw(st.binary(max_size=50)))
        elif param.kind == "bytes" or (param.count and param.size):
            count = data.draw(st.integers(0, 100)) if param.count else 1
            inputs.append(data.draw(st.binary(min_size=param.size * count, max_size=param.size * count)))
        else:
            inputs.append(data.draw(st.integers(0, (1 << 8 * param.size) - 1)))
    if form.base == "cuMemImportFromShareableHandle":
        inputs[0] %= 1 << 16
    names = json.loads("{" + form.args(tuple(inputs)) + "}")
    assert list(names) == [param.name for param in entry.params if param.direction != "out"]


@given(st.data())
def test_bad_arguments_of_every_entry_are_json(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from([e for e in ENTRIES.values() if any(p.direction != "value" for p in e.params)]))
    words = [data.draw(st.integers(0, (1 << 64) - 1)) for _ in entry.params]
    bad = data.draw(st.sampled_from([k for k, p in enumerate(entry.params) if p.direction != "value"]))
    kind = data.draw(st.sampled_from([1, 2, 3]))
    names = json.loads("{" + Form(entry).bad_args(words, kind | bad << 8) + "}")
    assert list(names) == [param.name for param in entry.params]
    shown_bad = names[entry.params[bad].name]
    assert shown_bad is None if kind == 1 else shown_bad.endswith("able")
