"""The process from which the ranks of these tests are forked: everything imported, no driver started, no thread.

A fork takes milliseconds where a new interpreter with cuda.bindings and numpy takes a third of a second. What a rank
gets of the driver is what every process gets: it opens libcuda.so.1, which finds the world in the environment.

``python zygote.py FD``: on the socket FD it is asked ("spawn", environment) with the rank's socket, and answers
its pid; ("wait", pid), and answers how it ended.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "conformance")]

for module in ("rank_steps", "cumulticast.libcuda.serve"):  # what ranks need; none of it starts a driver
    importlib.import_module(module)

LARGEST = 1 << 20


class Sent:
    """Where in a message a descriptor stands."""

    def __init__(self, number: int) -> None:
        self.number = number


def receive(channel: socket.socket) -> Any:
    """Receive a message; None when the other side has gone. Descriptors in it arrive as this process's own."""
    data, descriptors, _, _ = socket.recv_fds(channel, LARGEST, 16)
    if not data:
        return None
    message = pickle.loads(data)
    return tuple(descriptors[part.number] if isinstance(part, Sent) else part for part in message)


def send(channel: socket.socket, message: tuple[Any, ...], descriptors: tuple[int, ...] = ()) -> None:
    """Send a message with descriptors (SCM_RIGHTS); `Sent` stands for each."""
    socket.send_fds(channel, [pickle.dumps(message)], descriptors)


def serve_rank(channel: socket.socket, environment: dict[str, str]) -> None:
    """Be a rank: run what is asked for until nobody asks any more."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(environment["LIBCUDA"], mode=os.RTLD_GLOBAL)
    while (asked := receive(channel)) is not None:
        function, gives_descriptor, *arguments = asked
        try:
            value = function(*arguments)
        except KeyboardInterrupt:
            send(channel, ("interrupted", None))
        except Exception:
            send(channel, ("raised", traceback.format_exc()))
        else:
            if gives_descriptor:
                send(channel, ("descriptor", Sent(0)), (value,))
                os.close(value)
            else:
                send(channel, ("returned", value))


def main(number: int) -> None:
    """Fork ranks for whoever asks on the socket."""
    requests = socket.socket(fileno=number)
    while (asked := receive(requests)) is not None:
        what, *arguments = asked
        if what == "wait":
            _, status = os.waitpid(arguments[0], 0)
            send(requests, (os.waitstatus_to_exitcode(status),))
            continue
        environment, fd = arguments
        child = os.fork()
        if not child:
            requests.close()
            serve_rank(socket.socket(fileno=fd), environment)
            return
        os.close(fd)
        send(requests, (child,))


if __name__ == "__main__":
    sys.modules["zygote"] = sys.modules["__main__"]  # what it sends is unpickled under this name
    Sent.__module__ = "zygote"
    main(int(sys.argv[1]))
