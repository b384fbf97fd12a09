"""What each rank of torch.distributed does: it prints what it got."""

from __future__ import annotations

import os

import torch.distributed as dist

from cumulticast.team.comm import CommError, open_comm

LONG = 40.0


def numbers(comm: object) -> list[str]:
    """Bring the rank in the world; what all of them brought."""
    opened = open_comm(comm, timeout=LONG)
    got = opened.exchange(b"%d" % dist.get_rank(), "numbers", LONG)
    opened.close()
    return [one.decode() for one in got]


def main() -> None:
    """Meet through the world's group, through a part of it, and beside torch's store at MASTER_PORT; then one dies."""
    dist.init_process_group("gloo")
    got = [numbers(dist.group.WORLD)]
    part = dist.new_group([1, 2])
    if dist.get_rank() in (1, 2):
        got.append(numbers(part))
    got.append(numbers(None))
    comm = open_comm(dist.group.WORLD, timeout=LONG)
    if comm.rank == 1:
        os._exit(0)
    try:
        comm.exchange(b"", "bind", LONG)
    except CommError as error:
        print(dist.get_rank(), got, error, flush=True)
    os._exit(0)  # torch's own end would wait for the dead


if __name__ == "__main__":
    main()
