"""A simulated machine in the process of the tests, fresh for one test."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from cumulticast import sim
from cumulticast.testing.births import Births
from cumulticast.testing.choices import Choices
from cumulticast.testing.leaks import Leak, descriptors_into, left_behind, remains

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver, Finding
    from cumulticast.sim.injection import Faults
    from cumulticast.sim.picture import Picture


class CudaMachine:
    """What the fixture ``cuda_machine`` gives: the machine that CUDA calls of this process reach."""

    def __init__(self, choices: Choices) -> None:
        """Start it.

        Raises
        ------
        RuntimeError
            Another libcuda is loaded, a machine runs already, or its world cannot be made.
        ValueError
            There is no such machine; the text names what there is.
        """
        self._choices = choices
        self._births = Births()
        sim.start(**choices.for_start())
        self._births.watch()
        self._world = str(self.driver.world.path)

    @property
    def driver(self) -> Driver:
        """The simulator's driver in this process."""
        return sim.current()

    @property
    def machine(self) -> str:
        """The name of the preset."""
        return self.driver.machine.name

    @property
    def devices(self) -> int:
        """How many devices this process sees."""
        return self.driver.machine.devices_per_node

    @property
    def nodes(self) -> int:
        """How many nodes the machine has; this process runs on the first."""
        return self.driver.machine.nodes

    @property
    def profile(self) -> str:
        """``hardware`` or ``strict``."""
        return self.driver.profile

    @property
    def faults(self) -> Faults:
        """The faults in force: ``faults.set("fm=stopped")``, ``faults.clear()``."""
        return self.driver.faults

    @property
    def findings(self) -> list[Finding]:
        """What was noticed so far: legal here, but not promised by the documents."""
        return list(self.driver.findings)

    @property
    def log(self) -> list[str]:
        """The lines of the CUDA error log: why calls were refused."""
        return self.driver.log.since(None)

    def world(self) -> Picture:
        """Take a picture of the machine as it is now."""
        return sim.world()

    def leaks(self) -> list[Leak]:
        """Name what has not been given back yet; what waits for the garbage collector does not count."""
        try:
            driver = self.driver
        except RuntimeError:  # the test stopped the machine itself
            return []
        if left_behind(driver, self._births):
            gc.collect()
        return left_behind(driver, self._births)

    def close(self, *, check: bool = True) -> str:
        """End the machine and say what was left behind, or nothing."""
        left = self.leaks() if check and self._choices.leaks == "fail" else []
        descriptors = [fd for fd, _ in descriptors_into(self._world)]
        sim.stop()
        own = remains(self._world, descriptors)
        return "\n".join(
            [
                *([f"the test left {len(left)} on the simulated machine:"] if left else []),
                *(f"  {leak}" for leak in left),
                *(["give it back, or mark the test @pytest.mark.cuda_machine(leaks='ignore')"] if left else []),
                *(f"the simulator left a file: {line}" for line in own),
            ]
        )
