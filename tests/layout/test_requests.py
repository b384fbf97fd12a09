"""What is a request, and what an error says about what is none."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import cumulticast
from cumulticast.layout import Existing, Request, plan
from cumulticast.layout.request import coerce


def test_the_forms_of_a_request_are_the_same():
    want = Request("a", 4096, (0, 1))
    assert coerce(("a", 4096, (1, 0))) == coerce(["a", 4096, [0, 1]]) == want
    assert coerce({"name": "a", "nbytes": 4096, "team": [0, 1]}) == want
    assert coerce({"name": "a", "shape": (16, 64), "team": (0, 1)}) == want, "float32 unless said otherwise"
    assert coerce({"name": "a", "shape": 2048, "dtype": "bfloat16", "team": (0, 1)}) == want
    assert coerce({"name": "a", "shape": [512], "dtype": SimpleNamespace(itemsize=8), "team": (0, 1)}) == want
    old = {"name": "a", "nbytes": 1, "existing": {"memory": "pool", "offset": [0, 256]}}
    assert coerce(old).existing == Existing("pool", (0, 256))


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (("", 1), "name '' is no name"),
        (("a", 0), "a: nbytes 0 is below 1; nearest 1"),
        (("a", -5), "a: nbytes -5 is below 1; nearest 1"),
        (("a", 1.5), "a: nbytes 1.5 is no whole number"),
        (("a", True), "a: nbytes True is no whole number"),
        (("a", 1, ()), "a: the team has no devices"),
        (("a", 1, (0, 0, 2)), r"a: team \[0, 0, 2\] names a device twice; nearest \[0, 2\]"),
        (("a", 1, (-1,)), "a: device -1 is below 0; nearest 0"),
        (("a", 1, (9,)), "a: device 9 does not exist, hgx-h100-8 has 0 to 7; nearest 7"),
        (("a", 1, 5), r"a: team 5 is no list; write \[0, 1\]"),
        (("a", 1, "01"), "a: team '01' is no list"),
        (("a", 1, ["0"]), "a: device '0' is no whole number"),
        ((7, 1), "name 7 is no name"),
        ({"nbytes": 1}, "name '' is no name"),
        ({"name": "a", "nbytes": 1, "separate": 2}, "a: separate 2 is neither True nor False"),
        ({"name": "a", "nbytes": 1, "existing": "pool"}, "a: existing 'pool' is no Existing"),
        ({"name": "a", "nbytes": 1, "existing": {"memory": 5}}, "a: memory 5 is no name"),
        ({"name": "a", "shape": 1.5}, r"a: shape 1.5 is no list; write \[512, 700\]"),
        ({"name": "a", "shape": "12"}, "a: shape '12' is no list"),
        ({"name": "a", "nbytes": 1, "alignment": 100}, "a: alignment 100 is no power of two; nearest 128"),
        ({"name": "a", "nbytes": 1, "alignment": 1 << 22}, "a: alignment 4194304 exceeds .*; nearest 2097152"),
        ({"name": "a", "nbyte": 1}, "a: unknown field 'nbyte'; nearest 'nbytes'"),
        ({"name": "a"}, r"a: neither nbytes \(in files: size\) nor shape is given"),
        ({"name": "a", "nbytes": 1, "shape": 2}, r"a: give nbytes \(in files: size\), or shape and dtype"),
        ({"name": "a", "shape": (2, 0)}, "a: a side of shape 0 is below 1; nearest 1"),
        ({"name": "a", "shape": 1, "dtype": "floot32"}, "a: dtype 'floot32' is unknown; nearest float32"),
        ({"name": "a", "nbytes": 1, "existing": {"offset": 0}}, "a: existing has no memory"),
        ({"name": "a", "nbytes": 1, "existing": {"memory": "m", "offset": -1}}, "a: offset -1 is below 0; nearest 0"),
    ],
)
def test_what_is_no_request(item, text):
    with pytest.raises(ValueError, match=text):
        plan([item])


def test_what_is_no_request_at_all():
    for item in (7, "a", ("a",), None):
        with pytest.raises(TypeError, match="is no request"):
            plan([item])


def test_names_are_unique():
    with pytest.raises(ValueError, match=r"a: requests 0 and 2 have this name; nearest free a\.3"):
        plan([("a", 1), ("a.2", 1), ("a", 1)])
    assert plan([("a", 1), ("a.2", 1), ("a.3", 1)]).fits


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"granularity": "minimal"}, "granularity 'minimal' is none; nearest 'minimum'"),
        ({"max_object": 1000}, "max_object 1000 is below 2097152; nearest 2097152"),
        ({"machine": "hgx-h100"}, "hgx-h100-8"),
        ({"memory": -1}, "memory -1 is below 0; nearest 0"),
        ({"slots": -1}, "slots -1 is below 0; nearest 0"),
        ({"unaligned": 1.5}, "unaligned 1.5 is no whole number"),
        ({"max_object": "2MiB"}, "max_object '2MiB' is no whole number"),
    ],
)
def test_arguments_that_cannot_be(how, text):
    with pytest.raises(ValueError, match=text):
        plan([("a", 1)], **how)


@pytest.mark.parametrize("machine", [None, 8, b"hgx-h100-8", ["hgx-h100-8"]])
def test_what_is_no_machine_is_told_what_is_one(machine):
    with pytest.raises(TypeError, match=r"machine .*: the name of a preset, such as 'hgx-h100-8', or Limits"):
        plan([("a", 1)], machine)
    assert plan([("a", 1)], "hgx-h100-8").fits


def test_the_package_shows_it_late():
    assert cumulticast.plan is plan and cumulticast.Request is Request and cumulticast.Existing is Existing
    assert isinstance(plan([("a", 1)]), cumulticast.Plan)


def test_planning_loads_neither_numpy_nor_cuda_nor_the_simulated_driver():
    program = (
        "import sys, cumulticast; assert cumulticast.plan([('a', 1)]).fits;"
        "heavy = {'numpy', 'cuda', 'rich', 'cumulticast.sim.driver', 'cumulticast.libcuda'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("[]\n", "")
