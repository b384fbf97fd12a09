"""The documentation that the installed cuda.bindings wheel carries, found by the place a rule names."""

from typing import Any

from cuda.bindings import driver as first
from cuda.bindings._v2 import driver as second


def find_place(place: str) -> Any:
    """Return the object called ``place`` in the second or else in the first bindings, or None."""
    for module in (second, first):
        found: Any = module
        for part in place.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


def plain(text: str) -> str:
    """Return text with every run of white space as one blank."""
    return " ".join(text.split())


def doc_of(place: str) -> str:
    """Return the normalised docstring at ``place`` (empty when there is none)."""
    return plain(getattr(find_place(place), "__doc__", None) or "")
