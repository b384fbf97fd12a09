"""``python -m cumulticast.doctor.child CHECK``: run one check in this process and print its result as the last line."""

from __future__ import annotations

import json
import sys

from cumulticast.doctor.examine import guarded
from cumulticast.doctor.register import checks

if __name__ == "__main__":
    result = guarded(checks()[sys.argv[1]])
    print(json.dumps(result.as_dict()), flush=True)
