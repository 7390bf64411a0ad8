"""Coverage-guided fuzzing: `python -m tests.fuzz TARGET [--seconds N]` in the root of the repository.

Needs atheris (`pip install atheris`). The front ends are loaded from their Python sources, so that their branches count
as coverage; the core is the compiled one, best built with `EARLEYMASK_DEBUG=1`. A failure ends the run: its traceback
is printed, and its input is written to `tests/fuzz/found/TARGET/`, where the test suite runs it from then on. Without
--seconds, the run ends only with a failure. The corpus is kept in `build/fuzz/TARGET`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec

import atheris

from support.paths import ROOT


class Sources(importlib.abc.MetaPathFinder):
    """Find the modules of `grammar/` as Python sources, also where compiled ones stand beside them."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        below = name.removeprefix("earleymask.grammar.").replace(".", "/")
        file = ROOT / "grammar" / f"{below}.py"
        if not name.startswith("earleymask.grammar.") or not file.exists():
            return None
        return importlib.util.spec_from_file_location(name, file)


sys.meta_path.insert(0, Sources())
with atheris.instrument_imports(include=["earleymask"]):
    for path in sorted((ROOT / "grammar").rglob("*.py")):
        if path.stem != "__init__":
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            importlib.import_module(f"earleymask.{module}")

from fuzz import targets  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=sorted(targets.TARGETS))
    parser.add_argument("--seconds", type=int, default=0, help="stop after this many (default: never)")
    given = parser.parse_args()
    corpus = ROOT / "build" / "fuzz" / given.target
    corpus.mkdir(parents=True, exist_ok=True)
    found = targets.FOUND / given.target
    found.mkdir(parents=True, exist_ok=True)
    for index, seed in enumerate(targets.seeds(given.target)):
        (corpus / f"seed{index}").write_bytes(seed)
    dictionary = corpus.with_suffix(".dict")
    escaped = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in targets.WORDS[given.target]]
    dictionary.write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")
    options = [
        sys.argv[0], str(corpus), f"-max_total_time={given.seconds}", "-print_final_stats=1",
        f"-artifact_prefix={found}/", "-timeout=20", "-rss_limit_mb=3000", "-max_len=2000",
        "-len_control=0",  # try long inputs from the beginning
    ]  # fmt: skip
    if escaped:  # the fuzzer refuses an empty dictionary
        options.append(f"-dict={dictionary}")
    targets.TARGETS[given.target](b"")  # imports what it needs before any input is timed
    atheris.Setup(options, targets.TARGETS[given.target])
    atheris.Fuzz()


main()
