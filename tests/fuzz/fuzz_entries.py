"""Child process: call every answered entry with random arguments. Usage: fuzz_entries.py SEED CALLS MACHINE.

Prints one JSON line: how many calls, how many statuses of each kind, and what went wrong. The parent watches for
crashes, hangs and words on stderr.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import random
import sys
from collections import Counter
from typing import Any

from cuda.bindings._v2 import driver
from entry_calls import TELLING, answered, function, kind_of, unchecked
from targets import PAGE, Targets

from cumulticast import sim
from cumulticast.libcuda.table import Entry, Param

GRANULE = 2 << 20
EDGES = [0, 0, 0, 1, 1, 2, 3, 4, 7, 8, 16, 64, 99, 256, 4095, 4096, GRANULE - 1, GRANULE, 2 * GRANULE]
EDGES += [(1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 48, (1 << 63) - 1, 1 << 63, (1 << 64) - GRANULE, (1 << 64) - 1]
STATUSES = {int(r) for r in driver.Result}


class Fuzzer:
    """Draws arguments for one machine with something of everything on it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.targets = Targets(rng)
        self.words: list[int] = []
        self.likely: dict[str, list[int]] = {}
        self.structs: list[bytes] = []

    def prepare(self) -> None:
        """Start afresh and make handles, addresses, contexts, streams and events to draw from."""
        sim.reset()
        driver.init(0)
        prop = driver.MemAllocationProp_v1()
        prop.type = prop.location.type = 1
        wide = driver.MulticastObjectProp_v1()
        wide.size_, wide.num_devices = 2 * GRANULE, 2
        desc = driver.MemAccessDesc_v1(1)
        desc.location.type, desc.flags_ = 1, 3
        context = driver.device_primary_ctx_retain(0)
        driver.ctx_set_current(context)
        memory, place = driver.mem_create(GRANULE, prop, 0), driver.mem_address_reserve(4 * GRANULE, 0, 0, 0)
        driver.mem_map(place, GRANULE, 0, memory, 0)
        driver.mem_set_access(place, GRANULE, desc, 1)
        complete, waiting = driver.multicast_create(wide), driver.multicast_create(wide)
        for device in (0, 1):
            driver.multicast_add_device(complete, device)
        driver.mem_map(place + 2 * GRANULE, GRANULE, 0, complete, 0)
        driver.multicast_bind_mem(complete, 0, memory, 0, GRANULE, 0)
        self.words = [memory, complete, waiting, place, place + GRANULE, place + 2 * GRANULE, context]
        stream, event = driver.stream_create(0), driver.event_create(0)
        allocated, pool = driver.mem_alloc_v2(5000), driver.device_get_default_mem_pool(0)
        self.words += [allocated, stream, event, self.targets.host, driver.mem_host_alloc(PAGE, 0), pool]
        kinds = {
            "hStream stream hstream": [0, 1, 2, stream],
            "hEvent event hStart hEnd": [event],
            "ctx hCtx peerContext dstContext srcContext": [0, context],
            "pool": [pool],
            "dev device ordinal peerDev": [0, 0, 1, 2],
            "flags Flags": [0, 0, 0, 1],
            "handle memHandle": [memory, complete],
            "mcHandle": [complete, waiting],
            "dptr ptr dst src dstDevice srcDevice memptr addr": [place, allocated, place + 2 * GRANULE],
            "size bytesize ByteCount N Width Height": [1, 16, 4096, GRANULE],
        }
        self.likely = {name: values for names, values in kinds.items() for name in names.split()}
        self.structs = [ctypes.string_at(s.ptr, n) for s, n in ((prop, 32), (wide, 32), (desc, 12), (desc, 8))]

    # ---- arguments

    def word(self) -> int:
        draw = self.rng.random()
        if draw < 0.45:
            return self.rng.choice(EDGES)
        if draw < 0.95:
            return self.rng.choice(self.words)
        return self.rng.getrandbits(64)

    def contents(self, place: int) -> None:
        """Fill an input: a structure that means something, small numbers, a name, or noise."""
        noise = self.rng.randbytes(PAGE)
        small = b"".join(self.rng.choice(EDGES[:12]).to_bytes(8, "little") for _ in range(PAGE // 8))
        named = b"cuMemMap\0".ljust(PAGE, b"x")
        known = self.rng.choice(self.structs).ljust(PAGE, b"\0")
        at = self.rng.randrange(0, 32, 4)
        bent = known[:at] + self.word().to_bytes(8, "little") + known[at + 8 :]
        pointers = b"".join(self.word().to_bytes(8, "little") for _ in range(64)).ljust(PAGE, b"\0")
        ctypes.memmove(place, self.rng.choice([noise, small, named, known, known, bent, bent, pointers]), PAGE)

    def value(self, param: Param) -> Any:
        kind = kind_of(param)
        if issubclass(kind, ctypes.Structure):
            return kind.from_buffer_copy(self.rng.randbytes(ctypes.sizeof(kind)))
        if kind is ctypes.c_float:
            return self.rng.choice([0.0, -1.0, float("nan"), float("inf")])
        if param.kind == "host" and self.rng.random() < 0.5:
            return self.rng.choice([self.targets.host, self.targets.host + 1, self.targets.bad(for_output=True)])
        plausible = self.likely.get(param.name, [])
        return self.rng.choice(plausible) if plausible and self.rng.random() < 0.7 else self.word()

    def pointer(self, param: Param, k: int, wild: bool) -> int:
        """Draw a pointer: good, good and misaligned, or bad."""
        writes = param.direction != "in"
        if wild and self.rng.random() < 0.5:
            return self.targets.bad(for_output=writes)
        place = self.targets.slots[k] if writes else self.targets.inputs[k]
        if not writes:
            self.contents(place)
        return place + self.rng.choice([0, 0, 0, 1, PAGE - 8])

    # ---- one call

    def call(self, entry: Entry) -> tuple[int, str | None]:
        """Call an entry; answer the status and what is wrong about the outcome."""
        self.targets.canaries()
        wild = self.rng.random() < 0.4
        arguments = [
            self.value(p) if p.direction == "value" else self.pointer(p, k, wild) for k, p in enumerate(entry.params)
        ]
        status = function(entry)(*arguments)
        shown = f"{entry.symbol}({', '.join(hex(a) if isinstance(a, int) else repr(a) for a in arguments)}) = {status}"
        if status not in STATUSES:
            return status, f"{shown}: no CUresult"
        for k, slot in enumerate(self.targets.slots):
            changed = self.targets.changed(slot)
            silent = status and entry.plain not in TELLING
            if changed and (silent or k >= len(arguments) or not slot <= arguments[k] < slot + PAGE):
                return status, f"{shown}: bytes {changed[:4]} of output {k} changed"
        return status, None


def main(seed: int, calls: int, machine: str) -> None:
    faulthandler.enable()
    sim.start(machine, devices=2, nodes=1, block_limit=0.01)
    rng, left_out = random.Random(seed), unchecked()
    fuzzer, counted, wrong = Fuzzer(rng), Counter(), list[str]()
    for entry in answered():
        if entry.plain in left_out:
            continue
        fuzzer.prepare()
        for _ in range(calls):
            faulthandler.dump_traceback_later(20, exit=True)
            status, problem = fuzzer.call(entry)
            counted[status] += 1
            if problem:
                wrong.append(problem)
    faulthandler.cancel_dump_traceback_later()
    sim.stop()
    print(json.dumps({"calls": counted.total(), "statuses": counted, "wrong": wrong[:50]}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
