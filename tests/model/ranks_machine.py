"""The machine on which several processes act: all steps of one process, and those that take more than one."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import ClassVar

from both_bindings import Bindings
from life_steps import LifeSteps
from model_state import State
from ranks_in_use import RankCalls
from steps_common import BLOCK_LIMIT
from vmm_machine import VmmMachine
from world_check import Books

from cumulticast import launch
from cumulticast.sim.driver import Options
from cumulticast.sim.injection import Faults


class RanksMachine(VmmMachine, LifeSteps):
    """Real processes on one world; this process itself only looks on, and holds descriptors that are on their way."""

    ranks: ClassVar[int] = 4

    def start(self) -> None:
        options = Options(self.machine_name, nodes=self.nodes, profile=self.profile, block_limit=BLOCK_LIMIT)
        self._ends = ExitStack()
        try:
            world = self._ends.enter_context(launch.machine(options))
            self.books, self.faults = Books(world.path), Faults(world)
            self._let_all_come(launch.environment(options, world.path, {}) | {"LIBCUDA": str(launch.library())})
        except BaseException:
            self.pool.close()
            self._ends.close()
            raise

    def _let_all_come(self, environment: dict[str, str]) -> None:
        """Let the ranks come, filled node by node."""
        nodes = [rank * self.nodes // self.ranks for rank in range(self.ranks)]
        for rank, node in enumerate(nodes):
            self.pool.begin(rank, environment | {"RANK": str(rank), "CUMULTICAST_NODE": str(node)})
        for rank, node in enumerate(nodes):
            self.world.processes.append(State(self.world, self.pool.begun(rank), rank, node))

    def calls(self, *, v2: bool) -> Bindings:
        return RankCalls(self.pool[self.state.rank], v2)  # type: ignore[return-value]  # has what that has

    def go_home(self) -> None:
        for descriptor in list(self.world.in_flight):
            self.drop(descriptor)
        super().go_home()

    def end(self, *, failed: bool) -> None:
        try:
            if failed:
                self.pool.close()
            self.pool.leave()
            assert failed or not self.books.processes(), "somebody is still said to be there"
        finally:
            for descriptor in self.world.in_flight:  # left only after a failure
                os.close(descriptor)
            self.books.close()
            self._ends.close()
