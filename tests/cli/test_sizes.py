"""Sizes on the command line."""

import argparse

import pytest

from cumulticast.cli.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("2097152", 2 << 20),
        ("512B", 512),
        ("4KiB", 4096),
        ("2MiB", 2 << 20),
        ("2 mib", 2 << 20),
        ("1GiB", 1 << 30),
        ("3TiB", 3 << 40),
        ("1.5GiB", 3 << 29),
    ],
)
def test_sizes_with_and_without_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "2MB", ".5MiB", "2.MiB", "MiB", "two", "2MiB2", "0x10"])
def test_what_is_no_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"2097152, 2MiB, 1\.5GiB"):
        parse_size(text)


@pytest.mark.parametrize(("text", "nearest"), [("0.1KiB", 102), ("1.5", 2), ("0.25B", 0)])
def test_bytes_are_whole(text: str, nearest: int) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is no whole number of bytes; nearest {nearest}$"):
        parse_size(text)
