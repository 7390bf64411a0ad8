"""`earleymask demo`: generate a text under a grammar, with pseudo-random numbers in place of a model.

The logits follow Zipf's law. A tokenizer numbers its tokens in the order in which it learned them, the most frequent
first, so the logit of the token of rank r is -log(r), plus seeded noise. That yields words instead of gibberish; all
structure comes from the grammar.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from ..earley import Matcher
from ..errors import empty_mask
from ..grammar import Grammar
from ..trie import Vocabulary
from .shared import EXIT_NO, EXIT_OK, CommandError, read_grammar

if TYPE_CHECKING:
    import numpy.typing as npt

GRAMMAR = r"""
// A ship's papers, as JSON. The cargo nests: a crate may hold crates.
start: "{" ship "," captain "," rig "," course "," cargo "," log "\n}\n"

ship: "\n  \"ship\": " name
captain: "\n  \"captain\": " name
name: "\"" /[A-Z][a-z]{2,8}( (of|the|van|de))? [A-Z][a-z]{2,8}/ "\""

rig: "\n  \"rig\": \"" ("sloop" | "schooner" | "brig" | "galleon" | "submarine" | "flying boat") "\""
course: "\n  \"course\": \"" LATITUDE " " LONGITUDE "\""
LATITUDE: /[1-8]?[0-9]°[0-5][0-9]'[NS]/
LONGITUDE: /(1[0-7]|[1-9])?[0-9]°[0-5][0-9]'[EW]/

cargo: "\n  \"cargo\": " crate
crate: "[" (item (", " item)~0..2)? "]"
item: crate | "\"" QUANTITY " " THING "\""
QUANTITY: /([2-9]|[1-9][0-9])/ (" barrels of" | " chests of" | " cages of" | " bottles of")
THING: /[a-z]{3,10}/

log: "\n  \"log\": \"" /[A-Z][a-z]{1,9}(,? [a-z]{1,9}){3,9}[.!?]/ "\""
"""
LINE_WIDTH = 80
"""The most characters of the unfinished line that a step shows: the last ones."""
LOGIT_PER_BYTE = 0.8
"""Each byte of a token adds so much to its logit; see `_logits`."""


def run(given: argparse.Namespace) -> int:
    # The first grammar of a process imports what reads its syntax: that is not part of its loading time.
    if given.grammar is not None and given.grammar.lower().endswith(".gbnf"):
        Grammar.from_gbnf('root ::= "a"')
    else:
        Grammar.from_lark('start: "a"')
    # The grammar comes before the vocabulary, which takes seconds, so that its mistakes are shown at once.
    started = time.perf_counter()
    grammar = Grammar.from_lark(GRAMMAR) if given.grammar is None else read_grammar(given.grammar)
    grammar_ms = (time.perf_counter() - started) * 1e3
    started = time.perf_counter()
    vocabulary = _tekken()
    vocabulary_s = time.perf_counter() - started
    print(f"vocabulary: tekken, {vocabulary.size:,} tokens, read in {vocabulary_s:.1f} s")
    n_lines = len(grammar.source.strip().splitlines())
    syntax = "GBNF" if grammar.kind == "gbnf" else "Lark"
    print(f"grammar: {n_lines} {'line' if n_lines == 1 else 'lines'} of {syntax}, loaded in {grammar_ms:.1f} ms\n")

    matcher = Matcher(grammar, vocabulary)
    mask_us = _generate(matcher, given.seed, given.max_tokens)
    written = b"".join(vocabulary.token_bytes(token_id) for token_id in matcher.tokens)
    print("\n" + written.decode("utf-8", "replace").rstrip("\n") + "\n")
    print(
        f"{matcher.n_tokens} tokens; masks: median {statistics.median(mask_us):.0f} µs, "
        f"first {mask_us[0]:.0f} µs, slowest {max(mask_us):.0f} µs"
    )
    if matcher.is_finished():
        print("The text is a sentence of the grammar.")
        return EXIT_OK
    print(f"Stopped after {given.max_tokens} tokens: the text is the beginning of a sentence.")
    return EXIT_NO


def _generate(matcher: Matcher, seed: int, max_tokens: int) -> list[float]:
    """Generate until the text ends, and print a line for each token. Return the time of each mask in µs."""
    vocabulary = matcher.vocabulary
    dim, bright, plain = ("\x1b[2m", "\x1b[1;32m", "\x1b[0m") if _has_colours() else ("", "", "")
    print(f"{dim}step  allowed     mask  text{plain}")
    random = np.random.default_rng(seed)
    base = _logits(vocabulary)
    row = np.zeros(-(-vocabulary.size // 32), np.int32)
    mask_us: list[float] = []
    text = b""
    while matcher.n_tokens < max_tokens and not matcher.is_finished():
        started = time.perf_counter()
        matcher.fill_bitmask(row)
        mask_us.append((time.perf_counter() - started) * 1e6)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), count=vocabulary.size, bitorder="little"))
        if not len(allowed):
            raise empty_mask(matcher, f"after {text!r}")
        # The largest of logits plus Gumbel noise is a sample of their softmax.
        token_id = int(allowed[np.argmax(base[allowed] + random.gumbel(size=len(allowed)))])
        matcher.accept(token_id)
        spelled = vocabulary.token_bytes(token_id)
        before = _shown(text.rpartition(b"\n")[2])[-LINE_WIDTH:]
        new = _shown(spelled) if spelled else "(end)"
        text += spelled
        step = f"{matcher.n_tokens:4}  {len(allowed):7,}  {mask_us[-1]:4.0f} µs"
        print(f"{step}  {dim}{before}{plain}{bright}{new}{plain}", flush=True)
    return mask_us


def _logits(vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """Return a logit for each token: minus the logarithm of its rank, by id, among the text tokens, plus its length.

    The length stands in for how tokenizers spell: with the longest token that fits.
    """
    n_bytes = np.array([len(vocabulary.token_bytes(token_id)) for token_id in range(vocabulary.size)])
    logits: npt.NDArray[np.float64] = LOGIT_PER_BYTE * n_bytes - np.log(np.maximum(np.cumsum(n_bytes > 0), 1))
    return logits


def _tekken() -> Vocabulary:
    """Load Mistral's tekken, which comes with the package `mistral-common`."""
    try:
        import mistral_common
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    except ImportError as error:
        raise CommandError(f"{error}; the demo needs a real vocabulary: run pip install 'earleymask[demo]'") from None
    folder = os.path.join(os.path.dirname(mistral_common.__file__), "data")
    names = sorted(name for name in os.listdir(folder) if name.startswith("tekken") and name.endswith(".json"))
    if not names:
        raise CommandError(
            f"mistral-common has no tekken vocabulary in {folder}; run pip install -U 'earleymask[demo]'"
        )
    return Vocabulary.from_mistral(Tekkenizer.from_file(os.path.join(folder, names[0])))


def _shown(text: bytes) -> str:
    """Show bytes on one line: line ends and parts of characters as visible characters."""
    shown = text.decode("utf-8", "replace").replace("\n", "⏎")
    return "".join(char if char.isprintable() else "·" for char in shown)


def _has_colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
