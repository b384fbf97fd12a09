"""Which arrays go where in which multicast objects: pure arithmetic, with neither a driver nor arrays.

`planner.py` says what is decided and how; `plan` is the way in. `first_fit.py` is the heap of a team's memory.
"""

from cumulticast.layout.machines import Limits, limits
from cumulticast.layout.planned import Plan
from cumulticast.layout.planner import plan
from cumulticast.layout.request import Existing, Request, RequestError

__all__ = ["Existing", "Limits", "Plan", "Request", "RequestError", "limits", "plan"]
