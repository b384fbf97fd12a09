"""The numbers of graphs and nodes."""

from __future__ import annotations

from cumulticast.sim.calls.graph import graph_of, node_of
from cumulticast.sim.calls.graph_exec import exec_of
from cumulticast.sim.entry import entry
from cumulticast.sim.graphs import FIRST_EXEC, STEP
from cumulticast.sim.process import Process


@entry("cuGraphGetId")
def graph_get_id(process: Process, value: int) -> int:
    """Answer a number that no other graph of the process has."""
    return graph_of(process, value).number


@entry("cuGraphExecGetId")
def graph_exec_get_id(process: Process, value: int) -> int:
    """Answer a number that no other graph of the process, executable or not, has."""
    return (exec_of(process, value).value - FIRST_EXEC) // STEP


@entry("cuGraphNodeGetLocalId")
def graph_node_get_local_id(process: Process, value: int) -> int:
    """Answer the number of a node in its graph, in the order of their adding."""
    return node_of(process, value).number


@entry("cuGraphNodeGetToolsId")
def graph_node_get_tools_id(process: Process, value: int) -> int:
    """Answer the numbers of graph and node in one."""
    node = node_of(process, value)
    return node.graph.number << 32 | node.number
