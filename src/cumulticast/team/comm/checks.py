"""What every comm asks of its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from cumulticast.team.comm.frames import PART_LIMIT, SECONDS_LIMIT

LABEL_LIMIT = 1000


def check_part(payload: bytes, label: str, timeout: float) -> None:
    """Refuse what no exchange can carry.

    Raises
    ------
    ValueError
        The payload or the label is too large, or the time limit is not a time.
    """
    if len(payload) > PART_LIMIT:
        raise ValueError(f"a payload of {len(payload)} bytes: at most {PART_LIMIT}")
    if len(label) > LABEL_LIMIT:
        raise ValueError(f"a label of {len(label)} characters: at most {LABEL_LIMIT}")
    check_timeout(timeout)


def check_timeout(timeout: float) -> None:
    """Refuse a time limit that is none: ValueError."""
    if not 0 < timeout < SECONDS_LIMIT:
        raise ValueError(f"timeout={timeout!r}: seconds, more than 0 and less than {SECONDS_LIMIT:g}, such as 30.0")


def check_split(ranks: Sequence[int], rank: int, size: int) -> None:
    """Refuse ranks that cannot be split off.

    Parameters
    ----------
    ranks
        The ranks of the new comm.
    rank, size
        Those of the comm at hand.

    Raises
    ------
    ValueError
        A rank does not exist or is named twice, or this rank is not among them.
    """
    for one in ranks:
        if not 0 <= one < size:
            raise ValueError(f"split({list(ranks)}): there is no rank {one}; ranks are 0 to {size - 1}")
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"split({list(ranks)}): a rank is named twice")
    if rank not in ranks:
        raise ValueError(f"split({list(ranks)}): this rank, {rank}, is not among them; only members call split")
