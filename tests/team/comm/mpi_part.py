"""What each rank does under mpirun: WHAT of test_mpi.py; rank 0 of those that are left prints what it got."""

from __future__ import annotations

import os
import sys

from mpi4py import MPI

from cumulticast.team.comm import CommError, open_comm

LONG = 30.0


def exchange() -> list[str]:
    """Bring the rank's number, in the world and in a part of it with another order."""
    world = MPI.COMM_WORLD
    comm = open_comm(world, timeout=LONG)
    got = comm.exchange(b"%d" % world.Get_rank(), "numbers", LONG)
    part = world.Split(world.Get_rank() % 2, -world.Get_rank())
    of_part = open_comm(part, timeout=LONG)
    assert (of_part.rank, of_part.size) == (part.Get_rank(), part.Get_size())
    got += of_part.exchange(b"%d" % world.Get_rank(), "numbers", LONG)
    of_part.close()
    comm.close()
    return [one.decode() for one in got]


def death() -> list[str]:
    """End one rank without a word; the others are told."""
    comm = open_comm(MPI.COMM_WORLD, timeout=LONG)
    if comm.rank == 1:
        os._exit(0)
    try:
        comm.exchange(b"", "bind", LONG)
    except CommError as error:
        return [f"{comm.rank} {error}"]
    return ["nothing failed"]


if __name__ == "__main__":
    print({"exchange": exchange, "death": death}[sys.argv[1]](), flush=True)
    if sys.argv[1] == "death":
        os._exit(0)  # MPI's own end would wait for the dead
