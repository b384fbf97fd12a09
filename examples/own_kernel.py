"""An all-reduce kernel of one's own, from CUDA C++ to a checked result.

Run it so:

    cumulticast run --ranks 8 -- python examples/own_kernel.py
"""

from pathlib import Path

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

from cumulticast import Team

COUNT = 1 << 16

with Team.join() as team:
    device = Device(team.devices[0])
    device.set_current()
    stream = device.create_stream()
    source = Path(__file__).with_name("own_kernel.cu").read_text()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    kernel = Program(source, "c++", options).compile("ptx").get_kernel("all_reduce")

    array = team.empty(COUNT, "float32")
    array.set(np.arange(COUNT) + team.rank)

    team.barrier(stream)  # all have their values
    launch(stream, LaunchConfig(grid=8, block=256), kernel, array.multicast_ptr, COUNT, team.rank, team.size)
    team.barrier(stream)  # all parts are written
    stream.sync()

    expected = team.size * np.arange(COUNT) + sum(range(team.size))
    assert np.array_equal(array.get(), expected)
    print(array.get()[:4])
    stream.close()
