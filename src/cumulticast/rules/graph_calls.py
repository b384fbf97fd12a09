"""Calls and sources that rules about graphs share."""

from .source import Transcript

ADD = (
    "cuGraphAddKernelNode_v2", "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphAddHostNode",
    "cuGraphAddChildGraphNode", "cuGraphAddEmptyNode", "cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode",
    "cuGraphAddNode_v2", "cuGraphAddNode_v3",
)  # fmt: skip
EDGES = ("cuGraphAddDependencies_v2",)
CUT = ("cuGraphRemoveDependencies_v2",)
INSTANTIATE = ("cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams")
EXEC_SET = (
    "cuGraphExecKernelNodeSetParams_v2", "cuGraphExecMemcpyNodeSetParams", "cuGraphExecMemsetNodeSetParams",
    "cuGraphExecHostNodeSetParams", "cuGraphExecChildGraphNodeSetParams", "cuGraphExecEventRecordNodeSetEvent",
    "cuGraphExecEventWaitNodeSetEvent", "cuGraphExecNodeSetParams",
)  # fmt: skip
ENABLED = ("cuGraphNodeSetEnabled", "cuGraphNodeGetEnabled")


def recorded(group: str, step: str) -> Transcript:
    """Name a step of the recording of graphs and captures."""
    return Transcript(group, step, recording="graphs")
