"""The file: many processes write it, some are killed, disks fill up, paths are wrong. The program never suffers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from command_line import clean_environment, cumulticast
from traced import environment, python_traced, read, run_traced

INIT = "from cuda.bindings._v2 import driver; driver.init(0); "
MANY = INIT + "[driver.device_get_count() for _ in range({count})]"


def run(path: object, *command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return cumulticast("run", "--trace", str(path), "--", *command, env=env)


def test_lines_of_many_processes_stay_whole(tmp_path: Path) -> None:
    code = f"""
        import subprocess, sys
        code = {MANY.format(count=1500)!r}
        them = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
        sys.exit(sum(one.wait() for one in them))
    """
    traced = python_traced(tmp_path, code)
    per_process: dict[int, list[float]] = {}
    for one in traced.of("cuDeviceGetCount"):
        per_process.setdefault(one["pid"], []).append(one["t"])
    assert [len(times) for times in per_process.values()] == [1500] * 4
    assert all(times == sorted(times) for times in per_process.values())


def test_ranks_are_told_apart(tmp_path: Path) -> None:
    """Two ranks on one world: rank 0 waits for the device that rank 1 adds after it has taken the object's handle."""
    script = tmp_path / "rank.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time
            from cuda.bindings._v2 import driver
            place, rank = sys.argv[1], int(os.environ["RANK"])
            driver.init(0)
            FABRIC = 8
            if rank == 0:
                prop = driver.MulticastObjectProp_v1()
                prop.num_devices, prop.size_, prop.handle_types = 2, 2 << 20, FABRIC
                mc = driver.multicast_create(prop)
                shared = driver.mem_export_to_shareable_handle(mc, FABRIC, 0)
                import ctypes
                with open(place + "/new", "wb") as file: file.write(ctypes.string_at(shared.ptr, 64))
                os.rename(place + "/new", place + "/handle")
            else:
                while not os.path.exists(place + "/handle"): time.sleep(0.01)
                data = open(place + "/handle", "rb").read()
                import ctypes
                copy = ctypes.create_string_buffer(data, 64)
                mc = driver.mem_import_from_shareable_handle(ctypes.addressof(copy), FABRIC)
                time.sleep(1.5)
            driver.multicast_add_device(mc, rank)
            memory = driver.MemAllocationProp_v1()
            memory.type, memory.requested_handle_types = 1, FABRIC
            memory.location.type, memory.location.id = 1, rank
            handle = driver.mem_create(2 << 20, memory, 0)
            driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)
            driver.multicast_unbind(mc, rank, 0, 2 << 20)
            driver.mem_release(handle)
            driver.mem_release(mc)
            """
        )
    )
    options = ("--ranks", "2")
    traced = run_traced(tmp_path, sys.executable, str(script), str(tmp_path), options=options)
    assert traced.done.returncode == 0, traced.done.stderr
    assert {one["rank"] for one in traced.lines} == {0, 1}
    first, second = sorted(traced.of("cuMulticastBindMem"), key=lambda one: one["rank"])
    assert first["waited_us"] > 1e6 and "waited_us" not in second
    done = cumulticast("trace", "--check", "--json", str(traced.path), "--perfetto", str(tmp_path / "out.json"))
    findings = json.loads(done.stdout)["findings"]
    waits = [found for found in findings if found["kind"] == "wait"]
    assert done.returncode == 1 and len(waits) == 1 and waits[0]["ranks"] == [0]
    assert "until rank 1 added device 1" in waits[0]["message"]
    assert [found for found in findings if found["kind"] in ("leak", "missing-device", "undefined")] == []
    drawn = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    arrows = [(event["ph"], event["pid"]) for event in drawn if event["ph"] in "sf"]
    assert arrows == [("s", 1), ("f", 0)]


def test_a_killed_process_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    code = INIT + "print('ready', flush=True)\nwhile True: driver.device_get_count()"
    with subprocess.Popen(
        [sys.executable, "-m", "cumulticast.cli", "run", "--trace", str(path), "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        _, lines = read_so_far(path)
        os.kill(lines[0]["pid"], 9)
        assert process.wait(30) == 137
    _, lines = read(path)  # every line is JSON
    assert path.read_bytes().endswith(b"}\n") and len(lines) > 500


def read_so_far(path: Path) -> tuple[object, list[dict[str, int]]]:
    header, *lines = path.read_text().splitlines()[:-1]
    return json.loads(header), [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/dev/full", "No space left on device"),
        ("/nowhere/at/all", "No such file or directory"),
        ("{place}", "Is a directory"),
        ("{place}/pipe", "No such device or address"),
    ],
)
def test_a_file_that_cannot_be_written_is_reported_once(tmp_path: Path, path: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = path.format(place=tmp_path)
    done = run(path, sys.executable, "-c", INIT + "print(driver.device_get_count())")
    assert (done.returncode, done.stdout) == (0, "8\n")
    assert done.stderr.count("\n") == 1
    assert f"the trace {path} ends here: {why}" in done.stderr


def test_a_variable_that_names_no_file_is_reported_by_the_process(tmp_path: Path) -> None:
    code = "import cumulticast.sim as sim; sim.start(); from cuda.bindings._v2 import driver; driver.init(0); print(1)"
    env = environment(tmp_path / "no" / "file")
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr.count("No such file or directory") == 1 and done.stderr.count("\n") == 1


def test_a_pipe_with_a_reader_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = run(pipe, sys.executable, "-c", INIT)
    finally:
        os.close(reader)
    assert done.returncode == 0 and "it is a pipe; a trace goes to a file" in done.stderr


def test_a_disk_that_fills_up_ends_the_trace_and_nothing_else(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk; the last line is cut off there."""
    path = tmp_path / "trace.jsonl"
    code = (
        "import resource\n"
        + INIT.replace("; ", "\n")
        + textwrap.dedent(
            f"""
        import os
        size = os.path.getsize({str(path)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, resource.RLIM_INFINITY))
        print(sum(driver.device_get_count() for _ in range(100)))
        """
        )
    )
    done = run(path, sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (0, "800\n"), done.stderr
    assert done.stderr.count("\n") == 1 and "File too large" in done.stderr
    checked = cumulticast("trace", "--check", str(path))
    assert checked.returncode == 0
    assert "is cut off and was left out" in checked.stderr


def test_run_begins_a_new_trace(tmp_path: Path) -> None:
    for _ in range(2):
        traced = python_traced(tmp_path, INIT)
        assert len(traced.of("cuInit")) == 1


def test_the_environment_adds_to_the_trace_that_is_there(tmp_path: Path) -> None:
    """So that a `run` inside of another one keeps what was written before."""
    path = tmp_path / "trace.jsonl"
    worlds = set()
    for _ in range(2):
        done = cumulticast("run", "--", sys.executable, "-c", INIT, env=environment(path))
        assert (done.returncode, done.stderr) == (0, "")
    for line in path.read_text().splitlines():
        found = json.loads(line)
        if "schema" in found:
            worlds.add(found["world"])
    assert len(worlds) == 2
    summary = json.loads(cumulticast("trace", "--json", str(path)).stdout)
    assert [world["world"] in worlds for world in summary["worlds"]] == [True, True]


def test_a_child_that_moves_elsewhere_writes_the_same_file(tmp_path: Path) -> None:
    command = ["-m", "cumulticast.cli", "run", "--trace", "mine.jsonl", "--", "sh", "-c"]
    script = f"cd / && {sys.executable} -c '{INIT}'"
    subprocess.run([sys.executable, *command, script], cwd=tmp_path, env=clean_environment(), check=True, timeout=60)
    assert any(one["call"] == "cuInit" for one in read(tmp_path / "mine.jsonl")[1])


def test_a_forked_child_writes_under_its_own_pid(tmp_path: Path) -> None:
    code = """
        import os
        from cuda.bindings import driver
        driver.cuDeviceGetCount()
        child = os.fork()
        if not child:
            driver.cuInit(0)
            os._exit(0)
        os.waitpid(child, 0)
        print(child)
    """
    traced = python_traced(tmp_path, code)
    assert [one["pid"] for one in traced.of("cuInit")] == [int(traced.done.stdout)]
