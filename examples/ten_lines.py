"""Eight devices of one process, an array on all of them, and its sum everywhere.

Run it so:

    cumulticast run -- python examples/ten_lines.py
"""

from cumulticast import Team

with Team.local(range(8)) as team:
    array = team.empty(1024, "float32")
    for rank in range(team.size):
        array.set(rank, rank)
    team.all_reduce(array)
    print(array.get(0)[:4])
