"""The Python name of every governed call is the one that cuda.bindings._v2.driver has."""

import re

import pytest
from cuda.bindings._v2 import driver

from cumulticast.rules import all_rules
from cumulticast.rules.text import python_name

GOVERNED = sorted({call for rule in all_rules() for call in rule.calls} - {"*"})
# Forms that the second bindings do not offer.
ABSENT = {
    "cuDevicePrimaryCtxRelease",
    "cuGetProcAddress",
    "cuDeviceGetUuid",
    "cuEventElapsedTime",
    "cuCtxCreate_v2",
    "cuCtxCreate_v4",
}


def second_names() -> dict[str, str]:
    """Return C name -> Python name, as the docstrings of the second bindings pair them."""
    pairs = {}
    for name in dir(driver):
        found = re.search(r"seealso:: `(cu\w+)`", getattr(getattr(driver, name), "__doc__", None) or "")
        if found and name.islower():
            pairs[found[1]] = name
    return pairs


NAMES = second_names()


@pytest.mark.parametrize("call", [call for call in GOVERNED if call in NAMES])
def test_a_governed_call_has_its_python_name(call: str) -> None:
    assert python_name(call) == NAMES[call]


def test_hardly_any_governed_call_is_unknown_to_the_second_bindings() -> None:
    assert {call for call in GOVERNED if call not in NAMES and not hasattr(driver, python_name(call))} <= ABSENT
