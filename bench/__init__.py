"""The benches. Run them in the root of the repository, for example `python -m bench.latency`.

`-m` puts the root on `sys.path`, where the folder `earleymask/` hides the installed package of that name, which has
`trie`, `grammar` and so on inside. So the root is removed again, and the installed package is measured. `tests/` is
added, because the real vocabularies are loaded by a module of the tests.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
if str(ROOT / "tests") not in sys.path:
    sys.path.append(str(ROOT / "tests"))
