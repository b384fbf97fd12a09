"""`cumulticast run --ranks`: seats, environment, output, endings, signals, and the death of `run` itself."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from on_ranks import COMMAND, PRELUDE, Done, environment, eventually, finished, lives, on_ranks, started, words

pytestmark = pytest.mark.timeout(60)
SEAT = """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUMULTICAST_NODE")
    tell(seat=[int(os.environ[name]) for name in names], master=[os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]])
"""
SHELL = ("sh", "-c")


def shell(script: str, ranks: int, *options: str) -> Done:
    """Run a shell script in each rank."""
    return finished([*COMMAND, "run", "--ranks", str(ranks), *options, "--", *SHELL, script], environment(None))


@pytest.mark.parametrize(
    ("ranks", "options", "seats"),
    [
        (3, (), [[0, 3, 0, 3, 0], [1, 3, 1, 3, 0], [2, 3, 2, 3, 0]]),
        (3, ("--devices", "2"), [[0, 3, 0, 3, 0], [1, 3, 1, 3, 0], [2, 3, 2, 3, 0]]),
        (4, ("--machine", "gb200-nvl72", "--nodes", "2"),
         [[0, 4, 0, 2, 0], [1, 4, 1, 2, 0], [2, 4, 0, 2, 1], [3, 4, 1, 2, 1]]),
        (3, ("--machine", "gb200-nvl72", "--devices", "2"), [[0, 3, 0, 2, 0], [1, 3, 1, 2, 0], [2, 3, 0, 1, 1]]),
    ],
)  # fmt: skip
def test_each_rank_is_told_its_seat(ranks: int, options: tuple[str, ...], seats: list[list[int]]) -> None:
    done = on_ranks(SEAT, ranks, *options)
    assert (done.code, done.err) == (0, "")
    assert done.each("seat") == seats
    assert len({tuple(master) for master in done.each("master")}) == 1


def test_ranks_meet_at_the_master_port() -> None:
    done = on_ranks(
        """
        import socket
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        if RANK == 0:
            with socket.create_server(place) as server:
                tell(heard=sorted(server.accept()[0].recv(10).decode() for _ in range(WORLD_SIZE - 1)))
        else:
            end = time.monotonic() + 20
            while True:
                try:
                    with socket.create_connection(place) as link:
                        link.sendall(str(RANK).encode())
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < end
                    time.sleep(0.02)
        """,
        3,
    )
    assert (done.code, done.each("heard")) == (0, [["1", "2"]]), done.err


def test_ranks_share_one_machine_and_see_the_devices_of_their_node() -> None:
    done = on_ranks(
        "driver.init(0); tell(count=driver.device_get_count(), world=str(WORLD))", 3, "--machine", "gb200-nvl72",
        "--nodes", "2", "--devices", "3",
    )  # fmt: skip
    assert (done.code, done.each("count")) == (0, [3, 3, 3])
    assert len(set(done.each("world"))) == 1
    assert not Path(done.each("world")[0]).exists()


# ---- output

NOISE = r"""
import os, sys, time
rank = int(os.environ["RANK"])
for number in range(300):
    for piece in (b"rank %d " % rank, b"line %d " % number, b"x" * (number * 7 % 400), b"\n"):
        os.write(1 + number % 2, piece)
