"""The map: valid XML whose rectangles are what the plan says."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from drawn import GRANULE, MACHINES, MIB, requests
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulticast.layout import Existing, Request, plan
from cumulticast.layout.segments import segments, thick

SVG = "{http://www.w3.org/2000/svg}"


def parsed(made):
    return ET.fromstring(made.svg())


def words(root):
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def kinds(root):
    """Count what is drawn in objects: the rectangles in their groups."""
    drawn = [rect for group in root.iter(f"{SVG}g") if group.get("id") for rect in group.iter(f"{SVG}rect")]
    return Counter(rect.get("class").split()[0] for rect in drawn)


def test_every_part_of_an_object_is_drawn():
    asked = [
        Request("large", 3 * MIB, (0, 1), 256),
        Request("aligned", MIB // 2, (0, 1), MIB),
        Request("old", MIB, (0, 1), existing=Existing("pool", (512, 256), 8 * MIB)),
    ]
    root = parsed(plan(asked, "rubin-nvl72"))
    assert kinds(root) == {"array": 2, "padding": 1, "existing": 1, "beside": 1, "headroom": 1}
    assert {"large", "aligned", "old"} <= set(words(root))
    assert len(list(root.iter(f"{SVG}use"))) == 2, "a row for each replica"
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert "large, 3 MiB: offset 0, 3145728 bytes (3 MiB)" in titles


def test_a_hole_is_drawn():
    asked = [Request("a", MIB + 1, (0,), GRANULE), Request("b", MIB, (0,), GRANULE)]
    assert kinds(parsed(plan(asked)))["hole"] == 1


def test_all_replicas_of_a_large_team_that_are_alike_are_one_row():
    root = parsed(plan([("a", 1)], "rubin-nvl72"))
    assert len(list(root.iter(f"{SVG}use"))) == 1 and "devices 0-71: its own" in words(root)
    root = parsed(plan([("a", 1, range(8))], "rubin-nvl72"))
    assert len(list(root.iter(f"{SVG}use"))) == 8


def test_what_is_too_thin_is_drawn_together_and_counted():
    made = plan([(f"a{n}", 1000) for n in range(5000)])
    root = parsed(made)
    shown = kinds(root)
    assert shown["many"] > 100 and sum(shown.values()) < 400
    assert "5000 arrays are too thin to see and drawn together with their neighbours" in words(root)
    assert len(made.svg()) < 200_000


def test_many_objects_are_not_all_drawn_and_the_foot_says_so():
    made = plan([Request(f"a{n}", 100, separate=True) for n in range(100)])
    root = parsed(made)
    assert "36 more objects are not drawn: cumulticast plan --json has them" in words(root)
    assert "lacking: " not in " ".join(words(root))


def test_what_is_lacking_stands_in_the_foot():
    made = plan([Request(f"a{n}", 100, separate=True) for n in range(3)], slots=2)
    assert any(word.startswith("lacking: 1 of 3 objects would find no slot") for word in words(parsed(made)))


@pytest.mark.parametrize("name", ["<a & b>", '"quoted"', "\x00\x1b[31m", "\ud800", "漢字", "\uffff"])
def test_any_name_makes_valid_xml(name):
    document = plan([(name, MIB)]).svg()
    document.encode("utf-8")
    assert kinds(ET.fromstring(document))["array"] == 1


@pytest.mark.parametrize("machine", MACHINES)
@given(data=st.data(), least=st.integers(1, MIB))
@settings(max_examples=60, deadline=None)
def test_segments_cover_an_object_once_and_joining_loses_no_array(machine, data, least):
    made = plan(data.draw(requests(MACHINES[machine], relaxed=machine == "rubin-nvl72")), machine)
    ET.fromstring(made.svg())
    for planned in made.objects:
        found = segments(planned)
        assert found[0].start == 0 and found[-1].stop == planned.size
        assert all(low.stop == high.start for low, high in itertools.pairwise(found))
        shown = thick(found, least)
        names = Counter(name for one in found for name in one.arrays)
        assert Counter(name for one in shown.segments for name in one.arrays) == names
        assert all(low.stop <= high.start for low, high in zip(shown.segments[:-1], shown.segments[1:], strict=True))
