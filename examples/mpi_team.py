"""The ranks of mpirun, on one simulated machine or on GPUs.

Run it so:

    cumulticast run -- mpirun -n 4 python examples/mpi_team.py
"""

from mpi4py import MPI

from cumulticast import Team

with Team.join(MPI.COMM_WORLD, timeout=60) as team:
    array = team.empty(4)
    array.set(team.rank)
    team.all_reduce(array, "max")
    print(f"{team}: {array.get()}")
