"""What has to be given back: ``close`` once, ``with``, and a warning when it is forgotten."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self


class Resource:
    """Something that the driver holds for us until ``close``.

    The garbage collector closes nothing: an unbind or unmap at a time nobody chose breaks the kernels of other ranks
    that use the memory. It warns (ResourceWarning).
    """

    def __init__(self) -> None:
        self._held = ExitStack()  # what undoes the steps that made this, the last one first
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether it was given back."""
        return self._closed

    def close(self) -> None:
        """Give everything back. A second call does nothing.

        Raises
        ------
        cumulticast.driver.DriverError
            The driver refused a step. The other steps were carried out all the same.
        """
        if not self._closed:
            self._closed = True
            self._held.close()

    @contextmanager
    def building(self) -> Generator[None]:
        """Close, if the steps inside fail: what is half made leaves no trace."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def undo(self, step: Callable[..., object], *arguments: Any) -> None:
        """Note down what ``close`` has to do, before everything that was noted down earlier."""
        self._held.callback(step, *arguments)

    def check_open(self) -> None:
        """Refuse to go on with what is closed.

        Raises
        ------
        ValueError
            It is.
        """
        if self._closed:
            raise ValueError(f"{self!r} is closed")

    def __enter__(self) -> Self:
        """Answer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""
        self.close()

    def __del__(self) -> None:
        """Warn of what was not closed."""
        if not getattr(self, "_closed", True):
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=1, source=self)
