"""Exceptions of signal handlers, which run between any two lines of ours and belong to the caller."""

from __future__ import annotations

import signal
import traceback


def raised_by_signal(error: BaseException) -> bool:
    """Tell whether an exception comes from a signal handler that ran between two lines of ours."""
    handlers = [getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()]
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return isinstance(error, KeyboardInterrupt) or any(code in frames for code in handlers if code)
