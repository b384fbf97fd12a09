"""Ranks that serve one example after the other: processes are dear, worlds are not. The dead are replaced."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Pool", "RankCalls", "RankDied"]

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "processes"), str(HERE.parent / "conformance")]

import rank_part as part  # noqa: E402
from ranks_here import Rank, RankDied, Zygote  # noqa: E402


class Pool:
    """Processes by rank. Each is started when it is first needed."""

    def __init__(self) -> None:
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), inherited]))  # where ranks find their part
        try:
            self._zygote = Zygote()
        finally:
            del os.environ["PYTHONPATH"]
            if inherited is not None:
                os.environ["PYTHONPATH"] = inherited
        self._ranks: dict[int, Rank] = {}
        self._environments: dict[int, dict[str, str]] = {}

    def __getitem__(self, rank: int) -> Rank:
        return self._ranks[rank]

    def begin(self, rank: int, environment: dict[str, str]) -> None:
        """Let a rank come to a world; `begun` answers its number there."""
        self._environments[rank] = environment
        if rank not in self._ranks:
            self._ranks[rank] = Rank(self._zygote, rank, environment)
        self._ranks[rank].begin(part.come, environment)

    def begun(self, rank: int) -> int:
        return int(self._ranks[rank].result())

    def come_again(self, rank: int) -> int:
        """Let a rank that has left, or died, come again; answer its new number."""
        self.begin(rank, self._environments[rank])
        return self.begun(rank)

    def kill(self, rank: int) -> None:
        """End a process by SIGKILL; what asks for that rank next starts another one."""
        self._ranks.pop(rank).kill()

    def leave(self) -> None:
        """Let all ranks leave the world that they are in, and keep the processes."""
        for rank in self._ranks.values():
            rank.begin(part.go)
        for rank in self._ranks.values():
            rank.result()

    def close(self) -> None:
        """End all processes."""
        for rank in list(self._ranks):
            self.kill(rank)

    def end(self) -> None:
        """End all processes, for good."""
        self.close()
        self._zygote.close()


@dataclass(frozen=True)
class RankCalls:
    """The calls of the model (data_calls.py), carried out by a rank."""

    rank: Rank
    v2: bool

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def carried_out(*arguments: Any) -> Any:
            return self.rank(part.call, self.v2, name, *arguments)

        return carried_out
