"""The tokens with which every continuation begins, as the tokenizer itself cuts the text.

A known text `k`, the accepted tokens' text and the forced bytes after it, is followed by something of which the grammar
leaves several choices. The tokenizer cuts the whole text, so it may join the end of `k` with what follows, and cut what
is before it in another way. This finds the tokens that begin its cut of every text `k + c`.

*What is used of the tokenizer.* Each beginning of a cut is itself the cut of the text that it spells. This holds for
byte-pair encoding by ranked merges (Berglund and van der Merwe, 2023) and for the best path of a Unigram model (Kudo,
2018: the best path to a place depends on nothing after it). So let `p` be the last place of `k` at which the cut of
`k + c` has a boundary, and `t` the token that begins there and crosses the end of `k`. The tokens before `p` are the
cut of `k[:p]`, and `k[:p] + t` is cut into these and `t`. There are at most as many places `p` as the longest token has
bytes, and the trie and the grammar give the tokens `t` for each. If `encode` cuts `k[:p] + t` so for one of them, `p`
is possible. The tokens in which the cuts for all possible `p` agree are certain, and no other ones are.

*What is given up.* Tokenizers first split a text by a regular expression. Then some places depend on what follows, and
are treated with more care. White space at the end of `k` (think of `\\s+(?!\\S)` and `\\s*[\\r\\n]+`) is not cut,
unless it is one character and no more may follow, nor are control and format characters. At the end of `k`, `encode` is
asked about a token of each kind of character. And `encode` cannot be asked about ends of tokens inside a character:
where there may be one, or where none of the tried tokens `t` is a good one and there are more, `p` counts as possible.
Digits at the end of `k` are not cut if more may follow and tokens have several: an expression may group them from the
right.

*Long texts.* `encode` is not given all of a long text again and again. Once a text is `2 * SPAN` bytes long, it is cut
anew from a token about `SPAN` bytes before its end. If that gives the same tokens, later calls begin there (`Cut`), and
the cuts with tokens `t` do, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol
from unicodedata import category

from ..trie.errors import VocabularyError

if TYPE_CHECKING:
    from ..trie import Vocabulary

MOST_TRIED = 16
"""The most tokens that are tried at one place. A call of `encode` takes some microseconds for each hundred bytes of the
text. Beyond it, the place counts as possible, so fewer tokens may be given than could be."""
MOST_UNCERTAIN = 512
"""The bytes of white space and control characters at the end of the known text that are looked at. If it has as many,
nothing is given."""
SPAN = 256
"""The bytes over which a cut that begins inside the text must agree with that of the whole text: longer than tokens
(128 bytes at most in the tested vocabularies), and than nearly all pieces into which tokenizers split a text."""
MOST_BEGINS = 4
"""The most places at which such a cut is tried to begin. Beyond it, the text is cut from where it was before."""
NOT_ASCII = 0x80


class Position(Protocol):
    """What is needed of a `Matcher`."""

    _cut: Cut | None

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def tokens(self) -> list[int]: ...
    def _crossing(self, written: bytes) -> tuple[bytes, bool, list[tuple[list[int], list[int]]]]: ...


class Cut(NamedTuple):
    """What is known of a sequence: of how many of its first tokens, at which of them a cut may begin, and whether they
    are what every cut of a longer text begins with, as far as the tokenizer can be asked. `Matcher.rollback` drops it
    when it takes back one of these tokens."""

    n_tokens: int
    begin: int
    is_canonical: bool


def forced_tokens(matcher: Position) -> list[int]:
    """Do what `Matcher.forced_tokens` says."""
    vocabulary = matcher.vocabulary
    if vocabulary.encode is None:
        raise VocabularyError(
            "the vocabulary does not know how its tokenizer cuts a text: a pickle does not keep it, and from_tokens is "
            "not told; give it with from_tokens(..., encode=) or vocabulary.with_encode(encode), a callable that "
            "returns the ids of a text"
        )
    tokens = matcher.tokens
    cut = matcher._cut or Cut(0, 0, is_canonical=True)
    if not cut.is_canonical:
        return []
    *before, last = _pieces(vocabulary, tokens[cut.begin :])
    written = _spelled(vocabulary, last)
    forced, may_stop, crossing = matcher._crossing(written)
    if not forced:
        return []
    try:
        if not all(_is_canonical(vocabulary, piece) for piece in before):
            matcher._cut = Cut(len(tokens), cut.begin, is_canonical=False)
            return []
        certain = _certain_of_long(vocabulary, written + forced, may_stop, crossing, len(last))
        if certain[: len(last)] != last:
            if not _is_canonical(vocabulary, last):
                matcher._cut = Cut(len(tokens), cut.begin, is_canonical=False)
            return []
        begin = _later_begin(vocabulary, written + forced, certain[: len(last)])
    except _NotSpelledError:
        return []
    matcher._cut = Cut(len(tokens), len(tokens) - len(last) + begin, is_canonical=True)
    return certain[len(last) :]


def _later_begin(vocabulary: Vocabulary, known: bytes, tokens: list[int], span: int = SPAN) -> int:
    """Return the index of a token from which on a text may be cut alone; 0 if there is none, or the text is short.

    tokens: the certain ones with which the cut of `known` begins. span: the least bytes of them from there on.
    """
    n_bytes = len(_spelled(vocabulary, tokens))
    if n_bytes < span + SPAN or not _begins_character(known, n_bytes):
        return 0
    for index, at in _begins(vocabulary, known, tokens, n_bytes - span):
        if _encoded(vocabulary, known[at:n_bytes]) == tokens[index:]:
            return index
    return 0


def _begins(vocabulary: Vocabulary, known: bytes, tokens: list[int], end: int) -> list[tuple[int, int]]:
    """Return tokens, by index and place, from which on a text may perhaps be cut alone: the last one up to `end` that
    begins with a letter, and others near it. None begins with white space, a mark or a control character, which a
    tokenizer may join to what is before it."""
    index, at = 0, 0
    while (after := at + len(vocabulary.trie.token_bytes(tokens[index]))) <= end:
        index, at = index + 1, after
    letters: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    while index and not letters and at > end - SPAN:
        kind = category(_character(known, at)) if _begins_character(known, at) else "M"
        if kind[0] == "L":
            letters.append((index, at))
        elif kind[0] in "NPS" and len(others) < MOST_BEGINS - 1:
            others.append((index, at))
        index -= 1
        at -= len(vocabulary.trie.token_bytes(tokens[index]))
    return letters + others


def _character(text: bytes, at: int) -> str:
    """Return the character that begins there; a space if there is none."""
    return text[at : at + 4].decode(errors="ignore")[:1] or " "


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


def _spelled(vocabulary: Vocabulary, tokens: Sequence[int]) -> bytes:
    return b"".join(map(vocabulary.trie.token_bytes, tokens))


def _is_canonical(vocabulary: Vocabulary, tokens: list[int]) -> bool:
    """Return whether the tokenizer cuts the text of these tokens into them."""
    return _encoded(vocabulary, _spelled(vocabulary, tokens)) == tokens


def _encoded(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Return the tokenizer's cut of a text."""
    assert vocabulary.encode is not None
    try:
        ids = [int(token) for token in vocabulary.encode(text.decode())] if text else []
        spelled = [vocabulary.trie.token_bytes(token) for token in ids]
        if all(spelled) and b"".join(spelled) == text:  # a padding token has no bytes
            return ids
    except (ValueError, IndexError):  # the text is no UTF-8, or the vocabulary lacks the id
        pass
    raise _NotSpelledError


