"""`cumulticast ps`: what it shows, that it changes nothing and keeps nobody waiting, and what it removes."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from on_ranks import COMMAND, PRELUDE, environment, eventually, finished, started, words

from cumulticast.sim.machine import load
from cumulticast.sim.shared import World

pytestmark = pytest.mark.timeout(60)
PS = (*COMMAND, "ps")


def ps(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PS, *options],
        env=environment(None, CUMULTICAST_WORLD=str(place)),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def shown(place: Path) -> dict[str, Any]:
    """Answer what ps says of one world."""
    document = json.loads(ps(place, "--json").stdout)
    assert document["schema"] == 1
    return next((world for world in document["worlds"] if world["path"] == str(place)), {})


WAITING = """
    driver.init(0)
    mc = multicast(3, types=FABRIC) if RANK == 0 else from_fabric(get("object"))
    if RANK == 0: put("object", fabric_handle(mc))
    if RANK < 2: driver.multicast_add_device(mc, RANK)
    put(f"pid-{RANK}", str(os.getpid()).encode())
    if RANK == 2:
        get("go", 900)
        driver.multicast_add_device(mc, 0)
    bound(mc, RANK % driver.device_get_count(), FABRIC)
    put(f"bound-{RANK}")
    get("end", 900)  # they are ended when the tests that share them are over
