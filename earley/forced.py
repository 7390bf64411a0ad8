"""The tokens with which every continuation begins, as the tokenizer itself cuts the text.

A known text `k`, the accepted tokens' text and the forced bytes after it, is followed by something of which the grammar
leaves several choices. The tokenizer cuts the whole text, so it may join the end of `k` with what follows, and cut what
is before it in another way. This finds the tokens that begin its cut of every text `k + c`.

*What is used of the tokenizer.* Each beginning of a cut is itself the cut of the text that it spells. This holds for
byte-pair encoding by ranked merges (Berglund and van der Merwe, 2023) and for the best path of a Unigram model (Kudo,
2018: the best path to a place depends on nothing after it). So let `p` be the last place of `k` at which the cut of
`k + c` has a boundary, and `t` the token that begins there and crosses the end of `k`. The tokens before `p` are the cut
of `k[:p]`, and `k[:p] + t` is cut into these and `t`. There are at most as many places `p` as the longest token has
bytes, and the trie and the grammar give the tokens `t` for each. If `encode` cuts `k[:p] + t` so for one of them, `p` is
possible. The tokens in which the cuts for all possible `p` agree are certain, and no other ones are.

*What is given up.* Tokenizers first split a text by a regular expression. Two places are then not independent of what
follows, and are treated with more care: white space at the end of `k` that more may follow, as in `\\s+(?!\\S)` and
`\\s*[\\r\\n]+`; and ends of tokens inside a character, which `encode` cannot be asked about. Too many tokens `t`, none of
the tried ones a good one: `p` counts as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..trie.errors import VocabularyError

if TYPE_CHECKING:
    from ..trie import Vocabulary
    from ._matcher import Matcher

MOST_TRIED = 48
"""The most tokens that are tried at one place. A call of `encode` takes some microseconds for each hundred bytes of the
text. Beyond it, the place counts as possible, so fewer tokens may be given than could be."""
TRIED_AT_END = 8
"""The tokens that are tried at the end of the known text although one has been found: they differ most."""
NOT_ASCII = 0x80


def forced_tokens(matcher: Matcher) -> list[int]:
    """Do what `Matcher.forced_tokens` says."""
    vocabulary = matcher.vocabulary
    if vocabulary.encode is None:
        raise VocabularyError(
            "the vocabulary does not know how its tokenizer cuts a text: a pickle does not keep it, and from_tokens is "
            "not told; give it with from_tokens(..., encode=) or vocabulary.with_encode(encode), a callable that returns "
            "the ids of a text"
        )
    *before, last = _pieces(vocabulary, matcher.tokens)
    written = b"".join(map(vocabulary.token_bytes, last))
    forced, may_stop, crossing = matcher._crossing(written)
    if not forced:
        return []
    try:
        if any(_encoded(vocabulary, b"".join(map(vocabulary.token_bytes, each))) != each for each in before):
            return []
        certain = _certain(vocabulary, written + forced, may_stop, crossing, len(last))
    except _NotSpelledError:
        return []
    if certain[: len(last)] != last:
        return []
    found = certain[len(last) :]
    return found[: matcher.validate(found)]  # a budget of tokens may allow fewer


class _NotSpelledError(Exception):
    """The tokenizer's ids do not spell a text, so nothing is known about it."""


