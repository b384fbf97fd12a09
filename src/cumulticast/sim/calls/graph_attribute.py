"""Attributes of kernel nodes: what a launch may ask for besides its sizes."""

from __future__ import annotations

import struct
from dataclasses import replace

from cumulticast.rules import launch_options
from cumulticast.sim import launch_attributes, launches
from cumulticast.sim.calls.graph_node import change, of_kind
from cumulticast.sim.entry import entry
from cumulticast.sim.graph_work import KERNEL, KernelWork
from cumulticast.sim.graphs import Node
from cumulticast.sim.launch_attributes import CLUSTER, COOPERATIVE, EVENTS, KNOWN
from cumulticast.sim.launches import Shape
from cumulticast.sim.process import Process

SIZE = 64  # bytes of a CUlaunchAttributeValue


def kernel_of(process: Process, value: int) -> tuple[Node, KernelWork]:
    """Answer a kernel node and its work, or refuse (1)."""
    node = of_kind(process, value, KERNEL)
    assert isinstance(node.work, KernelWork)
    return node, node.work


def require_known(process: Process, attribute: int) -> None:
    """Refuse (1) what is no attribute of a kernel node."""
    process.driver.judge(
        launch_options.launch_attribute_known, attribute, attribute in KNOWN and attribute not in EVENTS
    )


def reshape(process: Process, node: Node, work: KernelWork, shape: Shape) -> None:
    """Give a kernel node another shape, if a launch could have it."""
    cluster = launches.check(process, work.launch.function, shape)
    made = replace(work.launch, cluster=cluster, cooperative=shape.cooperative)
    change(node, replace(work, launch=made, shape=shape))


@entry("cuGraphKernelNodeSetAttribute")
def graph_kernel_node_set_attribute(process: Process, value: int, attribute: int, data: bytes) -> None:
    """Set an attribute."""
    node, work = kernel_of(process, value)
    require_known(process, attribute)
    reshape(process, node, work, launch_attributes.applied(process, work.shape, attribute, data))
    node.attributes[attribute] = data


@entry("cuGraphKernelNodeGetAttribute")
def graph_kernel_node_get_attribute(process: Process, value: int, attribute: int) -> bytes:
    """Answer an attribute; zeros where it was never set."""
    node, work = kernel_of(process, value)
    require_known(process, attribute)
    if attribute == COOPERATIVE:
        return struct.pack("<I", work.launch.cooperative).ljust(SIZE, b"\0")
    if attribute == CLUSTER:
        return struct.pack("<3I", *(work.shape.cluster or (0, 0, 0))).ljust(SIZE, b"\0")
    return node.attributes.get(attribute, bytes(SIZE))


@entry("cuGraphKernelNodeCopyAttributes")
def graph_kernel_node_copy_attributes(process: Process, target: int, source: int) -> None:
    """Copy all attributes from one node to another."""
    (node, work), (other, given) = kernel_of(process, target), kernel_of(process, source)
    asked = given.shape
    shape = replace(work.shape, cluster=asked.cluster, cooperative=asked.cooperative, wide_clusters=asked.wide_clusters)
    reshape(process, node, work, shape)
    node.attributes = dict(other.attributes)
