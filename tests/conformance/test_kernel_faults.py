"""What kernels must not touch: the status, the rule behind it, and words that name thread, line and place."""

from __future__ import annotations

import ctypes

import pytest
from builders import STEP, ask, mapped, memory, piece, reserve, team, use
from cuda.bindings import driver as cu
from cuda.bindings._v2 import driver
from kernel_texts import HEAD, shape

from answers import ok
from cumulticast import sim

ILLEGAL, MISALIGNED, TRAPPED, ASSERTED = 700, 716, 719, 710
INSTRUCTIONS = {
    "load": "ld.global.u32 %r1, [%d];",
    "store": "st.global.u32 [%d], %r1;",
    "generic": "ld.u32 %r1, [%d];",
    "atomic": "atom.global.add.u32 %r1, [%d], 1;",
    "red": "red.global.add.u32 [%d], %r1;",
    "vector": "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d];",
    "guarded": "@%q ld.relaxed.sys.global.u32 %r1, [%d];",
    "reduced": "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%d];",
    "stored": "multimem.st.relaxed.sys.global.u32 [%d], %r1;",
    "added": "multimem.red.relaxed.sys.global.add.u32 [%d], %r1;",
}
ORDINARY = [name for name, text in INSTRUCTIONS.items() if not text.startswith("multimem")]
MULTIMEM = [name for name in INSTRUCTIONS if name not in ORDINARY]


def text(name: str) -> bytes:
    """Write a kernel that carries out one instruction at its parameter's address plus four bytes a thread."""
    return (
        f"""{HEAD.replace("8.0", "8.1")}.visible .entry {name}(.param .u64 p, .param .u64 out) {{
.reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d; .reg .b64 %o;
ld.param.u64 %d, [p];
ld.param.u64 %o, [out];
mov.u32 %r5, %tid.x;
mov.u32 %r1, 1;
setp.lt.u32 %q, %r5, 1000;
mad.wide.u32 %d, %r5, 4, %d;
{INSTRUCTIONS[name]}
st.global.u32 [%o], %r1;
ret;
}}
""".encode()
        + b"\0"
    )


LINE = 12  # of the instruction


@pytest.fixture(autouse=True)
def current(start) -> None:
    start(devices=3)
    use(0)


@pytest.fixture
def out():
    """Allocate a word of device 0; what a broken context held goes with its reset."""
    yield int(ok(cu.cuMemAlloc(STEP)))
    use(0)
    cu.cuDevicePrimaryCtxReset(0)


def run(name: str, address: int, out: int, threads: int = 1):
    """Launch a kernel in device 0's context, and answer what the next call says and what was found meanwhile."""
    function = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(text(name))), name.encode()))
    params = ((address, out), (ctypes.c_void_p, ctypes.c_void_p))
    ok(cu.cuLaunchKernel(function, *shape((1, 1, 1), (threads, 1, 1)), params, 0))
    return ask(cu.cuCtxSynchronize)


def bound(devices: int = 2, size: int = STEP, *, holes: int = 0):
    """Make an object whose last ``holes`` devices have bound its first 2 MiB only; answer it and its first replica."""
    mc, pieces = team(devices, size), [piece(dev, size) for dev in range(devices)]
    for one in pieces:
        driver.multicast_bind_mem(mc, 0, one.handle, 0, STEP if one.dev >= devices - holes else size, 0)
    use(0)
    return mc, pieces[0].ptr


# ---- multicast addresses


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_access_to_a_multicast_address_is_refused_and_reported(name, out):
    mc, _ = bound()
    ptr = mapped(mc, STEP, (0, 1))
    answer = run(name, ptr + 64, out)
    assert (answer.status, answer.found) == (ILLEGAL, ("MC530",))
    opcode = INSTRUCTIONS[name].split("@%q ")[-1].split()[0]
    assert f"{opcode} on multicast address {ptr + 64:#x} is undefined" in answer.text
    assert f"kernel {name} line {LINE} ({INSTRUCTIONS[name]}), block (0, 0, 0), thread (0, 0, 0): " in answer.text
    assert f"byte 64 of the mapping of {STEP} bytes at {ptr:#x} (multicast object " in answer.text
    assert ask(cu.cuCtxSynchronize).found == (), "it is found once"


@pytest.mark.parametrize("name", ORDINARY)
def test_the_same_access_to_a_replica_is_good(name, out):
    _, replica = bound()
    answer = run(name, replica + 64, out)
    assert (answer.status, answer.found, answer.text) == (0, (), "")


@pytest.mark.parametrize("name", MULTIMEM)
def test_multimem_on_its_own_address_is_good(name, out):
    mc, _ = bound()
    answer = run(name, mapped(mc, STEP, (0, 1)), out)
    assert (answer.status, answer.found, answer.text) == (0, (), "")