def _pieces(vocabulary: Vocabulary, tokens: Sequence[int]) -> list[list[int]]:
    """Return the tokens between special tokens; the last list may be empty."""
    pieces: list[list[int]] = [[]]
    for token in tokens:
        if token in vocabulary.special_token_ids:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def _encoded(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Return the tokenizer's cut of a text."""
    assert vocabulary.encode is not None
    try:
        ids = [int(token) for token in vocabulary.encode(text.decode())] if text else []
        if b"".join(map(vocabulary.token_bytes, ids)) == text:
            return ids
    except (ValueError, IndexError):  # the text is no UTF-8, or the vocabulary lacks the id
        pass
    raise _NotSpelledError


def _certain(
    vocabulary: Vocabulary, known: bytes, may_stop: bool, crossing: list[tuple[list[int], list[int]]], n_last: int
) -> list[int]:
    """Return the tokens in which the cuts of all texts that begin with `known` agree."""
    common = _Common(n_last)
    if may_stop:
        common.meet(_encoded(vocabulary, known))
    for start in range(len(known) - len(crossing) + 1, len(known) + 1):
        if common.is_short or not _begins_character(known, start):
            continue
        for ids in _cuts(vocabulary, known, start, crossing):
            common.meet(ids)
    whole = len(known)
    if _may_lengthen_space(vocabulary, known, crossing[0][0]):
        whole = len(known.decode(errors="ignore").rstrip().encode())
    found, n_bytes = [], 0
    for token in common.ids or []:
        n_bytes += len(vocabulary.token_bytes(token))
        if n_bytes > whole:
            break
        found.append(token)
    return found


class _Common:
    """The ids with which all lists begin that it has met."""

    def __init__(self, n_least: int) -> None:
        self.ids: list[int] | None = None
        self.n_least = n_least

    @property
    def is_short(self) -> bool:
        """Whether there are so few that nothing will be given."""
        return self.ids is not None and len(self.ids) <= self.n_least

    def meet(self, ids: list[int]) -> None:
        if self.ids is None:
            self.ids = ids
            return
        n = next((i for i, (one, other) in enumerate(zip(self.ids, ids, strict=False)) if one != other), len(ids))
        del self.ids[n:]


def _cuts(
    vocabulary: Vocabulary, known: bytes, start: int, crossing: list[tuple[list[int], list[int]]]
) -> Iterator[list[int]]:
    """Yield cuts that a text may begin with if its last boundary within `known` is `start`; none if it cannot be."""
    tokens = crossing[len(known) - start][0]
    is_certain = len(tokens) <= MOST_TRIED  # that `start` is impossible, unless a token says otherwise
    n_wanted = TRIED_AT_END if start == len(known) else 1
    before = known[:start]
    for token in _spread(tokens, MOST_TRIED):
        spelled = vocabulary.token_bytes(token)
        if not _is_text(before + spelled):
            is_certain = False
            continue
        ids = _encoded(vocabulary, before + spelled)
        n_wanted -= len(vocabulary.token_bytes(ids[-1])) == len(spelled)
        yield ids
        if n_wanted <= 0:
            return
    found_none = n_wanted == (TRIED_AT_END if start == len(known) else 1)
    if found_none and not is_certain or _crosses_inside_characters(known, start, crossing):
        yield _encoded(vocabulary, before)


def _spread(tokens: list[int], most: int) -> list[int]:
    """Return at most `most` of the tokens, evenly spread."""
    if len(tokens) <= most:
        return tokens
    return [tokens[i * len(tokens) // most] for i in range(most)]


def _crosses_inside_characters(known: bytes, start: int, crossing: list[tuple[list[int], list[int]]]) -> bool:
    """Return whether tokens lead from `start` beyond the end with boundaries inside characters alone."""
    agenda = [start + n for n in crossing[len(known) - start][1]]
    while agenda:
        place = agenda.pop()
        if _begins_character(known, place):
            continue
        tokens, ends = crossing[len(known) - place]
        if tokens:
            return True
        agenda += [place + n for n in ends]
    return False


def _begins_character(text: bytes, at: int) -> bool:
    """Return whether a boundary is one of characters; if the end is inside one, the end is none."""
    return _is_text(text[:at]) if at == len(text) else text[at] & 0xC0 != NOT_ASCII


def _is_text(data: bytes) -> bool:
    """Return whether the bytes end with a whole character; bytes that are no UTF-8 elsewhere `encode` is not given."""
    try:
        data[-4:].decode(errors="strict")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"
    return True


def _may_lengthen_space(vocabulary: Vocabulary, known: bytes, following: list[int]) -> bool:
    """Return whether `known` ends in white space and one of the tokens may begin with some."""
    text = known.decode(errors="ignore")
    if text == text.rstrip():
        return False
    firsts = {vocabulary.token_bytes(token)[0] for token in following}
    return any(first >= NOT_ASCII or chr(first).isspace() for first in firsts)