"""


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, Path]]:
    """Run three ranks on two nodes, two of which wait for the third; give the world and the meeting place."""
    tmp_path = tmp_path_factory.mktemp("waiting")
    place = tmp_path / "world"
    command = words(WAITING, 3, "--machine", "gb200-nvl72", "--nodes", "2", "--devices", "2")
    with started(command, environment(tmp_path, CUMULTICAST_WORLD=str(place))) as process:
        eventually(lambda: sum(bool(p["waiting"]) for p in shown(place).get("processes", ())) == 2)
        yield place, tmp_path
        assert process.poll() is None


def test_json_says_who_waits_for_whom(waiting: tuple[Path, Path]) -> None:
    place, meeting = waiting
    world = shown(place)
    assert set(world) == {"path", "machine", "processes", "devices", "allocations", "multicast"}
    assert world["machine"] == "gb200-nvl72"
    assert len(world["devices"]) == 4
    pids = [int((meeting / f"pid-{rank}").read_text()) for rank in range(3)]
    assert [(p["rank"], p["node"], p["pid"]) for p in world["processes"]] == [
        (0, 0, pids[0]), (1, 0, pids[1]), (2, 1, pids[2])
    ]  # fmt: skip
    assert all(set(process) == {"pid", "rank", "node", "waiting"} for process in world["processes"])
    (obj,) = world["multicast"]
    assert {"id", "size", "devices", "missing", "bindings", "holders"} <= set(obj)
    assert (obj["devices"], obj["missing"], obj["bindings"]) == ([0, 1], 1, [])
    assert sorted(obj["holders"]) == sorted(pids)
    for process in world["processes"][:2]:
        assert set(process["waiting"]) == {"call", "object", "for"}
        assert (process["waiting"]["call"], process["waiting"]["object"]) == ("cuMulticastBindMem", obj["id"])
        assert 0 <= process["waiting"]["for"] < 60
    assert world["processes"][2]["waiting"] is None
    assert [a["holders"] for a in world["allocations"]] == [[pids[0]], [pids[1]]] or len(world["allocations"]) == 2


def test_the_table_says_it_in_words(waiting: tuple[Path, Path]) -> None:
    place, _ = waiting
    done = ps(place)
    text = " ".join(done.stdout.split())
    assert f"{place} gb200-nvl72 4 devices, 3 processes, 2 allocations (4 MiB of device memory), 1 multicast" in text
    wait = r"waits \d+\.\d s in cuMulticastBindMem for multicast \d+\.1: 1 device missing; not waiting: rank 2"
    assert len(re.findall(wait, text)) == 2, text
    assert "\x1b" not in done.stdout


def test_looking_changes_nothing(waiting: tuple[Path, Path]) -> None:
    place, _ = waiting

    def state() -> dict[str, tuple[int, str]]:
        files = (place / name for name in ("world.db", "world.db-wal", "words", "lives", "turn"))
        return {f.name: (f.stat().st_mtime_ns, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files}

    eventually(lambda: state() == (time.sleep(0.3), state())[1])  # the ranks have said all there is to say
    before = state()
    for options in ((), ("--json",), ("--prune",)):
        ps(place, *options)
    assert state() == before


def test_after_the_wait_the_bindings_are_shown(waiting: tuple[Path, Path]) -> None:
    """The last of those that share the ranks: it ends the wait."""
    place, meeting = waiting
    (meeting / "go").touch()
    eventually(lambda: (meeting / "bound-0").exists() and (meeting / "bound-1").exists())
    world = shown(place)
    (obj,) = world["multicast"]
    assert (obj["missing"], obj["devices"], obj["slot"]) == (0, [0, 1, 2], True)
    assert {(b["device"], b["mc_offset"], b["size"]) for b in obj["bindings"]} >= {(0, 0, 2 << 20), (1, 0, 2 << 20)}
    assert [p["waiting"] for p in world["processes"][:2]] == [None, None]
    assert world["devices"][0]["used"] == 2 << 20


def test_a_writer_does_not_wait_for_ps_nor_ps_for_a_writer(tmp_path: Path) -> None:
    place = tmp_path / "world"
    world = World.create(load("hgx-h100-8"), profile="hardware", path=place)
    try:
        with world.transaction() as db:  # the turn and SQLite's write lock are ours
            db.execute("update device set used = 12345 where id = 3")
            assert shown(place)["devices"][3]["used"] == 0
        assert shown(place)["devices"][3]["used"] == 12345
    finally:
        world.close()


def test_the_dead_are_not_shown(tmp_path: Path) -> None:
    """A rank that was killed and is not cleaned up after, since nobody has called the driver since."""
    place = tmp_path / "world"
    code = PRELUDE + "driver.init(0); memory(); put('up'); time.sleep(40)"
    env = environment(tmp_path, CUMULTICAST_WORLD=str(place))
    with started([*COMMAND, "run", "--", "sh", "-c", '"$0" -c "$1"; exec sleep 40', sys.executable, code], env):
        eventually(lambda: (tmp_path / "up").exists())
        (process,) = shown(place)["processes"]
        assert shown(place)["allocations"][0]["holders"] == [process["pid"]]
        os.kill(process["pid"], signal.SIGKILL)
        eventually(lambda: not shown(place)["processes"])
        assert [a["holders"] for a in shown(place)["allocations"]] == [[]]
    finished([*PS, "--prune"], env)


def test_a_damaged_world_is_a_line(tmp_path: Path) -> None:
    place = tmp_path / "cumulticast-broken"
    World.create(load("hgx-h100-8"), profile="hardware", path=place).owned = False
    (place / "world.db").write_bytes(b"nonsense" * 1000)
    text = ps(place)
    assert text.returncode == 1
    assert "Traceback" not in text.stderr
    assert f"damaged: {place}/world.db cannot be read: file is not a database\n" in text.stdout
    document = json.loads(ps(place, "--json").stdout)
    (found,) = (one for one in document["damaged"] if one["path"] == str(place))
    assert found["why"] == f"{place}/world.db cannot be read: file is not a database"


def test_a_damaged_world_of_dead_people_is_pruned(tmp_path: Path) -> None:
    place = tmp_path / "cumulticast-broken"
    made = World.create(load("hgx-h100-8"), profile="hardware", path=place)
    made.owned = False
    (place / "world.db").write_bytes(b"nonsense" * 1000)
    ps(place, "--prune")
    assert place.exists(), "its owner, this process, lives"
    made.close()
    assert f"removed {place}: its owner and its processes are dead\n" in ps(place, "--prune").stdout
    assert not place.exists()


@pytest.mark.parametrize(("name", "content", "age", "goes"), [
    ("cumulticast-half", "memory", 100, True),      # its maker died before it came to the books
    ("cumulticast-half", "memory", 5, False),       # its maker may be at it
    ("cumulticast-source", "README.md", 100, False),  # somebody's checkout
    ("half", "memory", 100, False),                 # no name of ours
])  # fmt: skip
def test_what_is_no_world_is_pruned_only_when_it_can_be_nothing_else(
    tmp_path: Path, name: str, content: str, age: int, goes: bool
) -> None:
    (tmp_path / name / content).mkdir(parents=True)
    os.utime(tmp_path / name, (time.time() - age,) * 2)
    ps(tmp_path / "named-by-the-environment", "--prune")
    assert (tmp_path / name).exists() is not goes


def test_no_worlds_is_an_answer(tmp_path: Path) -> None:
    document = json.loads(ps(tmp_path / "none", "--json").stdout)
    assert [world for world in document["worlds"] if world["path"].startswith(str(tmp_path))] == []


def test_json_and_watch_exclude_each_other(tmp_path: Path) -> None:
    done = ps(tmp_path, "--json", "--watch")
    assert (done.returncode, done.stdout) == (2, "")


def wait_for(terminal: int, pattern: bytes) -> None:
    """Read a terminal until something is shown; only the end of what was read is kept, since reading must keep up."""
    seen, end = b"", time.monotonic() + 40
    while not re.search(pattern, seen[-5000:]):
        assert time.monotonic() < end and select.select([terminal], [], [], 20)[0], (pattern, seen)
        seen = seen[-10_000:] + os.read(terminal, 1 << 12)


def test_watch_shows_what_changes_until_ctrl_c(tmp_path: Path) -> None:
    place = tmp_path / "world"
    world = World.create(load("hgx-a100-8"), profile="hardware", path=place)
    try:
        pid, terminal = pty.fork()
        if pid == 0:
            env = environment(None, CUMULTICAST_WORLD=str(place), TERM="xterm")
            os.execve(sys.executable, [*PS, "--watch"], env)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 5000, 80, 0, 0))  # others' worlds come first
        wait_for(terminal, b"0 processes")
        world.enter(os.getpid(), 0, 41)
        wait_for(terminal, rb"41 +0 +%d" % os.getpid())
        os.write(terminal, b"\x03")
        with suppress(OSError):  # EIO: it has ended
            while os.read(terminal, 1 << 16):
                pass
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        os.close(terminal)
    finally:
        world.close()


def test_watch_in_a_pipe_prints_again_and_again(tmp_path: Path) -> None:
    place = tmp_path / "world"
    world = World.create(load("hgx-a100-8"), profile="hardware", path=place)
    try:
        with started([*PS, "--watch"], environment(None, CUMULTICAST_WORLD=str(place))) as process:
            assert process.stdout is not None
            seen = 0
            while seen < 3:
                seen += "hgx-a100-8" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
    finally:
        world.close()
