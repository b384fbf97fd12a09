"""Looking up the addresses of host names without waiting for it: a resolver takes as long as it likes."""

from __future__ import annotations

import socket
import threading
from typing import Any

Found = tuple[Any, ...]  # family, kind, protocol, canonical name, address: as of socket.getaddrinfo


class Names:
    """Host names, each looked up once in a thread of its own unless it is an address already."""

    def __init__(self) -> None:
        self._answers: dict[str, list[Found] | OSError | None] = {}

    def find(self, host: str, port: int) -> list[Found] | None:
        """Answer where to connect to; None as long as that is being looked up.

        Raises
        ------
        OSError
            The name has no address. The next call looks it up again.
        """
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            if host not in self._answers:
                self._answers[host] = None
                threading.Thread(target=self._look_up, args=(host,), name=f"look up {host}", daemon=True).start()
        answer = self._answers[host]
        if isinstance(answer, OSError):
            del self._answers[host]
            raise answer
        return answer and [(*known, (place[0], port, *place[2:])) for *known, place in answer]

    def _look_up(self, host: str) -> None:
        try:
            self._answers[host] = list(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        except OSError as error:
            self._answers[host] = error
        except UnicodeError as error:  # a name that is none
            self._answers[host] = OSError(str(error))
