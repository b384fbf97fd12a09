"""Who belongs to a team, and which of them this process drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from .comm import Comm, LocalComm
from .comm.frames import SECONDS_LIMIT
from .devices import Granularity, granularity_flag, whole


class Options(TypedDict):
    """What a caller may choose; see `Members`."""

    timeout: float
    retries: int
    backoff: float
    granularity: Granularity


@dataclass(frozen=True, slots=True)
class Members:
    """The ranks of a team, as this process sees them.

    Attributes
    ----------
    comm
        Between the processes: of size 1 where one process drives all ranks.
    size
        How many ranks the team has.
    mine
        The ranks whose devices this process drives.
    devices
        The ordinal of the device of each of ``mine``.
    timeout
        Seconds that a step may take until all ranks have come.
    retries, backoff
        How often a step that answers 802 is tried again, by all ranks together, and the seconds before the first time;
        they double.
    granularity
        ``minimum`` or ``recommended``.
    """

    comm: Comm
    size: int
    mine: tuple[int, ...]
    devices: tuple[int, ...]
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 1.0
    granularity: Granularity = "minimum"

    @staticmethod
    def options(timeout: float, retries: int, backoff: float, granularity: Granularity) -> Options:
        """Answer what a caller may choose, after a look at it.

        Raises
        ------
        TypeError, ValueError
            A number is out of range, or none; the granularity is none of the two.
        """
        if not 0 < timeout < SECONDS_LIMIT:
            raise ValueError(f"timeout {timeout}: more than 0 seconds, less than {SECONDS_LIMIT:g}")
        if whole("retries", retries) < 0:
            raise ValueError(f"retries {retries}: 0 or more")
        if not 0 <= backoff < SECONDS_LIMIT:
            raise ValueError(f"backoff {backoff}: 0 seconds or more, less than {SECONDS_LIMIT:g}")
        granularity_flag(granularity)
        return {"timeout": timeout, "retries": retries, "backoff": backoff, "granularity": granularity}

    @classmethod
    def of_one_process(cls, devices: tuple[int, ...], options: Options) -> Members:
        """Answer the members of a team all of whose ranks this process drives."""
        return cls(LocalComm(), len(devices), tuple(range(len(devices))), devices, **options)

    @property
    def chosen(self) -> Options:
        """What the caller chose."""
        return self.options(self.timeout, self.retries, self.backoff, self.granularity)
