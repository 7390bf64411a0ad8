"""Byte-pair encoding and Unigram over a few letters, plainly right: as their papers define them, without any speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from earleymask import Vocabulary

Encode = Callable[[str], list[int]]


def byte_pairs(merges: Sequence[tuple[bytes, bytes]], alphabet: bytes) -> Vocabulary:
    """Make a vocabulary of single bytes and merges, by Sennrich et al. (2016): join the pair that was learned first,
    the leftmost one, until none is left. The last id is EOS."""
    tokens = list(dict.fromkeys([*(bytes([byte]) for byte in alphabet), *(one + other for one, other in merges)]))
    rank = {pair: at for at, pair in reversed(list(enumerate(merges)))}

    def encode(text: str) -> list[int]:
        parts = [bytes([byte]) for byte in text.encode()]
        while True:
            ranks = [rank.get((parts[i], parts[i + 1]), math.inf) for i in range(len(parts) - 1)]
            if not ranks or min(ranks) == math.inf:
                return [tokens.index(part) for part in parts]
            at = ranks.index(min(ranks))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]

    return Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens), encode=encode)


def unigram(scores: dict[bytes, float]) -> Vocabulary:
    """Make a vocabulary of tokens with scores, by Kudo (2018): the cut with the highest sum. The last id is EOS."""
    tokens = list(scores)

    def encode(text: str) -> list[int]:
        data = text.encode()
        best: list[tuple[float, list[int]]] = [(0.0, [])]
        for end in range(1, len(data) + 1):
            ways = [
                (best[start][0] + scores[data[start:end]], [*best[start][1], tokens.index(data[start:end])])
                for start in range(end)
                if data[start:end] in scores and best[start][0] > -math.inf
            ]
            best.append(max(ways, key=lambda way: way[0], default=(-math.inf, [])))
        return best[-1][1]

    return Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens), encode=encode)


def some_byte_pairs(rng: Random, alphabet: bytes) -> Vocabulary:
    """Make one with random merges, as training would find them: of tokens that exist by then."""
    tokens = [bytes([byte]) for byte in alphabet]
    merges: list[tuple[bytes, bytes]] = []
    for _ in range(rng.randrange(2, 9)):
        pair = (rng.choice(tokens), rng.choice(tokens))
        if len(pair[0] + pair[1]) <= 5 and pair[0] + pair[1] not in tokens:
            merges.append(pair)
            tokens.append(pair[0] + pair[1])
    return byte_pairs(merges, alphabet)


def some_unigram(rng: Random, alphabet: bytes) -> Vocabulary:
    """Make one with random tokens of up to four bytes. No two cuts have the same sum, but by a chance that is nil."""
    words = {bytes(rng.choices(alphabet, k=rng.randrange(2, 5))) for _ in range(rng.randrange(2, 12))}
    scores = {bytes([byte]): -3 - rng.random() for byte in alphabet}
    return unigram(scores | {word: -2.5 - 1.5 * len(word) * rng.random() for word in sorted(words)})
