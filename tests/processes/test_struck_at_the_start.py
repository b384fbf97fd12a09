"""A signal handler that raises while the first call starts the driver: the caller gets the exception, and a driver."""

from __future__ import annotations

import sys

import pytest
from on_ranks import COMMAND, environment, finished

PROGRAM = """
import signal, sys

class Struck(BaseException):
    pass

def strike(*_):
    raise Struck

class AtImports:
    # Strikes once before each module of these, wherever the start has come to.
    names = {names!r}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            self.names.remove(name)
            signal.raise_signal(signal.SIGUSR1)
        return None

signal.signal(signal.SIGUSR1, strike)
sys.meta_path.insert(0, AtImports())
from {module} import {name} as nvidia
try:
    nvidia.{first}
except Struck:
    print("struck", len(AtImports.names))
print(nvidia.{second})
"""
CUDA = ["sqlite3", "cumulticast.rules.binding", "cumulticast.sim.calls.binding", "cumulticast.sim.injection"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("module", "name", "first", "second", "names"),
    [
        ("cuda.bindings", "driver", "cuInit(0)", "cuDeviceGetCount()[1]", CUDA),
        ("cuda.bindings._v2", "driver", "init(0)", "device_get_count()", CUDA),
    ],
    ids=["v1", "v2"],
)
def test_the_caller_gets_the_exception_and_a_driver(
    module: str, name: str, first: str, second: str, names: list[str]
) -> None:
    code = PROGRAM.format(module=module, name=name, first=first, second=second, names=names)
    done = finished([*COMMAND, "run", "--", sys.executable, "-c", code], environment(None))
    assert done.out == "struck 0\n8\n", (done.out, done.err)
