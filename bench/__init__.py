"""Benches: `python -m bench.latency`, in the root of the repository.

`-m` puts that root on `sys.path`, and there the folder `earleymask/` hides the installed package of that name, which
has `trie`, `grammar` and so on inside. The root is taken off again, so that what is measured is what is installed;
`tests/` is put on, for the real vocabularies that the tests use too.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
if str(ROOT / "tests") not in sys.path:
    sys.path.append(str(ROOT / "tests"))
