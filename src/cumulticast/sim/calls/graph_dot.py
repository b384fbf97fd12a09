"""A graph written to a file for Graphviz."""

from __future__ import annotations

import os

from cumulticast.rules import Refused, Status
from cumulticast.sim.calls.graph import graph_of
from cumulticast.sim.entry import entry
from cumulticast.sim.graph_dot import dot
from cumulticast.sim.process import Process


@entry("cuGraphDebugDotPrint")
def graph_debug_dot_print(process: Process, value: int, path: bytes, flags: int) -> None:
    """Write a graph to a file (304: it cannot be); all details are written, whatever ``flags`` asks for."""
    text = dot(graph_of(process, value))
    try:
        with open(os.fsdecode(path), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        reason = f"{os.fsdecode(path)!r} cannot be written: {error.strerror}"
        raise Refused(Status.OPERATING_SYSTEM, None, reason) from error
