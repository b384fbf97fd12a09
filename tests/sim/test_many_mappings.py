"""The limit of mappings that Linux sets a process: an answer (2) that names it, and a program that can go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cumulticast.sim.spare import LIMIT

PROGRAM = """
from cumulticast import sim
sim.start(devices=1)
from cuda.bindings._v2 import driver
driver.init(0)
STEP = 2 << 20
prop = driver.MemAllocationProp_v1()
prop.type, prop.location.type = 1, 1
memory = driver.mem_create(STEP, prop, 0)
access = driver.MemAccessDesc_v1()
access.location.type, access.flags_ = 1, 3
reserved, mapped = [], []
try:
    for _ in range({limit}):
        reserved.append(driver.mem_address_reserve(STEP, 0, 0, 0))
        driver.mem_map(reserved[-1], STEP, 0, memory, 0)
        mapped.append(reserved[-1])
except driver.OutOfMemoryError:
    assert "vm.max_map_count" in sim.current().log.since(0)[-2], sim.current().log.since(0)
    print(len(mapped))
others = [bytearray(1 << 20) for _ in range(200)]     # Python has room for its own
for ptr in mapped[::1000]:
    driver.mem_set_access(ptr, STEP, access, 1)
for ptr in mapped:
    driver.mem_unmap(ptr, STEP)
for ptr in reserved:
    driver.mem_address_free(ptr, STEP)
ptr = driver.mem_address_reserve(STEP, 0, 0, 0)
driver.mem_map(ptr, STEP, 0, memory, 0)
sim.stop()
"""


@pytest.mark.timeout(60)
def test_at_the_limit_the_driver_says_so_and_all_can_be_given_back() -> None:
    limit = int(LIMIT.read_text())
    if limit > 100_000:
        pytest.skip(f"vm.max_map_count is {limit} here: it would take long")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(limit=limit)], capture_output=True, text=True, timeout=55
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > limit // 4
    assert not done.stderr
