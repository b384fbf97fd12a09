"""``python -m cumulticast.cli``."""

import sys

from cumulticast.cli import main

sys.exit(main())