os.write(1, b"\x00\xff\xfe no text \x1b[0m\n\n")
os.write(1, b"the last line has no end")
"""


def test_lines_of_many_ranks_do_not_mix() -> None:
    command = [*COMMAND, "run", "--ranks", "6", "--", sys.executable, "-c", NOISE]
    done = finished(command, environment(None))
    assert done.code == 0
    for rank in range(6):
        prefix = f"[rank {rank}] "
        wanted = [f"rank {rank} line {n} " + "x" * (n * 7 % 400) for n in range(300)]
        out = [line.removeprefix(prefix) for line in done.out.split("\n") if line.startswith(prefix)]
        err = [line.removeprefix(prefix) for line in done.err.split("\n") if line.startswith(prefix)]
        assert out[:-3] == wanted[0::2]
        assert err == wanted[1::2]
        assert out[-3:] == ["\x00\udcff\udcfe no text \x1b[0m", "", "the last line has no end"]
    lines = (done.out + done.err).removesuffix("\n").split("\n")
    assert all(re.match(r"\[rank [0-5]\] ", line) for line in lines if line)
    assert done.out.endswith("\n")


def test_a_line_is_shown_when_it_is_complete_not_when_the_rank_ends() -> None:
    snippet = """
        print("before")                 # not flushed by the program
        if RANK == 0: sys.stdin.readline()
        else: get("go")
    """
    with started(words(snippet, 1), environment(None), stdin=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "[rank 0] before\n"
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(20) == 0


def test_the_first_rank_reads_our_input_and_the_others_none() -> None:
    command = [*COMMAND, "run", "--ranks", "2", "--", *SHELL, "wc -c"]
    with started(command, environment(None), stdin=subprocess.PIPE) as process:
        out, _ = process.communicate("four", timeout=30)
    assert sorted(out.split("\n")) == ["", "[rank 0] 4", "[rank 1] 0"]


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    done = shell("head -c 3000000 /dev/zero | tr '\\0' y", 1)
    lines = done.out.removesuffix("\n").split("\n")
    assert len(lines) == 3
    assert "".join(line.removeprefix("[rank 0] ") for line in lines) == "y" * 3_000_000


def test_a_reader_that_leaves_ends_the_writers() -> None:
    """As without us: who writes to a pipe that nobody reads gets SIGPIPE."""
    script = f"{' '.join(COMMAND)} run --ranks 2 -- yes | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = finished(["bash", "-c", script], environment(None))
    shown, code, _ = done.out.split("\n")
    assert shown in ("[rank 0] y", "[rank 1] y")
    assert code == str(128 + signal.SIGPIPE)


def test_a_process_that_outlives_its_rank_is_not_waited_for() -> None:
    done = shell("sleep 40 & echo here", 2)
    assert (done.code, sorted(done.out.split())) == (0, sorted(["[rank", "0]", "here", "[rank", "1]", "here"]))


# ---- endings


def test_a_rank_that_dies_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    done = on_ranks(
        """
        if RANK == 2: os.kill(os.getpid(), 9)
        if RANK == 1: sys.exit(7)
        while True:  # until the dead are gone from the world's list
            import sqlite3
            db = sqlite3.connect(WORLD / "world.db")
            running = db.execute("select count(*) from rank where running").fetchone()[0]
            db.close()
            if running == WORLD_SIZE - 2: break
            time.sleep(0.02)
        tell(alive=RANK)
        """,
        4,
    )
    assert done.each("alive") == [0, 3]
    reports = ["cumulticast run: rank 1 ended with exit code 7", "cumulticast run: rank 2 was ended by SIGKILL"]
    assert sorted(done.err.splitlines()) == reports
    assert done.code == 7


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit $RANK", 1), ("kill -TERM $$", 143)])
def test_the_exit_code_is_that_of_the_first_rank_that_failed(script: str, code: int) -> None:
    assert shell(script, 3).code == code


def test_what_a_rank_wrote_last_stands_before_the_report() -> None:
    done = shell("echo first >&2; echo second >&2; kill -KILL $$", 1)
    assert done.err.splitlines() == [
        "[rank 0] first", "[rank 0] second", "cumulticast run: rank 0 was ended by SIGKILL"
    ]  # fmt: skip


def test_a_wait_for_a_rank_that_died_ends_and_names_it(tmp_path: Path) -> None:
    done = on_ranks(
        """
        driver.init(0)
        meet("here")
        if RANK == 1: os.kill(os.getpid(), 9)
        mc = multicast(2)
        driver.multicast_add_device(mc, 0)
        tell(status=bound(mc))
        """,
        2,
        meeting=tmp_path,
        CUDA_LOG_FILE="stderr",
    )
    assert done.each("status") == [909]
    assert re.search(
        r"MC341 .*: multicast object \d+ waits for 1 of 2 devices; .*; processes that ended: 1\b", done.err
    )


def test_a_wait_for_a_rank_that_ended_well_ends_too(tmp_path: Path) -> None:
    done = on_ranks(
        """
        if RANK == 0:
            driver.init(0)
            mc = multicast(2)
            driver.multicast_add_device(mc, 0)
            tell(status=bound(mc))
        """,
        2,
        limit=30,
    )
    assert (done.each("status"), done.code) == ([909], 0)


def test_a_rank_that_has_not_come_to_the_driver_is_waited_for(tmp_path: Path) -> None:
    """Rank 1 takes longer than the second after which a hopeless wait would have ended."""
    done = on_ranks(
        """
        if RANK == 1:
            mc_data = get("object")
            time.sleep(2)
        driver.init(0)
        if RANK == 0:
            mc = multicast(2, types=FABRIC)
            driver.multicast_add_device(mc, 0)
            put("object", fabric_handle(mc))
        else:
            mc = from_fabric(mc_data)
            driver.multicast_add_device(mc, 1)
        tell(status=bound(mc, RANK, FABRIC))
        meet("bound")
        """,
        2,
        meeting=tmp_path,
    )
    assert (done.each("status"), done.code) == ([0, 0], 0), done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ranks", "0", "--", "true"], "'0' is no number of 1 or more"),
        (["--ranks", "-1", "--", "true"], "is no number of 1 or more"),
        (["--ranks", "many", "--", "true"], "'many' is no number of 1 or more"),
        (["--ranks", "2", "--nodes", "2", "--", "true"], "machine hgx-h100-8 has 1 nodes: 2 is not between 1 and 1"),
        (["--ranks", "2", "--", "no-such-command-anywhere"], "there is no command 'no-such-command-anywhere' on PATH"),
        (["--ranks", "2"], "no command; write it behind --"),
    ],
)
def test_usage_errors(options: list[str], said: str) -> None:
    done = finished([*COMMAND, "run", *options], environment(None))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


# ---- signals

COUNT = """
    import signal
    got = []
    for number in (2, 15, 10): signal.signal(number, lambda n, _: got.append(n))
    print("ready", flush=True)
    end = time.monotonic() + 20
    while not got and time.monotonic() < end: time.sleep(0.01)
    time.sleep(0.2)
    tell(got=got, world=str(WORLD))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_forwarded_to_every_rank_once(number: signal.Signals) -> None:
    with started(words(COUNT, 3), environment(None)) as process:
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(3)) == [f"[rank {n}] ready\n" for n in range(3)]
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    got = re.findall(r'"got": (\[.*?\])', out)
    assert got == [f"[{int(number)}]"] * 3
    assert process.returncode == 0
    world = re.search(r'"world": "(.*?)"', out)
    assert world is not None and not os.path.exists(world[1])


