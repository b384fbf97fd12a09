"""`cumulticast run`: exit codes, signals, the command's environment, what is left behind, wrong usage."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from command_line import clean_environment, cumulticast, program

COUNT = textwrap.dedent(
    """
    from cuda.bindings._v2 import driver
    driver.init(0)
    print(driver.device_get_count(), driver.device_get_name(80, 0).rstrip(b"\\0").decode())
    """
)


def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return cumulticast("run", *words, env=env)


def python(code: str, *options: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run(*options, "--", sys.executable, "-c", textwrap.dedent(code), env=env)


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_of_the_command_is_ours(code: int) -> None:
    assert run("--", "sh", "-c", f"exit {code}").returncode == code


def test_a_command_that_a_signal_ends_answers_as_in_a_shell_and_is_reported() -> None:
    done = run("--", "sh", "-c", "kill -SEGV $$")
    assert done.returncode == 128 + signal.SIGSEGV
    assert done.stderr == "cumulticast run: sh was ended by SIGSEGV\n"


def test_the_three_streams_are_the_commands() -> None:
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--", "sh", "-c", "cat; echo wrong >&2"]
    done = subprocess.run(
        command,
        input="hello",
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello", "wrong\n")


def test_arguments_reach_the_command_unread() -> None:
    done = run("--", "printf", "%s|", "--machine", "x", "--", "-h")
    assert done.stdout == "--machine|x|--|-h|"


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ((), "8 NVIDIA H100 80GB HBM3"),
        (("--machine", "hgx-b200-8"), "8 NVIDIA B200"),
        (("--machine", "hgx-h100-8", "--devices", "3"), "3 NVIDIA H100 80GB HBM3"),
        (("--machine", "gb200-nvl72"), "4 NVIDIA GB200"),
    ],
)
def test_an_unmodified_python_program_sees_the_machine(options: tuple[str, ...], seen: str) -> None:
    done = python(COUNT, *options)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, seen, "")


def test_the_environment_chooses_what_the_command_line_leaves_open() -> None:
    env = clean_environment(CUMULTICAST_MACHINE="hgx-h200-8", CUMULTICAST_DEVICES="2")
    assert python(COUNT, env=env).stdout.strip() == "2 NVIDIA H200"
    assert python(COUNT, "--devices", "5", env=env).stdout.strip() == "5 NVIDIA H200"


BIND_BEYOND = """
    from cuda.bindings._v2 import driver
    driver.init(0)
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 1, 2 << 20
    mc = driver.multicast_create(prop)
    driver.multicast_add_device(mc, 0)
    memory = driver.MemAllocationProp_v1()
    memory.type, memory.location.type = 1, 1
    handle = driver.mem_create(4 << 20, memory, 0)
    driver.multicast_bind_mem(mc, 0, handle, 0, 4 << 20, 0)   # as far as the extent, beyond prop.size
"""


def test_the_profile_reaches_the_driver() -> None:
    assert python(BIND_BEYOND, "--profile", "hardware").returncode == 0
    done = python(BIND_BEYOND, "--profile", "strict")
    assert done.returncode == 1
    assert "InvalidValueError" in done.stderr


def test_a_fault_reaches_the_driver() -> None:
    code = "from cuda.bindings import driver; print(int(driver.cuInit(0)[0]))"
    assert python(code, "--fault", "fm=never").stdout == "802\n"
    assert python(code, "--fault", "fm=stopped", "--fault", "slots=3").stdout == "0\n"


def test_a_fault_that_the_machine_cannot_have_is_a_usage_error() -> None:
    done = python("pass", "--devices", "4", "--fault", "cliques=2,3")
    assert done.returncode == 2
    assert "fault 'cliques=2,3': cliques (2, 3): each needs a device and hgx-h100-8 has 4" in done.stderr
    assert python("pass", "--devices", "4", "--fault", "cliques=2,2").returncode == 0


def test_a_block_limit_ends_a_blocked_bind() -> None:
    code = BIND_BEYOND.replace("num_devices, prop.size_ = 1", "num_devices, prop.size_ = 2")
    done = python(code, "--hopeless", "wait", "--block-limit", "0.3")
    assert "DriverTimeoutError" in done.stderr


def test_all_processes_of_the_command_share_one_machine(tmp_path: Path) -> None:
    """What one process allocates lies in the world that another one finds."""
    child = tmp_path / "child.py"
    child.write_text(
        "import os; from cuda.bindings._v2 import driver; driver.init(0)\n"
        "print(len(os.listdir(os.environ['CUMULTICAST_WORLD'] + '/memory')))\n"
    )
    code = f"""
        import subprocess, sys
        from cuda.bindings._v2 import driver
        driver.init(0)
        memory = driver.MemAllocationProp_v1()
        memory.type, memory.location.type = 1, 1
        handle = driver.mem_create(2 << 20, memory, 0)
        subprocess.run([sys.executable, {str(child)!r}], check=True)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"