def _certain_of_long(
    vocabulary: Vocabulary, known: bytes, may_stop: bool, crossing: list[tuple[list[int], list[int]]], n_last: int
) -> list[int]:
    """Do what `_certain` does. If `known` is long, cut all of it twice, and only its end for each token that may cross
    it."""
    span = max(SPAN, len(crossing))
    n_partial = next((n for n in range(len(crossing)) if _is_text(known[: len(known) - n])), 0)
    whole = known[: len(known) - n_partial]
    if len(whole) >= span + SPAN:
        tokens = _encoded(vocabulary, whole)
        n_head = _later_begin(vocabulary, whole, tokens, span)
        longer = next(filter(_is_text, map(vocabulary.trie.token_bytes, crossing[n_partial][0])), b"")
        if n_head and _encoded(vocabulary, whole + longer)[:n_head] == tokens[:n_head]:
            rest = known[len(_spelled(vocabulary, tokens[:n_head])) :]
            return tokens[:n_head] + _certain(vocabulary, rest, may_stop, crossing, n_last - n_head)
    return _certain(vocabulary, known, may_stop, crossing, n_last)


def _certain(
    vocabulary: Vocabulary, known: bytes, may_stop: bool, crossing: list[tuple[list[int], list[int]]], n_last: int
) -> list[int]:
    """Return the tokens in which the cuts of all texts that begin with `known` agree."""
    common = _Common(n_last)
    if may_stop:
        common.meet(_encoded(vocabulary, known))
    for start in range(len(known) - len(crossing) + 1, len(known) + 1):
        if common.is_short or not any(crossing[len(known) - start]) or not _begins_character(known, start):
            continue
        for ids in _cuts(vocabulary, known, start, crossing):
            common.meet(ids)
    n_cut = len(known) - _n_uncertain(known, [map(vocabulary.trie.token_bytes, tokens) for tokens, _ in crossing])
    found, n_bytes = [], 0
    for token in common.ids or []:
        n_bytes += len(vocabulary.token_bytes(token))
        if n_bytes > n_cut:
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
    before = known[:start]
    tokens = crossing[len(known) - start][0]
    spelled = map(vocabulary.trie.token_bytes, _spread(tokens, MOST_TRIED))
    tried = [token for token in spelled if _is_text(token)]
    samples = _samples(vocabulary, tokens) if start == len(known) else []
    found = False
    for number, token in enumerate(samples + tried):
        if found and number >= len(samples):
            return
        ids = _encoded(vocabulary, before + token)
        found |= len(vocabulary.trie.token_bytes(ids[-1])) == len(token)
        yield ids
    if (not found and len(tried) < len(tokens)) or _crosses_inside_characters(known, start, crossing):
        yield _encoded(vocabulary, before)


