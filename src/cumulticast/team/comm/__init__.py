"""How the ranks of a team talk to each other while it is brought up.

    protocol.py     Comm and CommError: all that the rest of the team knows of this room
    rendezvous.py   open_comm: how ranks find each other; places.py, communicators.py, meeting.py
    client.py       a rank's comm; membership.py, link.py: its end of the connection
    hub.py          the middle of the star, a thread in rank 0's process; reception.py, session.py, peer.py, door.py
    channel.py      one group's exchanges: who has come, who is missing, who is to blame; no sockets
    frames.py       the form of messages
    local.py        the comm of a rank that is alone
    descriptors.py  how file descriptors travel between processes of one host; rights.py, pidfd.py: the two ways

A star with a hub rather than a ring or a tree: one place sees all arrivals, so all ranks are told the same of a
failure.
"""

from cumulticast.team.comm.descriptors import DescriptorError, DescriptorServer, fetch, probe
from cumulticast.team.comm.local import LocalComm
from cumulticast.team.comm.protocol import NO_RANK, Comm, CommError, name_of
from cumulticast.team.comm.rendezvous import open_comm

__all__ = [
    "NO_RANK",
    "Comm",
    "CommError",
    "DescriptorError",
    "DescriptorServer",
    "LocalComm",
    "fetch",
    "name_of",
    "open_comm",
    "probe",
]
