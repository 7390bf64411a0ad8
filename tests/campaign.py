"""Many masks against the twin: `python -m tests.campaign --masks 100000 --seed 1` in the root of the repository.

Grammars, vocabularies and walks are made from the seed alone, so a seed names a run; `--resume FILE` keeps the totals
and goes on where the last run stopped. Vocabularies are samples of 500 to 4,000 tokens of real ones; one grammar in
four is a small one over few letters, and its tokens are all strings of them. With `--full` vocabularies are whole, and
one grammar in four is one of `bench/grammars`, at positions inside its texts. A difference is shrunk, printed with all
it takes to see it again, and counted; the run ends with exit code 1 if there was any.

Each mask is made by all ways that there are (`Pair.mask`), within bounds that differ from grammar to grammar: the size
from which on answers are put together from parts, and the memory for them. The first positions of a walk are cheap and
alike, so most walks are compared from their sixth token on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
# With `-m` the root of the repository is on sys.path, and its folder `earleymask/` would hide the installed package.
sys.path[:] = [str(HERE), *(p for p in sys.path if Path(p or ".").resolve() not in (HERE, HERE.parent))]

import vocabularies  # noqa: E402
from compare import Difference, Loaded, Pair, Skipped, load, shrunk  # noqa: E402
from mask_paths import NEVER, all_strings, limits, pieces_of  # noqa: E402
from strategies import SMALL, GrammarSketch, TokenPool, make_grammar, make_small_grammar  # noqa: E402
from twin import Node, TooMuchWork, dict_trie  # noqa: E402

from earleymask import Vocabulary  # noqa: E402

SAMPLED_FROM = ("tekken", "llama3", "deepseek")
WHOLE = ("tekken", "mistral-spm-32k", "deepseek", "llama3")
BENCH = ("json", "language", "sql")
FEW_GRAMMARS = 20
"""Grammars that share one sampled vocabulary."""
BUDGET = {False: 1_500_000, True: 30_000_000}
"""Items that the twin may complete in one grammar (seconds; with `--full`, half a minute) before it is left."""
MOST_POSITIONS = 200_000
"""What the twin may remember of a grammar before it forgets all."""


@dataclass
class Totals:
    seed: int
    full: bool
    next_case: int = 0
    grammars: int = 0
    skipped: int = 0
    masks: int = 0
    late: int = 0  # masks beyond the fifth token
    in_bench: int = 0  # masks in bench grammars
    differences: int = 0
    cut_short: int = 0
    sizes: dict[str, int] = field(default_factory=dict)  # masks by vocabulary

    def count(self, n_tokens: int, vocabulary: str, bench: bool) -> None:
        self.masks += 1
        self.late += n_tokens >= 5
        self.in_bench += bench
        self.sizes[vocabulary] = self.sizes.get(vocabulary, 0) + 1

    def __str__(self) -> str:
        share = 100 * self.late / self.masks if self.masks else 0
        by_vocabulary = ", ".join(f"{name} {n:,}" for name, n in sorted(self.sizes.items()))
        return (
            f"seed {self.seed}: {self.masks:,} masks, {share:.0f}% beyond the fifth token, in {self.grammars:,} "
            f"grammars ({self.in_bench:,} masks in bench grammars; {self.skipped:,} grammars without sentences or "
            f"refused by lark, {self.cut_short:,} cut short); {self.differences} differences\n    {by_vocabulary}"
        )


@dataclass
class Case:
    """One grammar with the vocabulary and the number of masks it is to be tried with."""

    rng: Random
    text: str
    vocabulary: Vocabulary
    name: str
    trie: Node
    n_walks: int
    n_tokens: int
    sketch: GrammarSketch | None = None
    document: bytes | None = None  # a text of a bench grammar
    small: bool = False
    bounds: dict[str, int] = field(default_factory=dict)  # of `mask_paths.limits`


@cache
def pool(name: str) -> TokenPool:
    vocabulary = vocabularies.load(name)
    return TokenPool.of([vocabulary.token_bytes(i) for i in range(vocabulary.size)])


@lru_cache(maxsize=1)
def sampled(seed: str) -> tuple[Vocabulary, str, Node]:
    """A vocabulary of 500 to 4,000 tokens, most of them nearer to 500, with two EOS ids and a gap."""
    rng = Random(seed)
    name = rng.choice(SAMPLED_FROM)
    size = int(500 * 8 ** (rng.random() ** 2))
    tokens = pool(name).sample(rng, size - 3)
    vocabulary = Vocabulary.from_tokens([*tokens, b"", b"", b""], eos_token_id=[size - 3, size - 1])
    return vocabulary, f"{name} sampled", dict_trie(vocabulary)


@cache
def small(alphabet: str) -> tuple[Vocabulary, str, Node]:
    vocabulary = all_strings(alphabet, SMALL[alphabet][0], pieces_of(alphabet))
    return vocabulary, f"all of {alphabet!r}", dict_trie(vocabulary)


@lru_cache(maxsize=2)
def whole_trie(name: str) -> Node:
    return dict_trie(vocabularies.load(name))


@cache
def bench_text() -> Callable[[str, int, int], str]:
    sys.path.append(str(HERE.parent))
    from bench.texts import generate  # takes the root off sys.path again

    return generate


def make_case(seed: int, number: int, full: bool) -> Case:
    rng = Random(f"{seed}/{number}")
    bounds = make_bounds(Random(f"{seed}/{number} bounds"))
    if not full and number % 4 == 3:
        alphabet = rng.choice(list(SMALL))
        vocabulary, name, trie = small(alphabet)
        sketch = make_small_grammar(rng, alphabet)
        return Case(rng, sketch.text, vocabulary, name, trie, 3, 6, sketch, small=True, bounds=bounds)
    if not full:
        vocabulary, name, trie = sampled(f"{seed}/{number // FEW_GRAMMARS}")
        sketch = make_grammar(rng)
        return Case(rng, sketch.text, vocabulary, name, trie, 3, rng.choice([10, 14, 24]), sketch, bounds=bounds)
    name = WHOLE[number // FEW_GRAMMARS % len(WHOLE)]
    vocabulary = vocabularies.load(name)
    if number % 4:
        sketch = make_grammar(rng)
        return Case(rng, sketch.text, vocabulary, name, whole_trie(name), 2, 9, sketch, bounds=bounds)
    kind = BENCH[number // 4 % len(BENCH)]
    text = (HERE.parent / "bench" / "grammars" / f"{kind}.lark").read_text(encoding="utf-8")
    document = bench_text()(kind, rng.randrange(10**6), 600).encode()
    return Case(rng, text, vocabulary, name, whole_trie(name), 1, 12, document=document, bounds=bounds)


def make_bounds(rng: Random) -> dict[str, int]:
    """The usual ones for half of the grammars."""
    bounds = {}
    if rng.randrange(2):
        bounds["split_nodes"] = rng.choice([1, 5, 50, 300, NEVER])
    if rng.randrange(8) == 0:
        bounds["memory"] = rng.choice([0, 1 << 14, 1 << 18])
    return bounds


def tokenised(rng: Random, trie: Node, data: bytes) -> list[int]:
    """The text in tokens, the longest that fit mostly, and random shorter ones in between."""
    tokens = []
    place = 0
    while place < len(data):
        fitting: list[tuple[int, int]] = []
        node: Node | None = trie
        for end in range(place, len(data)):
            node = node.children.get(data[end]) if node else None
            if node is None:
                break
            fitting += [(end + 1, token_id) for token_id in node.token_ids]
        place, token_id = fitting[-1] if rng.randrange(4) else rng.choice(fitting)
        tokens.append(token_id)
    return tokens


def run_case(case: Case, totals: Totals, advance: Callable[[int], None]) -> None:
    """Walks through one grammar; raises at its first difference."""
    loaded = load(case.text)
    loaded.twin.budget = BUDGET[totals.full]
    totals.grammars += 1
    for n in range(case.n_walks):
        pair = Pair(loaded, case.vocabulary, case.trie)
        if case.document is not None:
            walk_document(case, pair, totals, advance)
            continue
        # Every fourth walk is compared from the start; sooner where many late ones have been.
        early = case.small or (n == 0 and totals.late * 10 > totals.masks * 6)
        walk_freely(case, loaded, pair, totals, advance, early)


def walk_freely(
    case: Case, loaded: Loaded, pair: Pair, totals: Totals, advance: Callable[[int], None], early: bool
) -> None:
    rng = case.rng
    for n in range(case.n_tokens):
        if loaded.twin.n_remembered > MOST_POSITIONS:
            loaded.twin.forget()
        compared = early or n >= 5
        mask = pair.mask() if compared else pair.twin.mask()
        if compared:
            totals.count(n, case.name, False)
            advance(1)
            refused = rng.randrange(case.vocabulary.size)
            if not mask[refused]:
                pair.accept(refused)  # offered to both, taken by neither
        token_id = pair.next_token(rng, mask)
        if token_id is None:
            return
        pair.accept(token_id)


def walk_document(case: Case, pair: Pair, totals: Totals, advance: Callable[[int], None]) -> None:
    assert case.document is not None
    tokens = tokenised(case.rng, case.trie, case.document)
    chosen = set(case.rng.sample(range(len(tokens)), min(case.n_tokens, len(tokens))))
    for n, token_id in enumerate(tokens):
        if n in chosen:
            if not pair.mask()[token_id]:
                raise pair.fail(f"token {token_id} of a bench text is not allowed")
            totals.count(n, case.name, True)
            advance(1)
            pair.loaded.twin.forget()
        pair.accept(token_id)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masks", type=int, default=1000, help="how many masks to compare in all")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--full", action="store_true", help="whole vocabularies and the bench grammars")
    parser.add_argument("--resume", type=Path, help="file that keeps the totals")
    parser.add_argument("--most-differences", type=int, default=10)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)

    totals = Totals(options.seed if options.seed is not None else Random().randrange(10**6), options.full)
    if options.resume and options.resume.exists():
        totals = Totals(**json.loads(options.resume.read_text()))
        if totals.full != options.full or options.seed not in (None, totals.seed):
            parser.error(f"{options.resume} belongs to a run with seed {totals.seed}, full={totals.full}")
    print(f"seed {totals.seed}", flush=True)

    bar, advance = progress(options.masks, totals.masks, options.quiet)
    while totals.masks < options.masks and totals.differences < options.most_differences:
        case = make_case(totals.seed, totals.next_case, options.full)
        totals.next_case += 1
        with limits(**case.bounds):
            try:
                run_case(case, totals, advance)
            except Skipped:
                totals.skipped += 1
            except TooMuchWork:
                totals.cut_short += 1
            except Difference as difference:
                totals.differences += 1
                where = f"vocabulary {case.name}, bounds {case.bounds}"
                print(f"\n--- case {totals.next_case - 1}, {where}\n{difference}", flush=True)
                if case.sketch is not None:
                    print(f"--- shrunk\n{shrunk(case.sketch, difference, case.vocabulary)}", flush=True)
        if options.resume:
            options.resume.write_text(json.dumps(asdict(totals)))
    if bar is not None:
        bar.close()
    print(totals, flush=True)
    return 1 if totals.differences else 0


def progress(n_masks: int, done: int, quiet: bool) -> tuple[object, Callable[[int], None]]:
    try:
        from tqdm import tqdm
    except ImportError:
        return None, lambda n: None
    bar = tqdm(total=n_masks, initial=done, unit="mask", disable=quiet or None)
    return bar, bar.update


if __name__ == "__main__":
    sys.exit(main())