def _samples(vocabulary: Vocabulary, tokens: list[int]) -> list[bytes]:
    """Return a token for each kind of character that one may begin with: expressions split texts by them."""
    found: dict[str, bytes] = {}
    last = b""  # tokens with the same first byte stand together
    for token in map(vocabulary.trie.token_bytes, tokens):
        if token[0] < NOT_ASCII and token[:1] == last[:1]:
            continue
        last = token
        if token[0] & 0xC0 != NOT_ASCII and _is_text(token):
            first = token.decode(errors="ignore")[:1]
            kind = category(first)
            found.setdefault("space" if first.isspace() else kind if kind[0] in "LN" else kind[0], token)
    return list(found.values())


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
    """Return whether the bytes end with a whole character; what is no UTF-8 before that is not looked at."""
    start = len(data) - 1
    while start > 0 and data[start] & 0xC0 == NOT_ASCII and start > len(data) - 4:
        start -= 1
    try:
        data[max(start, 0) :].decode()
    except UnicodeDecodeError:
        return False
    return True


def _n_uncertain(known: bytes, crossing: Sequence[Iterable[bytes]]) -> int:
    """Return how many bytes at the end of `known` are not cut: white space of several characters, or that one of the
    tokens may lengthen, and control and format characters, which expressions join to what follows, or not, in various
    ways; and digits, if more may follow and tokens have several: expressions may group them from the right.

    crossing: the tokens that cross the end, by how many bytes before it they begin.
    """
    n_partial = next(n for n in range(len(known) + 1) if _is_text(known[: len(known) - n]))
    text = known[-MOST_UNCERTAIN:].decode(errors="ignore")
    rest = text
    while rest and (rest[-1].isspace() or category(rest[-1])[0] == "C"):
        rest = rest[:-1]
    end = text[len(rest) :]
    if not end:
        return _n_digits(text, crossing) if not n_partial else 0
    may_lengthen = any(token[0] >= NOT_ASCII or chr(token[0]).isspace() for token in crossing[0])
    if len(end) == 1 and end.isspace() and not may_lengthen:
        return 0
    return len(end.encode()) + n_partial if rest else len(known)


def _n_digits(text: str, crossing: Sequence[Iterable[bytes]]) -> int:
    """Return the bytes of the digits at the end of a text, if a token has the last of them and another one."""
    if not text[-1:].isnumeric():
        return 0
    n_last = len(text[-1].encode())
    joined = crossing[n_last] if n_last < len(crossing) else ()
    if not any(token.decode(errors="ignore")[1:2].isnumeric() for token in joined):
        return 0
    digits = text
    while digits and digits[-1].isnumeric():
        digits = digits[:-1]
    return len(text[len(digits) :].encode())
