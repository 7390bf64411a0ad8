"""Tests, and programs that look for mistakes: `python -m tests.campaign`, in the root of the repository.

`-m` puts that root on `sys.path`, where the folder `earleymask/` would hide the installed package of that name. So the
root is removed here, and this folder is added: `support`, `campaign` and `fuzz` are imported by these names, in such a
program as well as under pytest (see `pythonpath` in pyproject.toml).
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

sys.path[:] = [str(HERE), *(entry for entry in sys.path if Path(entry or ".").resolve() not in (HERE, HERE.parent))]