def test_nothing_is_left_behind() -> None:
    code = COUNT + "import os; print(os.environ['CUMULTICAST_WORLD']); os.kill(os.getpid(), 9)"
    done = run("--", sys.executable, "-uc", code)
    assert done.returncode == 137
    world = Path(done.stdout.split()[-1])
    assert world.parent.is_dir()
    assert not world.exists()


def test_an_earlier_library_path_stays_behind_ours() -> None:
    done = run("--", "printenv", "LD_LIBRARY_PATH", env=clean_environment(LD_LIBRARY_PATH="/opt/one:/opt/two"))
    first, *rest = done.stdout.strip().split(":")
    assert "cumulticast-" in first
    assert rest == ["/opt/one", "/opt/two"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_forwarded_once(number: signal.Signals) -> None:
    """The command counts what it gets for a moment and tells; `run` ends with it and cleans up."""
    code = textwrap.dedent(
        f"""
        import os, signal, sys, time
        got = []
        signal.signal({int(number)}, lambda *_: got.append(1))
        print(os.environ["CUMULTICAST_WORLD"], flush=True)
        end = time.monotonic() + 20
        while not got and time.monotonic() < end: time.sleep(0.01)
        time.sleep(0.2)
        sys.exit(10 + len(got))
        """
    )
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--", sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
        try:
            assert process.stdout is not None
            world = process.stdout.readline().strip()
            assert os.path.isdir(world)
            process.send_signal(number)
            assert process.wait(timeout=30) == 11
        finally:
            process.kill()
    assert not os.path.exists(world)


def test_ctrl_c_reaches_the_command_once() -> None:
    """The terminal tells its whole foreground group, so `run` must not tell the command again."""
    code = (
        "import signal, sys, time; got = []; signal.signal(2, lambda *_: got.append(1))\n"
        "print('ready', flush=True)\n"
        "end = time.monotonic() + 20\n"
        "while not got and time.monotonic() < end: time.sleep(0.01)\n"
        "time.sleep(0.2); sys.exit(10 + len(got))"
    )
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--", sys.executable, "-c", code]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, command, clean_environment())
    try:
        while b"ready" not in os.read(terminal, 1000):
            pass
        os.write(terminal, b"\x03")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 11
    finally:
        os.close(terminal)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "no-such-command-anywhere"], "there is no command 'no-such-command-anywhere' on PATH"),
        (["--", "/"], "'/' cannot be run: "),
        ([], "no command; write it behind --"),
        (["--"], "no command; write it behind --"),
        (
            ["--devices", "99", "--", "true"],
            "machine hgx-h100-8 has 8 devices per node: 99 is not between 1 and 8; nearest 8",
        ),
        (["--devices", "0", "--", "true"], "nearest 1"),
        (["--machine", "hgx-h100", "--", "true"], "nearest hgx-h100-8"),
        (["--profile", "lenient", "--", "true"], "invalid choice: 'lenient'"),
        (["--fault", "fm=asleep", "--", "true"], "fm is one of stopped, never"),
        (["--block-limit", "soon", "--", "true"], "'soon' is no time"),
        (["--block-limit", "0", "--", "true"], "'0' is no time"),
        (["--kernel-limit", "-1", "--", "true"], "'-1' is no time"),
        (["--memory", "kind", "--", "true"], "memory 'kind' is none of plain, adversarial, adversarial:SEED"),
    ],
)
def test_usage_errors(words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_wrong_environment_variable_is_a_usage_error() -> None:
    done = run("--", "true", env=clean_environment(CUMULTICAST_PROFILE="lenient"))
    assert done.returncode == 2
    assert "profile 'lenient' is none of strict, hardware" in done.stderr


def test_a_command_that_ignores_the_driver_costs_little() -> None:
    """No driver is loaded for a program that makes no CUDA call."""
    done = program(sys.executable, "-X", "importtime", "-m", "cumulticast.cli", "run", "--", "true")
    assert done.returncode == 0
    assert "cumulticast.libcuda" not in done.stderr
    assert " numpy" not in done.stderr
