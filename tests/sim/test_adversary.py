"""Adversarial memory behind the driver: aliases of multicast memory, devices, fresh memory, words of findings."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver as cu
from cuda.bindings._v2 import driver

from answers import ok

sys.path.append(str(Path(__file__).parents[1] / "conformance"))  # the builders

from builders import mapped, memory, read, team, unmapped, use, write

SIZE, SEEDS = 2 << 20, range(12)
ADVERSARIAL = [pytest.param(seed, marks=pytest.mark.cuda_machine(memory=f"adversarial:{seed}")) for seed in SEEDS]
PLAIN = pytest.param(None, marks=pytest.mark.cuda_machine(memory="plain"))
DATA, FLAG, OUT = 0, 512, 1024  # offsets of bytes
TEXT = b""".version 8.6
.target sm_90
.address_size 64
.visible .entry own(.param .u64 mc, .param .u64 uc, .param .u32 fenced)
{
  .reg .u64 %mc, %uc; .reg .u32 %v; .reg .pred %q;
  ld.param.u64 %mc, [mc]; ld.param.u64 %uc, [uc]; ld.param.u32 %v, [fenced];
  setp.ne.u32 %q, %v, 0;
  multimem.st.relaxed.sys.global.u32 [%mc], 7;
  @%q fence.proxy.alias;
  ld.relaxed.sys.global.u32 %v, [%uc];
  st.global.u32 [%uc + 1024], %v;
  st.global.u32 [%uc + 4], 9;
  @%q fence.proxy.alias;
  multimem.ld_reduce.relaxed.sys.global.add.u32 %v, [%mc + 4];
  st.global.u32 [%uc + 1028], %v;
  ret;
}
.visible .entry send(.param .u64 p, .param .u32 wide)
{
  .reg .u64 %p; .reg .u32 %v; .reg .pred %q;
  ld.param.u64 %p, [p]; ld.param.u32 %v, [wide];
  setp.ne.u32 %q, %v, 0;
  st.global.u32 [%p], 42;
  @%q fence.acq_rel.sys;
  @!%q fence.acq_rel.gpu;
  st.relaxed.sys.global.u32 [%p + 512], 1;
again:
  ld.relaxed.sys.global.u32 %v, [%p + 1028];
  setp.eq.u32 %q, %v, 0;
  @%q bra again;
  ret;
}
.visible .entry receive(.param .u64 p)
{
  .reg .u64 %p; .reg .u32 %v; .reg .pred %q;
  ld.param.u64 %p, [p];
again:
  ld.acquire.sys.global.u32 %v, [%p + 512];
  setp.eq.u32 %q, %v, 0;
  @%q bra again;
  ld.global.u32 %v, [%p];
  st.global.u32 [%p + 1024], %v;
  st.relaxed.sys.global.u32 [%p + 1028], 1;
  ret;
}
"""


class Seat:
    """A device's replica of an object, mapped on its own and through the object, and the kernels."""

    def __init__(self, device: int, handle: int, devices: int) -> None:
        self.device = device
        use(device)
        self.memory = memory(device, SIZE)
        driver.multicast_bind_mem(handle, 0, self.memory, 0, SIZE, 0)
        self.own, self.mc = mapped(self.memory, SIZE, range(devices)), mapped(handle, SIZE, [device])
        self.module = ok(cu.cuModuleLoadData(TEXT))
        self.stream = ok(cu.cuStreamCreate(1))

    def launch(self, name: bytes, *arguments: int) -> None:
        """Launch one thread."""
        use(self.device)
        kinds = tuple(ctypes.c_uint64 if value >> 32 else ctypes.c_uint32 for value in arguments)
        kernel = ok(cu.cuModuleGetFunction(self.module, name))
        ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, (arguments, kinds), 0))

    def wait(self) -> None:
        """Wait for all that was launched."""
        use(self.device)
        ok(cu.cuStreamSynchronize(self.stream))

    def close(self, handle: int) -> None:
        """Give everything back."""
        use(self.device)
        ok(cu.cuStreamDestroy(self.stream))
        ok(cu.cuModuleUnload(self.module))
        unmapped(self.mc, SIZE)
        unmapped(self.own, SIZE)
        driver.multicast_unbind(handle, self.device, 0, SIZE)
        driver.mem_release(self.memory)


@pytest.fixture
def seats(machine: object) -> Iterator[list[Seat]]:
    """Seat two devices at one object; their memory is zero."""
    handle = team(2, SIZE)
    made = [Seat(device, handle, 2) for device in range(2)]
    for seat in made:
        use(seat.device)
        write(seat.own, np.zeros(1024, np.uint32))
    yield made
    for seat in made:
        seat.close(handle)
    driver.mem_release(handle)
    driver.ctx_set_current(0)
    for seat in made:
        ok(cu.cuDevicePrimaryCtxRelease(seat.device))


def words(seat: Seat, at: int, count: int = 1) -> list[int]:
    """Read words of a replica."""
    use(seat.device)
    return read(seat.own + at, count, np.uint32).tolist()


@pytest.mark.parametrize("seed", [*ADVERSARIAL, PLAIN])
def test_fence_proxy_alias_joins_both_kinds_of_addresses(
    seats: list[Seat], cuda_machine: Any, seed: int | None
) -> None:
    seats[0].launch(b"own", seats[0].mc, seats[0].own, 1)
    seats[0].wait()
    assert words(seats[0], OUT, 2) == [7, 9]
    assert words(seats[0], DATA) == words(seats[1], DATA) == [7]
    assert cuda_machine.findings == []