@pytest.mark.parametrize("name", MULTIMEM)
def test_multimem_in_a_hole_names_the_device_and_the_bytes(name, out):
    mc, _ = bound(3, 3 * STEP, holes=1)
    ptr = mapped(mc, 3 * STEP, (0, 1, 2))
    assert run(name, ptr + STEP - 4, out).status == 0
    answer = run(name, ptr + STEP - 4, out, threads=2)
    assert (answer.status, answer.found) == (ILLEGAL, ("MC532",))
    assert f"device 2 has nothing bound at bytes [{STEP}, {3 * STEP}) of the object" in answer.text
    assert "thread (1, 0, 0)" in answer.text


@pytest.mark.parametrize("name", MULTIMEM)
def test_multimem_by_a_device_without_access(name, out):
    mc, _ = bound()
    ptr = mapped(mc, STEP, (1,))
    answer = run(name, ptr, out)
    assert (answer.status, answer.found) == (ILLEGAL, ())
    assert f"MC533: device 0 has access 0 to {ptr:#x}, needs 3" in answer.text


@pytest.mark.parametrize("name", MULTIMEM)
def test_multimem_on_ordinary_memory(name, out):
    answer = run(name, out + 8, out)
    assert answer.status == ILLEGAL
    assert "ordinary memory is mapped there, and multimem needs a multicast address" in answer.text
    assert f"byte 8 of the cuMemAlloc of {STEP} bytes at {out:#x}" in answer.text


# ---- access


@pytest.mark.parametrize(("name", "wanted"), [("load", 1), ("store", 3), ("atomic", 3)])
def test_a_device_without_access(name, wanted, out):
    ptr = mapped(memory(1), STEP, (1,))
    answer = run(name, ptr + 4, out)
    assert (answer.status, answer.found) == (ILLEGAL, ())
    assert f"MC849: device 0 has access 0 to {ptr + 4:#x}, needs {wanted}" in answer.text
    assert f"byte 4 of the mapping of {STEP} bytes at {ptr:#x} (allocation " in answer.text
    assert "of device 1)" in answer.text


def test_a_device_that_may_only_read(out):
    ptr = mapped(memory(0), STEP, (0,), flags=1)
    assert run("load", ptr, out).status == 0
    answer = run("store", ptr, out)
    assert answer.status == ILLEGAL
    assert f"MC849: device 0 has access 1 to {ptr:#x}, needs 3" in answer.text


# ---- nothing there


def test_one_past_the_end_names_whose_end_it_is(out):
    ptr = mapped(memory(0, 2 * STEP), 2 * STEP, (0,))
    assert run("load", ptr + 2 * STEP - 4, out).status == 0
    answer = run("load", ptr + 2 * STEP - 4, out, threads=2)
    assert answer.status == ILLEGAL
    assert f"read at {ptr + 2 * STEP:#x}: nothing is mapped there" in answer.text
    assert f"0 bytes past the end of the mapping of {2 * STEP} bytes at {ptr:#x}" in answer.text
    assert "thread (1, 0, 0)" in answer.text


def test_a_reservation_with_nothing_mapped(out):
    ptr = reserve(4 * STEP)
    answer = run("store", ptr + STEP, out)
    assert answer.status == ILLEGAL
    assert f"in the reservation of {4 * STEP} bytes at {ptr:#x}, nothing mapped; " in answer.text


def test_what_was_freed(out):
    ptr = int(ok(cu.cuMemAlloc(4 * STEP)))
    assert run("load", ptr, out).status == 0
    ok(cu.cuMemFree(ptr))
    answer = run("load", ptr + 12, out)
    assert answer.status == ILLEGAL
    assert f"byte 12 of what was the cuMemAlloc of {4 * STEP} bytes at {ptr:#x} and has been freed" in answer.text


def test_what_was_unmapped(out):
    ptr = mapped(memory(0), STEP, (0,))
    driver.mem_unmap(ptr, STEP)
    answer = run("load", ptr, out)
    assert answer.status == ILLEGAL
    assert f"byte 0 of what was the mapping of {STEP} bytes at {ptr:#x}" in answer.text
    assert "has been unmapped" in answer.text


@pytest.mark.parametrize(("address", "words"), [(0, "null pointer"), (1 << 50, "no address has so many bits")])
def test_what_is_no_address_has_no_neighbours(address, words, out):
    answer = run("load", address, out)
    assert answer.status == ILLEGAL
    assert words in answer.text
    assert "bytes before" not in answer.text


@pytest.mark.parametrize("name", ["load", "reduced"])
def test_misaligned(name, out):
    mc, replica = bound()
    ptr = mapped(mc, STEP, (0, 1)) if name == "reduced" else replica
    answer = run(name, ptr + 2, out)
    assert answer.status == MISALIGNED
    assert f"at {ptr + 2:#x}" in answer.text
    assert "no multiple of 4" in answer.text


def test_findings_are_kept_of_another_context_too(out):
    """The fault breaks the context of the kernel only; the finding is the process's."""
    mc, _ = bound()
    run("load", mapped(mc, STEP, (0, 1)), out)
    use(1)
    assert ask(cu.cuCtxSynchronize).status == 0
    assert [finding.rule for finding in sim.findings()][-1] == "MC530"
