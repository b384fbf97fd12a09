"""A rank cannot bind its memory: nobody hangs, all are told the same, nothing is left, and the next team comes up.

Run it so:

    cumulticast run --ranks 4 --fault fail:cuMulticastBindMem:rank=2:status=ILLEGAL_STATE -- \
        python examples/survive_a_failure.py
"""

from cumulticast import Team, TeamError

try:
    team = Team.join()
except TeamError as error:
    print(f"all are told: rank {error.rank}, {error.stage}, {error.call}, {error.status}")
    team = Team.join()  # the fault strikes once; on a real machine, fix what the error says first

with team:
    array = team.empty(4)
    array.set(team.rank)
    team.all_reduce(array)
    print(f"{team}: {array.get()}")
