"""Who may open a world, what is wrong with one that cannot be opened, where it lives, and when it goes."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from on_ranks import COMMAND, HERE, PRELUDE, environment, eventually, finished, started

from cumulticast import sim
from cumulticast.sim.machine import load
from cumulticast.sim.shared import World, WorldError

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def world(tmp_path: Path) -> Generator[Path]:
    """Make a world and leave it without an owner in this process, so that files can be exchanged."""
    path = tmp_path / "a world #1?%"
    made = World.create(load("hgx-h100-8", devices=2), profile="hardware", path=path)
    made.owned = False
    made.close()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a C program that opens the library and asks cuInit, cuDriverGetVersion and cuDeviceGetCount."""
    place = tmp_path_factory.mktemp("c host")
    (place / "libcuda.so.1").symlink_to(sim.library_path())
    source = HERE.parent / "cli" / "c_local.c"
    subprocess.run(["gcc", "-Wall", "-Werror", source, "-o", place / "host", "-ldl"], check=True, timeout=60)
    return place / "host"


def widen(path: Path) -> str:
    path.chmod(0o750)
    return "is open to others (mode 0750)"


def give_away(path: Path) -> str:
    os.chown(path, 12345, -1)
    return "belongs to user 12345, and this is user 0"


def replace_by_link(path: Path) -> str:
    path.rename(path.with_name("behind"))
    path.symlink_to(path.with_name("behind"))
    return "is a symbolic link, not a directory"


