"""Three tasks from beginning to end, each with a small model that is trained on the spot. Run them in the root of the
repository: `python -m examples`, or one of them, as `python -m examples.text_to_sql`.

`-m` puts the root on `sys.path`, where the folder `earleymask/` hides the installed package of that name, which has
`trie`, `grammar` and so on inside. So the root is removed again, and the installed package is used.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
