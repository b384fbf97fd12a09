"""Eight ranks as two tensor-parallel teams of four, and four data-parallel teams of two; two teams over one memory.

Run it so:

    cumulticast run --ranks 8 -- python examples/sub_teams.py
"""

import numpy as np

from cumulticast import Team

WIDTH = 4

with Team.join() as world:
    here, place = divmod(world.rank, WIDTH)
    tensor_parallel = world.split([here * WIDTH + other for other in range(WIDTH)])
    data_parallel = world.split(range(place, world.size, WIDTH))

    # Activations, summed within each tensor-parallel team.
    activations = tensor_parallel.empty(16, "bfloat16")
    activations.set(world.rank)
    tensor_parallel.all_reduce(activations)
    assert np.all(activations.get() == sum(range(here * WIDTH, here * WIDTH + WIDTH)))

    # Gradients lie in memory of the world; each data-parallel team has a multicast object of its own over them.
    gradients = world.empty(16)
    gradients.set(world.rank)
    shown = data_parallel.share(gradients)
    assert shown.local == gradients.local
    world.barrier()
    data_parallel.all_reduce(shown, "max")
    data_parallel.barrier()
    assert np.all(gradients.get() == place + WIDTH)

    # And all of it over the world's object.
    world.barrier()
    world.all_reduce(gradients)
    assert np.all(gradients.get() == 2 * sum(range(WIDTH, 2 * WIDTH)))
    world.barrier()
    print(f"{tensor_parallel}, {data_parallel}, {world}: right")
    data_parallel.close()
    tensor_parallel.close()
