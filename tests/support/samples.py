"""Vocabularies sampled from real ones, grammars with special tokens, and what to do if the twin takes too long."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import reject

from earleymask import Vocabulary
from support import vocabularies
from support.strategies import TokenPool
from support.twin import Node, TooMuchWork, dict_trie

SPECIALS = ("<|call|>", "<|end|>", "<|other|>")
SPECIAL_GRAMMARS = [
    'start: "a"* <|call|> "b" | "a" <|call|>',
    'start: /[a-z]+/ <|call|> start | "x"\n%ignore " "',
    'start: <|call|> | <|other|> start',
    'start: "<|call|>" <|call|> "<|call|>"?',
    'start: ("a" <|call|>)~2..3',
    'start: ("a" | <|call|>)* "b"? <|end|>',  # an EOS token that the grammar names is a symbol like others
    'start: "a" [<|end|>] "b"?',
    'start: "a"? <|end|> "b" <|end|>',
]  # fmt: skip


@functools.cache
def sample(seed: int = 0, size: int = 700) -> tuple[Vocabulary, Node]:
    """Make a vocabulary of all bytes, some tokens of a real one, duplicates, a gap, two EOS ids and special tokens."""
    real = vocabularies.load(["tekken", "llama3", "deepseek"][seed % 3])
    tokens = TokenPool.of([real.token_bytes(i) for i in range(real.size)]).sample(Random(seed), size)
    specials = {name: size + 1 + i for i, name in enumerate(SPECIALS)}
    vocabulary = Vocabulary.from_tokens(
        [*tokens, b"", *(b"" for _ in SPECIALS), b""],
        eos_token_id=[specials["<|end|>"], size + 1 + len(SPECIALS)],
        special_tokens=specials,
        special_token_ids=specials.values(),
    )
    return vocabulary, dict_trie(vocabulary)


def within_budget(test: Callable[..., None]) -> Callable[..., None]:
    """Let Hypothesis replace examples that take the twin too long: in an ambiguous grammar, rows grow with the text."""

    @functools.wraps(test)
    def tried(*args: Any, **kwargs: Any) -> None:
        try:
            test(*args, **kwargs)
        except TooMuchWork:
            reject()

    return tried
