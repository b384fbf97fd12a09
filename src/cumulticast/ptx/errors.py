"""What can be wrong with PTX text, and which status a driver answers for it."""

from __future__ import annotations

INVALID_IMAGE = 200  # no PTX is recognised
INVALID_PTX = 218  # syntax, semantics, illegal forms, unresolved functions, a .target above the device
UNSUPPORTED_PTX_VERSION = 222  # a .version above the driver's


class PtxError(Exception):
    """PTX text that is not compiled: the status that says so, the line, and the reason.

    Parameters
    ----------
    reason
        What is wrong, with the offending text and, where there is one, the nearest that would do.
    line
        1-based line in the PTX text; 0 where no line can be named.
    status
        200, 218 or 222: recorded of a real driver (H200, 580.159).
    """

    def __init__(self, reason: str, line: int = 0, status: int = INVALID_PTX) -> None:
        super().__init__(reason, line, status)
        self.reason = reason
        self.line = line
        self.status = status

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" if self.line else self.reason