@pytest.mark.parametrize("seed", ADVERSARIAL)
def test_without_the_fence_a_thread_misses_its_own_write(seats: list[Seat], cuda_machine: Any, seed: int) -> None:
    seats[0].launch(b"own", seats[0].mc, seats[0].own, 0)
    seats[0].wait()
    read_back, reduced = words(seats[0], OUT, 2)
    found = {
        line
        for f in cuda_machine.findings
        if f.rule == "MC1301"
        for line in (11, 15)
        if f"own line {line} " in f.message
    }
    assert found == {line for line, seen, wanted in ((11, read_back, 7), (15, reduced, 9)) if seen != wanted} != set()
    assert all("fence.proxy.alias is missing" in f.message for f in cuda_machine.findings)
    assert words(seats[1], DATA) == [7], "the kernel is over: all addresses agree"


@pytest.mark.cuda_machine(memory="plain")
def test_plain_memory_never_shows_it(seats: list[Seat], cuda_machine: Any) -> None:
    seats[0].launch(b"own", seats[0].mc, seats[0].own, 0)
    seats[0].wait()
    assert words(seats[0], OUT, 2) == [7, 9] and cuda_machine.findings == []


def exchange(seats: list[Seat], wide: int) -> int:
    """Let device 0 send to device 1 through memory of device 0."""
    shared = seats[0].own
    seats[1].launch(b"receive", shared)
    seats[0].launch(b"send", shared, wide)
    for seat in seats:
        seat.wait()
    return words(seats[0], OUT)[0]


@pytest.mark.parametrize("seed", ADVERSARIAL)
def test_a_release_of_the_system_reaches_another_device(seats: list[Seat], cuda_machine: Any, seed: int) -> None:
    assert exchange(seats, 1) == 42
    assert cuda_machine.findings == []


def test_a_release_of_one_device_does_not() -> None:
    """Under some seeds the flag comes first; then a finding names the scope that is missing."""
    from cumulticast import sim

    missed = 0
    for seed in SEEDS:
        sim.start(memory=f"adversarial:{seed}")
        ok(cu.cuInit(0))
        handle = team(2, SIZE)
        seats = [Seat(device, handle, 2) for device in range(2)]
        use(0)
        write(seats[0].own, np.zeros(1024, np.uint32))
        value, found = exchange(seats, 0), sim.findings()
        sim.stop()
        assert [f.rule for f in found] == (["MC1302"] if value != 42 else [])
        missed += len(found)
        for finding in found:
            assert finding.call == "cuLaunchKernel"
            for said in (
                "kernel receive line ", "(ld.global.u32 %v, [%p];)", "(st.global.u32 [%p], 42;)",
                "(st.relaxed.sys.global.u32 [%p + 512], 1;)", "released to .gpu only", "fence.acq_rel.sys",
            ):  # fmt: skip
                assert said in finding.message
    assert 0 < missed < len(SEEDS)


def numbers(address: int, size: int) -> np.ndarray:
    """Read floats."""
    return read(address, size // 4, np.float32)


@pytest.mark.cuda_machine(memory="adversarial:5")
def test_fresh_memory_is_no_number(machine: object, context: int) -> None:
    stream = ok(cu.cuStreamCreate(1))
    plain, pooled = int(ok(cu.cuMemAlloc(100_000))), int(ok(cu.cuMemAllocAsync(4096, stream)))
    ok(cu.cuStreamSynchronize(stream))
    handle = memory(0, SIZE)
    address = mapped(handle, SIZE)
    for base, size in ((plain, 100_000), (pooled, 4096), (address, SIZE)):
        assert np.isnan(numbers(base, size)).all()
    assert not np.array_equal(read(plain, 4096), read(pooled, 4096))
    ok(cu.cuMemFree(plain))
    ok(cu.cuMemFreeAsync(pooled, stream))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuStreamDestroy(stream))
    unmapped(address, SIZE)
    driver.mem_release(handle)


@pytest.mark.cuda_machine(memory="plain")
def test_plain_fresh_memory_is_zero(machine: object, context: int) -> None:
    address = int(ok(cu.cuMemAlloc(4096)))
    assert not numbers(address, 4096).any()
    ok(cu.cuMemFree(address))


@pytest.mark.parametrize("wrong", ["adversary", "plain:1", "adversarial:", "adversarial:-1", f"adversarial:{1 << 64}"])
def test_a_choice_that_is_none(wrong: str) -> None:
    from cumulticast import sim

    with pytest.raises(ValueError, match="is none of plain, adversarial, adversarial:SEED"):
        sim.start(memory=wrong)


PROGRAM = """
import ctypes
from cuda.bindings import driver as cu
from cumulticast import sim
def ok(answer):
    assert int(answer[0]) == 0, answer
    return answer[1] if len(answer) > 1 else None
ok(cu.cuInit(0)); ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
address = int(ok(cu.cuMemAlloc(4)))
word = ctypes.c_uint32()
ok(cu.cuMemcpyDtoH(ctypes.addressof(word), address, 4))
print(hex(word.value))
"""


def told(*options: str) -> str:
    """Answer what fresh memory holds in a program under `run`."""
    command = [sys.executable, "-m", "cumulticast.cli", "run", *options, "--", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_run_sets_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("--memory", "plain") == "0x0"
    one = told("--memory", "adversarial:1")
    assert told("--memory", "adversarial").startswith("0xffff")
    monkeypatch.setenv("CUMULTICAST_MEMORY", "adversarial:1")
    assert told() == one
    assert told("--memory", "adversarial:2") != one
