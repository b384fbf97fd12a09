"""A file system without room: every call answers 2 and says why, nothing is lost, and nobody gets SIGBUS."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from on_ranks import COMMAND, Done, environment, finished, on_ranks

pytestmark = pytest.mark.timeout(60)
MIB = 1 << 20


@pytest.fixture
def small(tmp_path: Path) -> Generator[Path]:
    """Mount a tmpfs of 24 MiB, as containers have one of 64."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "none", place], check=False).returncode:
        pytest.skip("only root can mount a tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def on_small(snippet: str, place: Path, ranks: int = 1) -> Done:
    env = {"CUMULTICAST_WORLD": str(place / "world"), "CUDA_LOG_FILE": "stderr"}
    return on_ranks(FILL + snippet, ranks, meeting=place.parent, **env)


FILL = """
import ctypes
import numpy as np
from cumulticast import multimem

def fill():
    '''Take all room that is left on the file system, to the last page.'''
    with open(WORLD.parent / f"ballast-{RANK}", "wb", buffering=0) as file:
        for step in (1 << 20, 1 << 12):
            try:
                while True: file.write(bytes(step))
            except OSError: pass

def free(): (WORLD.parent / f"ballast-{RANK}").unlink()

def mapped(handle, size=STEP, dev=0):
    at = driver.mem_address_reserve(size, 0, 0, 0)
    driver.mem_map(at, size, 0, handle, 0)
    grant = driver.MemAccessDesc_v1(1)
    grant[0].location.type, grant[0].location.id, grant[0].flags_ = 1, dev, 3
    driver.mem_set_access(at, size, grant, 1)
    return at

def use(dev=0): driver.ctx_set_current(driver.device_primary_ctx_retain(dev))

def files(): return [len(os.listdir(WORLD / kind)) for kind in ("memory", "multicast")]

driver.init(0)
"""


def test_making_and_copying_answer_2_with_the_reason_and_what_was_made_stays(small: Path) -> None:
    done = on_small(
        """
use()
kept = memory(); at = mapped(kept)
data = np.arange(STEP, dtype=np.uint8)
driver.memcpy_htod_v2(at, data.ctypes.data, STEP)
new = memory(); other = mapped(new)
fill()
tell(create=status(memory), object=status(multicast, 1), alloc=status(driver.mem_alloc_v2, 4 << 20))
tell(copy=status(driver.memcpy_htod_v2, other, data.ctypes.data, STEP), set=status(driver.memset_d8_v2, other, 1, STEP))
back = np.zeros(STEP, np.uint8)
driver.memcpy_dtoh_v2(back.ctypes.data, at, STEP)
tell(same=bool((back == data).all()), files=files())
free()
tell(again=[status(memory), status(driver.memset_d8_v2, other, 1, STEP)])
""",
        small,
    )
    assert done.code == 0, done.err
    facts = {name: value for one in done.told[0] for name, value in one.items()}
    assert facts == {"create": 2, "object": 2, "alloc": 2, "copy": 2, "set": 2, "same": True, "files": [2, 0],
                     "again": [0, 0]}  # fmt: skip
    assert "MC346 " in done.err
    assert "containers often have 64 MiB of /dev/shm" in done.err
    assert f"bytes are free in {small / 'world'}" in done.err


def test_multimem_on_a_full_file_system_answers_and_does_not_kill(small: Path) -> None:
    done = on_small(
        """
mc = multicast(2)
for dev in range(2): driver.multicast_add_device(mc, dev)
for dev in range(2): driver.multicast_bind_mem(mc, 0, memory(device=dev), 0, STEP, 0)
at = mapped(mc)
fill()
answers = []
for work in (lambda: multimem.store(at, np.ones(STEP // 4, np.float32)),
             lambda: multimem.load_reduce(at, STEP // 4), lambda: multimem.reduce(at, np.ones(STEP // 4, np.float32))):
    try: work(); answers.append("done")
    except Exception as error: answers.append(f"{type(error).__name__}: {error}")
free()
multimem.store(at, np.ones(STEP // 4, np.float32))
tell(answers=answers, total=float(multimem.load_reduce(at, STEP // 4).sum()))
""",
        small,
    )
    assert done.code == 0, done.err
    (answers,), (total,) = done.each("answers"), done.each("total")
    assert total == 2 * (2 << 20) / 4
    why = (
        "MemoryError: multimem: the host has no room for the memory behind a multicast object: allocate: No space left"
    )
    assert all(answer.startswith(why) for answer in answers), answers


STORE = """
from cuda.bindings import driver as cu
TEXT = b'''.version 9.0
.target sm_90
.address_size 64
.visible .entry fills(.param .u64 p)
{ .reg .b64 %a; .reg .b32 %t;
ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 65536, %a;
st.global.u32 [%a], 7; ret; }
\\0'''
use()
at = mapped(memory())
function = cu.cuModuleGetFunction(cu.cuModuleLoadData(TEXT)[1], b"fills")[1]
def launch():
    cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ((at,), (ctypes.c_uint64,)), 0)
    return int(cu.cuCtxSynchronize()[0])
"""


def test_a_kernel_on_a_full_file_system_ends_and_the_process_does_not(small: Path) -> None:
    done = on_small(
        f"{STORE}\nfill()\ntell(sync=launch(), alloc=int(cu.cuMemAlloc(16)[0]), made=status(memory))", small
    )
    assert done.code == 0, done.err
    assert done.told[0] == [{"sync": 700, "alloc": 700, "made": 2}]
    assert "kernel fills" in done.err and "line 7" in done.err
    assert "the host has no memory for this page of the allocation (a full file system" in done.err


def test_a_kernel_has_what_room_there_is(small: Path) -> None:
    done = on_small(f"{STORE}\nlaunched = launch()\nfill()\ntell(launched=launched, again=launch())", small)
    assert done.code == 0, done.err
    assert done.told[0] == [{"launched": 0, "again": 0}]  # the pages are there since the first launch


def test_everything_can_be_given_back_on_a_full_file_system(small: Path) -> None:
    """Also what takes much writing in the books: 600 allocations and binds."""
    done = on_small(
        """
mc = multicast(1, size=600 * STEP); driver.multicast_add_device(mc, 0)
handles = [memory() for _ in range(600)]
for k, handle in enumerate(handles): driver.multicast_bind_mem(mc, k * STEP, handle, 0, STEP, 0)
fill()
for k in range(300): driver.multicast_unbind(mc, 0, k * STEP, STEP)
for handle in handles: driver.mem_release(handle)
driver.mem_release(mc)
tell(files=files(), create=status(memory))
free()
tell(again=status(memory))
""",
        small,
    )
    assert (done.code, done.each("create"), done.each("again")) == (0, [2], [0]), done.err
    assert done.each("files") == [[0, 0]], done.err


def test_ranks_come_and_die_on_a_full_file_system(small: Path) -> None:
    done = on_small(
        """
handles = [memory() for _ in range(20)]
meet("made")
if RANK == 0: fill()
meet("full")
if RANK == 2: os.kill(os.getpid(), 9)
end = time.monotonic() + 10
while files() != [40, 0] and time.monotonic() < end: time.sleep(0.02)
tell(files=files())
put(f"seen-{RANK}")
for rank in range(2): get(f"seen-{rank}")
for handle in handles: driver.mem_release(handle)
""",
        small,
        ranks=3,
    )
    assert done.err.count("rank 2 was ended by SIGKILL") == 1, done.err
    assert done.told[0] == [{"files": [40, 0]}], done.err
    assert done.code == 137
    assert os.listdir(small) == ["ballast-0"]


def test_no_world_can_be_made_where_there_is_no_room(small: Path) -> None:
    with open(small / "ballast", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 23 * MIB)
    env = environment(None, CUMULTICAST_WORLD=str(small / "world"))
    done = finished([*COMMAND, "run", "--", "true"], env)
    assert (done.code, done.out) == (2, "")
    assert f"no world can be made in {small}" in done.err
    assert f"of {24 * MIB} bytes are free" in done.err
    assert "CUMULTICAST_WORLD naming a directory elsewhere" in done.err
    assert os.listdir(small) == ["ballast"]


def test_books_that_cannot_grow_answer_2_and_nothing_is_lost() -> None:
    """Everywhere, also without a mount: SQLite is told that the database may have no more pages."""
    done = on_ranks(
        """
        from cumulticast import sim
        driver.init(0)
        db = sim.current().world._connection
        db.execute("pragma max_page_count = 1")  # no more than it has
        made, answer = [], 0
        while not answer and len(made) < 50000:
            try: made.append(multicast(1))
            except driver.DriverError as error: answer = int(error.status)
        tell(answer=answer, files=len(os.listdir(WORLD / "multicast")) - len(made))
        for mc in made: driver.mem_release(mc)
        tell(left=len(os.listdir(WORLD / "multicast")), again=status(multicast, 1))
        """,
        1,
        CUDA_LOG_FILE="stderr",
    )
    assert (done.each("answer"), done.each("files"), done.each("left"), done.each("again")) == ([2], [0], [0], [0])
    assert "the host has no room for the books of " in done.err
    assert "database or disk is full" in done.err
    assert "Traceback" not in done.err
