"""What all commands have in common: help, usage errors, exit codes, lazy imports, colours."""

import subprocess
import sys

import pytest
from command_line import clean_environment, cumulticast, program

from cumulticast import __version__, cli


def test_help_names_every_command_and_prints_on_stdout() -> None:
    done = cumulticast("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command in cli.COMMANDS:
        assert f"\n    {command} " in done.stdout


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_its_help(command: str) -> None:
    done = cumulticast(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: cumulticast {command} ")


def test_version() -> None:
    assert cumulticast("--version").stdout == f"cumulticast {__version__}\n"


@pytest.mark.parametrize("words", [[], ["frobnicate"], ["rules", "--frobnicate"], ["demo", "--size"]])
def test_usage_errors_exit_2_and_print_on_stderr_only(words: list[str]) -> None:
    done = cumulticast(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error" in done.stderr


def test_main_answers_instead_of_exiting(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert cli.main(["rules", "MC304"]) == 0
    assert cli.main(["rules", "MC000"]) == 2
    assert "nearest MC001" in capsys.readouterr().err


def test_the_installed_script_is_the_same_command() -> None:
    script = f"{sys.prefix}/bin/cumulticast"
    assert program(script, "--version").stdout == f"cumulticast {__version__}\n"


def test_only_the_wanted_command_is_imported() -> None:
    code = (
        "import sys; from cumulticast.cli import main; main(['rules', 'MC304', '--json']);"
        "heavy = {'numpy', 'cuda', 'rich', 'cumulticast.cli.demo', 'cumulticast.cli.run'};"
        "loaded = heavy & set(sys.modules);"
        "print(sorted(loaded), file=sys.stderr)"
    )
    done = program(sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    pipe = f"{sys.executable} -m cumulticast.cli rules --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", pipe], capture_output=True, text=True, timeout=60, env=clean_environment(), check=True
    )
    assert (done.stdout, done.stderr) == ("{0\n", "")


@pytest.mark.parametrize("words", [["rules"], ["rules", "MC304"], ["machines"], ["machines", "hgx-h100-8"]])
def test_a_pipe_gets_no_colours_and_80_columns(words: list[str]) -> None:
    done = cumulticast(*words)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    prose = [line for line in done.stdout.splitlines() if not line.startswith("    ")]
    assert max(map(len, prose)) <= 80


def test_no_color_wins_over_forced_colours() -> None:
    coloured = cumulticast("machines", env=clean_environment(FORCE_COLOR="1", TERM="xterm-256color"))
    plain = cumulticast("machines", env=clean_environment(FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1"))
    assert "\x1b[36m" in coloured.stdout
    assert "\x1b[36m" not in plain.stdout
