"""cuInit, versions, error names, and how entries are found."""

from __future__ import annotations

from cumulticast.rules import Status, general
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import entry
from cumulticast.sim.text import TEXTS


@entry("cuInit")
def init(driver: Driver, flags: int) -> None:
    """Set the process up. Repeated calls have no effect."""
    driver.judge(general.init_flags, flags)
    if driver.process:  # what stopped since then is for the calls that need it to tell
        return
    fault = driver.faults.state("fm")
    never = fault is not None and fault.value == "never"
    driver.judge(general.system_started, "the Fabric Manager never ran" if never else "")
    driver.judge(general.fabric_ready, driver.faults.starting())
    driver.initialise()


@entry("cuDriverGetVersion")
def driver_get_version(driver: Driver) -> int:
    """Answer 1000 x major + 10 x minor."""
    return driver.machine.driver_version


@entry("cuGetErrorName")
def get_error_name(driver: Driver, error: int) -> int:
    """Answer the address of the C name of a status."""
    return _text(driver, error, name=True)


@entry("cuGetErrorString")
def get_error_string(driver: Driver, error: int) -> int:
    """Answer the address of the description of a status."""
    return _text(driver, error, name=False)


def _text(driver: Driver, error: int, *, name: bool) -> int:
    try:
        status = Status(error)
    except ValueError:
        driver.judge(general.error_code_known, error, False)
        raise
    return TEXTS.address(status.cuda_name if name else status.text)
