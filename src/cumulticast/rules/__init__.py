"""The book: every rule of the driver, once, with its check, its page, its status and its source.

Files are ordered by subject and codes by the hundred: MC0 general, MC1 devices, MC2 multicast objects and
teams, MC3 binding, MC4 unbinding and granularity, MC5 multicast mappings, MC6 sharing, MC7 memory, MC8
addresses, access and lifetime, MC9 contexts, pointers, copies, streams and pools, MC10 modules, MC11 launches,
MC12 graphs and captures, MC13 the order in which kernels see memory.
`unenforced` lists what no rule enforces, and why.
"""

from . import (
    access,
    address_space,
    binding,
    bound_memory,
    captures,
    contexts,
    copies,
    devices,
    general,
    granularity,
    graphs,
    launch,
    lifetime,
    mapping,
    memory,
    memory_order,
    modules,
    multicast_access,
    multicast_mapping,
    multicast_object,
    multicast_team,
    pointers,
    pools,
    range_handles,
    rubin,
    sharing,
    streams,
    team_waits,
    unbinding,
)
from .book import Refused, Rule, all_rules, broken, find, rule
from .source import Document, Note, Source, Transcript
from .status import Status
from .unenforced import UNENFORCED

__all__ = [
    "UNENFORCED",
    "Document",
    "Note",
    "Refused",
    "Rule",
    "Source",
    "Status",
    "Transcript",
    "access",
    "address_space",
    "all_rules",
    "binding",
    "bound_memory",
    "broken",
    "captures",
    "contexts",
    "copies",
    "devices",
    "find",
    "general",
    "granularity",
    "graphs",
    "launch",
    "lifetime",
    "mapping",
    "memory",
    "memory_order",
    "modules",
    "multicast_access",
    "multicast_mapping",
    "multicast_object",
    "multicast_team",
    "pointers",
    "pools",
    "range_handles",
    "rubin",
    "rule",
    "sharing",
    "streams",
    "team_waits",
    "unbinding",
]
