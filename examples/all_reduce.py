"""The five collectives, with a process for each rank; every result is checked.

Run it so:

    cumulticast run --ranks 8 -- python examples/all_reduce.py
    torchrun --nproc-per-node 8 examples/all_reduce.py          # on a machine with GPUs
"""

import numpy as np

from cumulticast import Team

COUNT = 1 << 12

with Team.join(require_multicast=False) as team:
    rank, size = team.rank, team.size
    array = team.empty(COUNT, "bfloat16")
    part = slice(rank * COUNT // size, (rank + 1) * COUNT // size)
    all_ranks = sum(range(size))

    array.set(rank)
    team.all_reduce(array)
    assert np.all(array.get() == all_ranks)

    array.set(rank)
    team.all_reduce(array, "max")
    assert np.all(array.get() == size - 1)

    array.set(rank)
    team.broadcast(array, root=size - 1)
    assert np.all(array.get() == size - 1)

    array.set(rank)
    team.reduce_scatter(array)
    assert np.all(array.get()[part] == all_ranks)

    array.set(rank)
    team.all_gather(array)
    assert np.array_equal(array.get(), np.repeat(np.arange(size), COUNT // size))

    team.barrier()
    way = "multicast" if team.has_multicast else f"peer memory, because {team.why_not}"
    print(f"five collectives over {way}: right")
