"""What an H200 answered to kernels that end badly (recording/fault_probe.py), asked of the simulator step by step."""

from __future__ import annotations

import ctypes
import json

import pytest
from cuda.bindings import driver as cu
from gpu_recording import FAULTS

from answers import ok
from recording.fault_probe import text

pytestmark = pytest.mark.timeout(60)
KERNELS = json.loads(FAULTS.read_text())["kernels"]

_WINDOW = "an H200's block has its shared memory from 0x400 on, behind a KiB of the system's, and in pieces of 1 KiB; "
_WINDOW += "here it begins at 0 and ends where the kernel's ends"
#: Kernels that end otherwise here: with which status, and why that is left so.
DIFFERENT = {
    **{f"shared_store_at_{at}": (700, _WINDOW) for at in ("0x40", "0x80", "0x3fc", "0x400", "0x440")},
    "shared_store_at_0x1000000": (
        0,
        "block 0 of the cluster, that is this one: ranks are counted from 1 in bit 24 here",
    ),
    "local_store_at_0x40": (700, "an H200's thread has more local memory than its variables; here it ends with them"),
    "call_null": (719, "an H200 had not ended after 25 s"),
}


def past(offset: int) -> str:
    """Write to shared memory at an address."""
    return f"add.u32 %s, %t, {offset}; st.shared.u32 [%s], %r;"


def steps(name: str) -> dict[str, int | str]:
    """Do what ``fault_probe.one`` did, in a context that is current."""
    return steps_of(text(name))


def steps_of(kernel: str) -> dict[str, int | str]:
    """Load a module, launch its kernel, and ask for everything afterwards."""
    found: dict[str, int | str] = {}

    def call(step: str, answer: tuple) -> object:
        status, *outputs = answer
        found[step] = int(status)
        return outputs[0] if outputs else None

    module = call("load", cu.cuModuleLoadData(kernel.encode() + b"\0"))
    function = call("function", cu.cuModuleGetFunction(module, b"k"))
    memory = call("alloc", cu.cuMemAlloc(4096))
    stream = call("stream", cu.cuStreamCreate(0))
    arguments = ((int(memory), 0), (ctypes.c_uint64, ctypes.c_uint64))
    call("launch", cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0))
    call("sync", cu.cuStreamSynchronize(stream))
    call("sync again", cu.cuStreamSynchronize(stream))
    call("query", cu.cuStreamQuery(stream))
    call("context sync", cu.cuCtxSynchronize())
    call("launch again", cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0))
    call("alloc again", cu.cuMemAlloc(4096))
    back = bytearray(16)
    call("copy", cu.cuMemcpyDtoH(back, memory, 16))
    found["bytes"] = back.hex()
    call("free", cu.cuMemFree(memory))
    call("unload", cu.cuModuleUnload(module))
    return found


@pytest.fixture
def fresh(machine):
    """Make a context that may fail."""
    handle = ok(cu.cuCtxCreate(None, 0, 0))
    yield handle
    ok(cu.cuCtxDestroy(handle))


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in (*DIFFERENT, "addresses")])
def test_every_step_is_answered_as_an_h200_does(name: str, fresh: object, capfd: pytest.CaptureFixture[str]) -> None:
    """What comes after the reset of the primary context is left out: there the probe could not go on by itself."""
    recorded = KERNELS[name]["steps"]
    ours = steps(name)
    assert ours == {step: recorded[step] for step in ours}
    printed = "".join(capfd.readouterr()).strip().split("\n")[-1]
    assert printed == KERNELS[name]["printed"]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_known_and_sticks_all_the_same(name: str, fresh: object) -> None:
    status, reason = DIFFERENT[name]
    ours, recorded = steps(name), KERNELS[name]["steps"]
    assert reason
    assert isinstance(recorded, str) or recorded["sync"] != status
    later = ("sync", "sync again", "query", "context sync", "launch again", "alloc again", "copy", "free", "unload")
    assert {ours[step] for step in later} == {status}
    assert {ours[step] for step in ("load", "function", "alloc", "stream", "launch")} == {0}


def test_shared_memory_beyond_all_blocks_of_the_cluster_is_an_illegal_instruction(fresh: object) -> None:
    """The neighbour of what an H200 answers to 0x1000000: the first block that cannot be there."""
    assert steps_of(text("fine").replace("st.global.u32 [%p], %r;", past(0x2000000), 1))["sync"] == 715


def test_addresses_and_sizes_that_kernels_see(fresh: object) -> None:
    """%total_smem_size as an H200 has it; where shared and local memory begin differs (``DIFFERENT`` says how)."""
    ours, recorded = steps("addresses"), KERNELS["addresses"]["steps"]
    seen, wanted = ([int.from_bytes(bytes.fromhex(one["bytes"])[at : at + 4], "little") for at in (0, 4, 8)]
                    for one in (ours, recorded))  # fmt: skip
    assert seen[2] == wanted[2] == 128
    assert seen[:2] == [0, 0] != wanted[:2]
    assert {**ours, "bytes": ""} == {**{step: recorded[step] for step in ours}, "bytes": ""}
