"""Commands are run as the tests of the command line run them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "cli"))
