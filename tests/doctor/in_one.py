"""Run checks in this process and print their report, as the doctor does in a process for each: in_one.py CHECK...

The trial comes first: it says where the driver's log goes, which a driver asks once, when it starts.
"""

from __future__ import annotations

import json
import sys

from cumulticast.cli.doctor import exit_code
from cumulticast.doctor.examine import guarded
from cumulticast.doctor.register import checks
from cumulticast.doctor.result import Report
from cumulticast.doctor.verdict import judge

names = sys.argv[1:] or list(checks())
found = {name: guarded(checks()[name]) for name in sorted(names, key=lambda name: name != "trial")}
results = [found[name] for name in names]
report = Report(tuple(results), *judge(results))
print(json.dumps(report.as_dict()))
sys.exit(exit_code(report))
