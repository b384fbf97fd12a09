"""Ranks for tests of the comm: threads of this process, or processes that can be stopped and killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from cumulticast.ranks import free_port
from cumulticast.team.comm import Comm, CommError, open_comm
from cumulticast.team.comm.link import Link

LONG = 30.0  # a limit that only a hang reaches


def address() -> str:
    """Answer an address of this host that was free a moment ago."""
    return f"tcp://127.0.0.1:{free_port()}"


def side_by_side(*parts: Callable[[], Any]) -> list[Any]:
    """Run each part in a thread of its own; answer what they return or raise."""
    results: list[Any] = [None] * len(parts)

    def run(number: int) -> None:
        try:
            results[number] = parts[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive(), "a rank hangs"
    return results


class Ranks(list[Comm]):
    """The comms of all ranks of a session, and those split from them."""

    def __init__(self, comms: Iterable[Comm]) -> None:
        super().__init__(comms)
        self._split = list[Comm]()

    def split(self, ranks: list[int], *, of: list[int] | None = None) -> list[Comm]:
        """Split ranks off; ``of`` are those that call it, all of them unless given."""
        made = side_by_side(*(partial(self[rank].split, ranks) for rank in of or ranks))
        assert not [one for one in made if isinstance(one, Exception)], made
        self._split += made
        return made

    def close(self) -> None:
        """Close all of them."""
        side_by_side(*(one.close for one in (*self._split, *self)))


@contextmanager
def joined(size: int, place: str | None = None) -> Iterator[Ranks]:
    """Give the comms of all ranks of a session, each to be used by a thread; close them in the end."""
    place = place or address()
    comms = side_by_side(*(partial(open_comm, place, rank, size, LONG) for rank in range(size)))
    assert not [one for one in comms if isinstance(one, Exception)], comms
    ranks = Ranks(comms)
    try:
        yield ranks
    finally:
        ranks.close()


def exchanged(comms: list[Comm], label: str = "step", timeout: float = LONG) -> list[Any]:
    """Have each comm bring the number of its place in the list; answer what each got or raised."""
    payloads = [b"%d" % number for number in range(len(comms))]
    parts = [partial(one.exchange, payload, label, timeout) for one, payload in zip(comms, payloads, strict=True)]
    return side_by_side(*parts)


def blamed(results: list[Any]) -> list[dict[int, str]]:
    """Answer the culprits that each rank was told."""
    assert all(isinstance(one, CommError) for one in results), results
    return [one.culprits for one in results]


@contextmanager
def comm_thread(place: str, rank: int, size: int) -> Iterator[Callable[[], Any]]:
    """Open a comm in a thread; what it gives waits for what came of it."""
    result = list[Any]()
    thread = threading.Thread(target=lambda: result.extend(side_by_side(partial(open_comm, place, rank, size, LONG))))
    thread.start()

    def outcome() -> Any:
        thread.join(LONG)
        return result[0]

    yield outcome
    thread.join(LONG)


class RankProcess:
    """One rank in a process: it does what it is told by lines, and answers each with a line.

    Parameters
    ----------
    place, rank, size
        Where it joins.
    limit
        Seconds until all must have come.
    """

    def __init__(self, place: str, rank: int, size: int, limit: float = LONG) -> None:
        command = [sys.executable, __file__, place, str(rank), str(size), str(limit)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line: str) -> None:
        """Have the rank begin with something."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """Wait for what came of it."""
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def end(self) -> None:
        """Kill it, whatever it does."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            with suppress(BrokenPipeError):
                stream.close()
        self.process.wait()


@contextmanager
def processes(size: int) -> Iterator[list[RankProcess]]:
    """Give ranks in processes, all of them joined."""
    place = address()
    started = [RankProcess(place, rank, size) for rank in range(size)]
    try:
        assert [one.answer() for one in started] == ["joined"] * size
        yield started
    finally:
        for one in started:
            one.end()


def _interrupt_wait() -> None:
    """Send SIGINT to this process once its main thread waits for the hub."""
    main = threading.main_thread().ident
    assert main
    while sys._current_frames()[main].f_code is not Link._read.__code__:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)


def _rank(place: str, rank: str, size: str, limit: str) -> None:
    """Do what the lines of the standard input say: exchange LABEL TIMEOUT · interrupt LABEL TIMEOUT ·
    split RANKS · close REASON. What follows a split is about the new comm."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
    try:
        comm = open_comm(place, int(rank), int(size), float(limit))
    except CommError as error:
        print(f"CommError {error.culprits}", flush=True)
        return
    print("joined", flush=True)
    for line in sys.stdin:  # its end is the end of the process, without a word to the others
        word, _, rest = line.strip().partition(" ")
        if word == "close":
            comm.close(rest)
            print("closed", flush=True)
            continue
        if word == "fork":
            if os.fork() == 0:
                select.select([sys.stdin], [], [])  # until the test lets go of the pipe
                os._exit(0)
            print("forked", flush=True)
            continue
        if word == "split":
            comm = comm.split([int(one) for one in rest.split(",")])
            print("split", flush=True)
            continue
        if word == "interrupt":
            threading.Thread(target=_interrupt_wait).start()
        label, timeout = rest.split()
        try:
            print(comm.exchange(rank.encode(), label, float(timeout)), flush=True)
        except (CommError, KeyboardInterrupt) as error:
            print(f"{type(error).__name__} {getattr(error, 'culprits', '')}".rstrip(), flush=True)


if __name__ == "__main__":
    _rank(*sys.argv[1:])
