"""What has to be given back: ``close`` once, ``with``, and a warning when it is forgotten."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self


def close_all(things: Iterable[Resource]) -> None:
    """Close all of them, the last one first; one that cannot be closed keeps none of the others from it.

    Raises
    ------
    cumulticast.driver.DriverError
        The driver refused a step. The others were carried out all the same.
    """
    _carry_out([thing.close for thing in things])


def _carry_out(steps: list[Callable[[], object]]) -> None:
    """Carry all steps out, the last one first, and raise what went wrong first: the rest may follow from it."""
    errors: list[BaseException] = []
    while steps:
        try:
            steps.pop()()
        except BaseException as error:  # an interrupt does not end a roll-back either
            errors.append(error)
    if errors:
        first = next((error for error in errors if not isinstance(error, Exception)), errors[0])
        for error in errors:
            if error is not first:
                first.add_note(" ".join(["another step:", str(error), *getattr(error, "__notes__", ())]))
        raise first


class Resource:
    """Something that the driver holds for us until ``close``.

    The garbage collector closes nothing: an unbind or unmap at a time nobody chose breaks the kernels of other ranks
    that use the memory. It warns (ResourceWarning).
    """

    def __init__(self) -> None:
        self._held: list[Callable[[], object]] = []  # what undoes the steps that made this, in their order
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
            The driver refused a step; later refusals are notes of the first. All others were carried out all the same.
        """
        if not self._closed:
            self._closed = True
            _carry_out(self._held)

    @contextmanager
    def building(self) -> Generator[None]:
        """Close, if the steps inside fail: what is half made leaves no trace."""
        try:
            yield
        except BaseException as error:
            try:
                self.close()
            except Exception as problem:
                error.add_note(f"a step could not be undone: {problem}")
            raise

    def undo(self, step: Callable[..., object], *arguments: Any) -> None:
        """Note down what ``close`` has to do, before everything that was noted down earlier."""
        self._held.append(partial(step, *arguments))

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
        if not getattr(self, "_closed", True) and not sys.is_finalizing():  # at the end no text can be made any more
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=1, source=self)