def test_ctrl_c_reaches_every_rank_once() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, words(COUNT, 2), environment(None))
    seen = b""
    try:
        while seen.count(b"ready") < 2:
            seen += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        while seen.count(b"got") < 2:
            seen += os.read(terminal, 1000)
        assert seen.count(b'"got": [2],') == 2, seen
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(terminal)


def test_ranks_do_not_outlive_run_and_their_world_is_collected(tmp_path: Path) -> None:
    snippet = 'driver.init(0); memory(); put(f"pid-{RANK}", str(os.getpid()).encode()); put("world", bytes(WORLD))\n'
    with started(words(snippet + "time.sleep(40)", 2), environment(tmp_path)) as process:
        eventually(lambda: all((tmp_path / name).exists() for name in ("pid-0", "pid-1", "world")))
        world = Path((tmp_path / "world").read_text())
        pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in range(2)]
        pruned = finished([*COMMAND, "ps", "--prune", "--json"], environment(None))
        assert world.is_dir(), "a living world was removed"
        assert str(world) not in pruned.out.partition('"pruned"')[2]
        os.kill(process.pid, signal.SIGKILL)
        eventually(lambda: not any(map(lives, pids)))
    assert world.is_dir()
    pruned = finished([*COMMAND, "ps", "--prune", "--json"], environment(None))
    assert str(world) in pruned.out.partition('"pruned"')[2]
    assert not world.exists()


def test_without_ranks_nothing_is_put_before_lines() -> None:
    done = finished([*COMMAND, "run", "--", sys.executable, "-c", PRELUDE + "print(RANK, 'RANK' in os.environ)"],
                    environment(None))  # fmt: skip
    assert (done.code, done.out, done.err) == (0, "0 False\n", "")
