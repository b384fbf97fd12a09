"""Multicast objects without a team: memory of eight devices bound by hand, and a kernel that stores to all of it.

Run it so:

    cumulticast run -- python examples/plain_objects.py
"""

import ctypes
from contextlib import ExitStack

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

from cumulticast import MulticastObject, PhysicalMemory, driver

SIZE = 2 << 20
SOURCE = r"""
extern "C" __global__ void fill(float *replicas, float value) {
    float *at = replicas + threadIdx.x;
    asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" :: "l"(at), "f"(value) : "memory");
}
"""

device = Device(0)
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
kernel = program.compile("ptx").get_kernel("fill")

with ExitStack() as held:  # closes in the order that the driver wants: mappings, bindings, the object, the memory
    memories = [held.enter_context(PhysicalMemory.create(ordinal, SIZE)) for ordinal in range(8)]
    replicas = [held.enter_context(memory.map(devices=range(8))) for memory in memories]
    team = held.enter_context(MulticastObject.create(devices=range(8), size=SIZE))
    for memory in memories:
        team.bind_memory(memory)
    shown = team.map(devices=range(8))

    launch(stream, LaunchConfig(grid=1, block=256), kernel, shown.ptr, ctypes.c_float(2.5))
    stream.sync()

    found = np.empty((8, 256), np.float32)
    for replica, row in zip(replicas, found, strict=True):
        driver.memcpy_dtoh_v2(row.ctypes.data, replica.ptr, row.nbytes)
    assert np.all(found == 2.5)
    print(f"{team}: {len(team.bindings)} replicas written by one store")
stream.close()