def remove(name: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        (path / name).unlink()
        return f"it has no file {name}"

    return spoil


def link(name: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        (path / name).rename(path.parent / name)
        (path / name).symlink_to(path.parent / name)
        return f"{name} is a symbolic link, not a file"

    return spoil


def pipe(name: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        (path / name).unlink()
        os.mkfifo(path / name)
        return f"{name} is a special file, not a file"

    return spoil


def foreign(name: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        os.chown(path / name, 12345, -1)
        return f"{name} belongs to user 12345"

    return spoil


def written(name: str, text: bytes, why: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        (path / name).write_bytes(text)
        return f"{path / name} {why}"

    return spoil


def statement(sql: str, why: str) -> Callable[[Path], str]:
    def spoil(path: Path) -> str:
        with sqlite3.connect(path / "world.db") as db:
            db.execute(sql)
        db.close()
        return why

    return spoil


def torn(path: Path) -> str:
    """Overwrite the middle of the books, as a failing disk would."""
    with open(path / "world.db", "r+b") as file:
        for page in range(1, 6):
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)
    return "world.db"


ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
SPOILED: list[object] = [
    pytest.param(widen, id="wider rights"),
    pytest.param(give_away, id="another user's", marks=ROOT),
    pytest.param(replace_by_link, id="a link"),
    *[pytest.param(remove(name), id=f"no {name}") for name in ("world.db", "words", "lives", "turn")],
    *[pytest.param(link(name), id=f"{name} a link") for name in ("world.db", "words", "lives", "turn")],
    *[pytest.param(pipe(name), id=f"{name} a pipe") for name in ("world.db", "words", "lives", "turn")],
    *[pytest.param(foreign(name), id=f"{name} another user's", marks=ROOT) for name in ("world.db", "words", "lives")],
    pytest.param(written("world.db", b"not a database, but long enough to look like one" * 99, "cannot be read"),
                 id="world.db is text"),
    pytest.param(written("world.db", b"", "cannot be read: no such table: world"), id="world.db is empty"),
    pytest.param(written("words", b"short", "has 5 bytes, not 262144"), id="words are short"),
    pytest.param(torn, id="world.db is torn"),
    pytest.param(statement("update world set value = 999 where key = 'schema'", "has schema 999, this version reads"),
                 id="another version's"),
    pytest.param(statement("delete from world where key = 'nodes'", "it has no nodes"), id="no nodes"),
    pytest.param(statement("update world set value = 'toaster' where key = 'machine'", "toaster"), id="no machine"),
    pytest.param(statement("update world set value = 'few' where key = 'devices'", "few"), id="no number"),
    pytest.param(statement("drop table binding", "its tables are not those of a world"), id="no table"),
]  # fmt: skip
EACH = pytest.mark.parametrize("spoil", SPOILED)


@EACH
def test_a_world_that_is_not_ours_or_not_whole_is_refused_by_name(world: Path, spoil: Callable[[Path], str]) -> None:
    World.open(world).close()
    why = spoil(world)
    with pytest.raises(WorldError) as caught:
        World.open(world)
    assert why in str(caught.value)
    assert str(world) in str(caught.value)


@EACH
def test_a_c_program_gets_999_and_the_reason(world: Path, spoil: Callable[[Path], str], host: Path) -> None:
    env = environment(None, LD_LIBRARY_PATH=str(host.parent), CUMULTICAST_WORLD=str(world))
    why = spoil(world)
    done = finished([str(host)], env)
    assert (done.code, done.out) == (0, "999 999 -1\n")
    assert why in done.err


def test_a_c_program_works_on_a_whole_world(world: Path, host: Path) -> None:
    env = environment(None, LD_LIBRARY_PATH=str(host.parent), CUMULTICAST_WORLD=str(world))
    done = finished([str(host)], env)
    assert (done.code, done.out, done.err) == (0, "0 0 2\n", "")


def test_books_that_break_under_a_program_answer_999_and_name_the_file(tmp_path: Path) -> None:
    code = PRELUDE + (
        "driver.init(0); memory()\n"
        "import sqlite3; db = sqlite3.connect(WORLD / 'world.db', isolation_level=None)\n"
        "db.execute('pragma wal_checkpoint(truncate)'); db.close()\n"
        "file = open(WORLD / 'world.db', 'r+b'); file.seek(0); file.write(b'\\xa5' * 16384); file.close()\n"
        "(WORLD / 'world.db-wal').write_bytes(b'\\xa5' * 65536)\n"
        "print([status(memory) for _ in range(3)][-1])\n"
    )
    env = environment(None, CUDA_LOG_FILE="stderr")
    done = finished([*COMMAND, "run", "--", sys.executable, "-c", code], env)
    assert done.out == "999\n"
    assert "world.db is damaged" in done.err
    assert "Traceback" not in done.err


# ---- where it lives

TELL_WORLD = PRELUDE + "driver.init(0); print(WORLD, sorted(os.listdir(WORLD))[:1])"
START = (
    "from cumulticast import sim; sim.start(devices=2); print(sim.world().path); sim.reset(); print(sim.world().path)"
)


@pytest.mark.parametrize("there", [False, True])
def test_run_makes_its_world_where_the_environment_says(tmp_path: Path, there: bool) -> None:
    place = tmp_path / "deep" / "down"
    if there:
        place.mkdir(mode=0o700, parents=True)
    env = environment(None, CUMULTICAST_WORLD=str(place))
    done = finished([*COMMAND, "run", "--", sys.executable, "-c", TELL_WORLD], env)
    assert (done.code, done.out.split()[0], done.err) == (0, str(place), "")
    assert not place.exists()


def test_start_makes_its_world_where_the_environment_says(tmp_path: Path) -> None:
    place = tmp_path / "here"
    done = finished([sys.executable, "-c", START], environment(None, CUMULTICAST_WORLD=str(place)))
    assert (done.out.split(), done.err) == ([str(place)] * 2, "")
    assert not place.exists()


def test_inside_a_world_another_one_is_made_beside_it(tmp_path: Path) -> None:
    env = environment(None, CUMULTICAST_WORLD=str(tmp_path / "outer"))
    done = finished([*COMMAND, "run", "--", *COMMAND, "run", "--", sys.executable, "-c", TELL_WORLD], env)
    inner = Path(done.out.split()[0])
    assert (done.code, inner.parent) == (0, tmp_path)
    assert inner.name.startswith("cumulticast-")
    assert os.listdir(tmp_path) == []


def test_what_is_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    tmp_path.chmod(0o700)
    done = finished([*COMMAND, "run", "--", "true"], environment(None, CUMULTICAST_WORLD=str(tmp_path)))
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path} is neither empty nor a world" in done.err
    assert (tmp_path / "letter").read_text() == "dear"


def test_a_dead_world_makes_room_for_a_new_one(world: Path) -> None:
    (world / "memory" / "1").write_bytes(b"left")
    env = environment(None, CUMULTICAST_WORLD=str(world))
    done = finished([*COMMAND, "run", "--", "sh", "-c", 'ls "$CUMULTICAST_WORLD/memory" | wc -l'], env)
    assert (done.code, done.out, done.err) == (0, "0\n", "")


def test_a_node_that_the_machine_does_not_have_is_refused(host: Path) -> None:
    env = environment(None, LD_LIBRARY_PATH=str(host.parent), CUMULTICAST_NODE="1")
    done = finished([str(host)], env)
    assert done.out == "999 999 -1\n"
    assert "CUMULTICAST_NODE=1: hgx-h100-8 has nodes 0 to 0 here" in done.err


# ---- when it goes


def test_what_a_killed_rank_held_is_given_back_at_once(tmp_path: Path) -> None:
    """Nobody else calls the driver: `run` itself cleans up after its ranks."""
    code = PRELUDE + (
        "driver.init(0)\n"
        "if RANK == 0: put('world', bytes(WORLD)); get('end')\n"
        "else: mc = multicast(1); driver.multicast_add_device(mc, 0); bound(mc); put('made'); time.sleep(40)\n"
    )
    command = [*COMMAND, "run", "--ranks", "2", "--", sys.executable, "-c", code]
    with started(command, environment(tmp_path)) as process:
        eventually(lambda: (tmp_path / "made").exists() and (tmp_path / "world").exists())
        world = Path((tmp_path / "world").read_text())
        assert [len(os.listdir(world / kind)) for kind in ("memory", "multicast")] == [1, 1]
        with sqlite3.connect(f"file:{world}/world.db?mode=ro", uri=True) as db:
            (pid,) = db.execute("select pid from process where rank = 1").fetchone()
        db.close()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: [len(os.listdir(world / kind)) for kind in ("memory", "multicast")] == [0, 0])
        (tmp_path / "end").touch()
        assert process.wait(20) == 137
    assert not world.exists()


def test_the_world_of_a_killed_owner_is_collected(tmp_path: Path) -> None:
    place = tmp_path / "owned"
    code = "from cumulticast import sim; sim.start(devices=1); print('up', flush=True); input()"
    env = environment(None, CUMULTICAST_WORLD=str(place))
    prune = [*COMMAND, "ps", "--prune"]
    with started([sys.executable, "-c", code], env, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        finished(prune, env)
        assert place.is_dir()
        process.kill()
        process.wait(10)
    assert f"removed {place}" in finished(prune, env).out.replace("\n", "")
    assert not place.exists()


def test_a_world_with_a_living_process_outlives_its_owner(tmp_path: Path) -> None:
    place = tmp_path / "owned"
    env = environment(tmp_path, CUMULTICAST_WORLD=str(place))
    member = PRELUDE + "driver.init(0); os.environ.pop('CUMULTICAST_WORLD'); put('in'); get('end'); memory()"
    with started([*COMMAND, "run", "--", "sleep", "40"], env) as owner:
        eventually(lambda: (place / "libcuda.so").exists())
        library = environment(tmp_path, CUMULTICAST_WORLD=str(place), LD_LIBRARY_PATH=str(place))
        with started([sys.executable, "-c", member], library) as process:
            eventually(lambda: (tmp_path / "in").exists())
            owner.kill()
            owner.wait(10)
            finished([*COMMAND, "ps", "--prune"], env)
            assert place.is_dir()
            (tmp_path / "end").touch()
            _, err = process.communicate(timeout=20)
            assert (process.returncode, err) == (0, "")


def test_a_program_that_has_not_come_to_the_driver_yet_keeps_its_world(tmp_path: Path) -> None:
    """`run` was killed, its program was not, and has the world's name in its environment."""
    place = tmp_path / "owned"
    env = environment(tmp_path, CUMULTICAST_WORLD=str(place))
    code = PRELUDE + "put('up'); get('end'); driver.init(0)"
    with started([*COMMAND, "run", "--", sys.executable, "-c", code], env) as owner:
        eventually(lambda: (tmp_path / "up").exists())
        owner.kill()
        owner.wait(10)
        finished([*COMMAND, "ps", "--prune"], env)
        assert place.is_dir()
    finished([*COMMAND, "ps", "--prune"], env)
    assert not place.exists()
