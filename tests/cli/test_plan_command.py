"""`cumulticast plan`: inputs, answers, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from command_line import LIMIT, answered_json, clean_environment, cumulticast
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast import cli
from cumulticast.cli.plan_requests import COLUMNS

LINES = "# what a step needs\ngrad 3MiB 0-7\n\nweights 700KiB   # all devices\npair 5MiB 0,1\n"
AS_CSV = "name,size,devices,alignment\ngrad,3MiB,0-7,256\nweights,700KiB,,\npair,5MiB,0 1,\n"
AS_JSON = json.dumps(
    {
        "requests": [
            {"name": "grad", "size": "3MiB", "devices": "0-7"},
            {"name": "weights", "shape": [350, 1024], "dtype": "bfloat16"},
            {"name": "pair", "nbytes": 5 << 20, "team": [0, 1]},
        ]
    }
)


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "requests"
        path.write_text(text)
        return str(path)

    return written


@pytest.mark.parametrize("text", [LINES, AS_CSV, AS_JSON, "\ufeff" + LINES])
def test_the_three_forms_of_requests_are_one(file, text):
    answer = answered_json("plan", file(text), "--json")
    assert answer["schema"] == 1 and answer["fits"] and answer["machine"] == "hgx-h100-8"
    arrays = {a["name"]: (a["nbytes"], o["team"]) for o in answer["objects"] for a in o["arrays"]}
    everyone = list(range(8))
    assert arrays == {"grad": (3 << 20, everyone), "weights": (700 << 10, everyone), "pair": (5 << 20, [0, 1])}
    assert answer["slots"] == {"used": 2, "limit": 128}
    assert set(answer["compared"]) == {"minimum", "recommended"}


def test_stdin_is_read():
    command = [sys.executable, "-m", "cumulticast.cli", "plan", "-", "--json"]
    env = clean_environment()
    done = subprocess.run(command, input=LINES, capture_output=True, text=True, timeout=LIMIT, env=env, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["slots"]["used"] == 2


def test_existing_memory_and_separate_are_read(file, capsys):
    text = "name,size,memory,offset,memory_size,separate\nkv,1MiB,pool,4KiB,16MiB,\nalone,1KiB,,,,yes\n"
    assert cli.main(["plan", file(text), "--json"]) == 0
    objects = json.loads(capsys.readouterr().out)["objects"]
    assert {a["name"]: a["existing"] for o in objects for a in o["arrays"]} == {"alone": None, "kv": "pool"}
    assert len(objects) == 2


def test_the_tables_fit_a_pipe_and_say_what_matters(file):
    done = cumulticast("plan", file(LINES))
    assert (done.returncode, done.stderr) == (0, "")
    assert "hgx-h100-8, minimum granularity: fits" in done.stdout
    assert "slots      2 of 128" in done.stdout and "\x1b" not in done.stdout
    assert "minimum granularity wastes" in done.stdout and "binds whole granules only" in done.stdout


def test_a_plan_that_does_not_fit_exits_1(file):
    path = file(LINES)
    done = cumulticast("plan", path, "--slots", "1")
    assert done.returncode == 1 and "1 of 2 objects would find no slot" in done.stdout
    assert cumulticast("plan", path, "--slots", "2").returncode == 0
    assert answered_json("plan", path, "--memory", "9MiB", "--json", code=1)["lacking"][0]["what"] == "memory"
    assert answered_json("plan", path, "--memory", "10MiB", "--json")["fits"]
    assert answered_json("plan", path, "--machine", "hgx-a100-8", "--json", code=1)["slots"]["limit"] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grad 3MiB\nweights\n", "line 2: 'weights' has no size; a line is: name size [devices]"),
        ("grad 3MB\n", "line 1: '3MB' is no size"),
        ("grad 0\n", "line 1: grad: nbytes 0 is below 1; nearest 1"),
        ("grad 1 0-x\n", "line 1: devices '0-x' are none; write 0-3,6 or all"),
        ("a 1\nb 1 8\n", "line 2: b: device 8 does not exist, hgx-h100-8 has 0 to 7; nearest 7"),
        ("a 1\n\na 2\n", "line 3: name 'a' is taken (line 1); nearest 'a.2'"),
        ("# nothing\n", "no requests; a line is"),
        ("name,sise\na,1\n", "line 2: unknown field 'sise'; nearest 'size'"),
        ("name,size\na,1,2\n", "line 2: 3 cells for 2 columns"),
        ("name,size,separate\na,1,maybe\n", "line 2: separate 'maybe' is neither yes nor no"),
        ('[{"name": "a", "size": 1},]', ":line 1: no JSON: "),
        ('[{"name": "a", "size": 1}, 7]', "requests[1]: 7 is no object"),
        ('{"name": "a"}', "no list of requests"),
        ('[{"name": "a", "size": 1, "alignment": 3}]', "requests[0]: a: alignment 3 is no power of two; nearest 4"),
    ],
)
def test_a_bad_request_is_named_with_its_place(file, capsys, text, said):
    assert cli.main(["plan", file(text)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "hgx-h100"], "hgx-h100-8"),
        (["--slots", "-1"], "slots -1 is below 0; nearest 0"),
        (["--max-object", "1MiB"], "max_object 1048576 is below 2097152; nearest 2097152"),
        (["--granularity", "least"], "invalid choice"),
    ],
)
def test_bad_options_exit_2(file, capsys, words, said):
    assert cli.main(["plan", file(LINES), *words]) == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_read_or_written_exits_3(tmp_path, file, capsys):
    assert cli.main(["plan", str(tmp_path / "nowhere")]) == 3
    assert "nowhere: No such file" in capsys.readouterr().err
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert cli.main(["plan", str(tmp_path / "binary")]) == 3
    assert cli.main(["plan", file(LINES), "--svg", str(tmp_path / "no" / "map.svg")]) == 3


def test_the_map_is_written_in_one_step(tmp_path, file):
    target = tmp_path / "map.svg"
    target.write_text("old")
    reader = target.open()
    assert cli.main(["plan", file(LINES), "--svg", str(target), "--json"]) == 0
    with reader:
        assert reader.read() == "old", "the old file was replaced, not written over"
    assert ET.parse(target).getroot().tag.endswith("svg")
    assert sorted(os.listdir(tmp_path)) == ["map.svg", "requests"]
    assert target.stat().st_mode & 0o777 == 0o666 & ~_mask()


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 1 << 40) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(COLUMNS), inner, max_size=4),
    max_leaves=6,
)
records = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=3), "size": st.integers(1, 1 << 22) | values},
    optional={name: values for name in COLUMNS[2:]},
)


@given(document=st.lists(records | values, max_size=4) | values)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_answered_with_an_exit_code(file, document):
    assert cli.main(["plan", file(json.dumps(document)), "--json"]) in (0, 1, 2)


@given(text=st.text() | st.lists(st.text("a 1,-\"#'xKiB\t", max_size=12), max_size=4).map("\n".join))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_answered_with_an_exit_code(file, text):
    assert cli.main(["plan", file(text.encode("utf-8", "replace").decode()), "--json"]) in (0, 1, 2)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[1" + "0" * 5000 + "]", 'name,size\n"' + "a" * 200_000, "a 1 0-99999999999"]
)
def test_what_readers_choke_on_is_a_usage_error(file, capsys, text):
    assert cli.main(["plan", file(text)]) == 2
    assert capsys.readouterr().err.startswith("cumulticast plan: ")


def test_names_cannot_steer_a_terminal(file, capsys):
    assert cli.main(["plan", file(json.dumps([{"name": "a\x1b[2J", "size": 1}]))]) == 0
    assert "\x1b" not in capsys.readouterr().out
