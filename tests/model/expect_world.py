"""What the books of the machine must say: objects, references, teams, binds, slots, bytes in use, files."""

from __future__ import annotations

from typing import Any

from model_world import World


def picture(world: World) -> dict[str, Any]:
    """Answer the rows of each table, as `Books.picture` reads them."""
    memories, multicasts = world.memories, world.multicasts
    return {
        "process": {(state.number, state.rank, state.node) for state in world.processes if state.number},
        "waiting": set(),
        "device": {(d, world.used(d), unaligned(world, d)) for d in range(world.machine.nodes * world.machine.devices)},
        "reference": {(h.thing.id, state.number) for state in world.processes for h in state.handles.values()},
        "allocation": {(m.id, m.size, *m.location, m.node, m.device, m.handle_types) for m in memories},
        "multicast": {(m.id, m.size, m.num_devices, m.handle_types, m.node, int(m.slot)) for m in multicasts},
        "team": {(m.id, device) for m in multicasts for device in m.team},
        "binding": {
            (m.id, b.device, b.mc_offset, b.size, b.memory.id, b.mem_offset, b.headroom)
            for m in multicasts
            for b in m.binds
        },
        "files": {f"memory/{m.id}" for m in memories} | {f"multicast/{m.id}" for m in multicasts},
    }


def unaligned(world: World, device: int) -> int:
    return sum(bool(b.headroom) and b.device == device for m in world.multicasts for b in m.binds)
