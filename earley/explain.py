"""Why a token or a text may not come next: makes an `Explanation`.

The text is parsed once more, in a copy of the grammar: nothing that masks use changes, and other threads do not wait.
`nearest` searches for the nearest text. What only a front end knows (which part of a JSON Schema refuses a text) its
explainers say, see `Explainer`.

All of this together keeps to `Limits.seconds`, and what it makes of Python objects to `Limits.matcher_bytes`. If a
limit is met before it is known where the text fails, the call raises LimitError. If it is met later, the explanation
says what is not known.
"""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

from ._meter import Within, count, keep, seconds_left, tick
from .characters import Characters
from .ending import shortest_ending
from .errors import LimitError
from .explanation import Expectation, Explanation, Nearest
from .freeing import Inspecting
from .nearest import nearest_text, units

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..trie import Vocabulary
    from ._explain import Context, Explorer
    from .limits import Limits

MAX_EXPECTED = 200
"""At most so many lexemes that may come are in an explanation: a grammar may have thousands of keywords."""
MAX_RULES = 100
"""At most so many of the first rules of a lexeme, and of the last ones, are in an explanation: a text may be nested a
million deep. "..." stands between them."""
SHARE = 0.6
"""The rules and the keywords may take this part of the time that is left when the characters are known. The nearest
text has the rest: it often tells most."""
ENTRY_BYTES = 200
"""Memory of an entry in a dict or list of contexts: an estimate."""


class Failure(NamedTuple):
    """Where a text fails, for explainers.

    text: the whole text up to and including the byte that is refused; all of it if it may not end.
    rest: what was asked about after that byte.
    at: the offset of the character of that byte.
    is_end: whether it is the end that is refused.
    waiting: the contexts of the lexemes that may begin or continue at `at`.
    above: for each of these, and for each context above, the contexts in which it stands; None is the whole text.
    """

    text: bytes
    rest: bytes
    at: int
    is_end: bool
    waiting: tuple[Context, ...]
    above: dict[Context, list[Context | None]]


class Finding(NamedTuple):
    """What an explainer knows; see the attributes of `Explanation`. names: what to call its contexts. limit: what the
    limit says that ended the search for keywords, or None."""

    names: dict[Context, str]
    conflicts: tuple[tuple[str, ...], ...]
    schemas: tuple[str, ...]
    instance: str | None
    hint: str | None
    limit: str | None


class _Matcher(Protocol):
    """The part of a matcher that is used here: `_matcher` imports this module."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def eos_token_ids(self) -> tuple[int, ...]: ...
    @property
    def tokens(self) -> list[int]: ...
    @property
    def error(self) -> Exception | None: ...
    def accept(self, token_id: int, /) -> bool: ...
    def fork(self) -> _Matcher: ...
    def rollback(self, n: int, /) -> None: ...
    def is_accepting(self) -> bool: ...
    def is_finished(self) -> bool: ...
    def _text(self) -> bytes: ...
    def _explorer(self) -> Explorer: ...


class Explainer(Protocol):
    """What a front end gives to `Engine.add_explainer`."""

    def why_not(self, failure: Failure) -> Finding | None:
        """Return what is known about a failure; None if it concerns no symbol of this explainer."""


def explain(
    rebuild: Callable[[Any, Vocabulary, list[int]], _Matcher],
    limits: Limits,
    grammar: Any,
    vocabulary: Vocabulary,
    tokens: list[int],
    what: Any,
) -> Explanation:
    """Explain why `what` may not come after tokens that a grammar accepts; see `Matcher.explain`. `rebuild` makes a
    matcher of a copy of the grammar."""
    text, token_id = _asked(what)
    with Inspecting(limits, "the explanation"):
        again = getattr(grammar, "_again", None)
        copy = grammar if again is None else again()
        keep(copy)
        matcher = rebuild(copy, vocabulary, tokens)
        keep(matcher)
        known = _place(matcher, text, token_id)
        if known.reason not in ("allowed", "finished", "unknown id"):
            known = _described(matcher, known)
        del matcher, copy  # so that the block frees them in pieces
        return known


def explain_ended(matcher: _Matcher, what: Any) -> Explanation:
    """Explain why `what` may not come after an error has ended the sequence: only EOS tokens may."""
    token_id = _asked(what)[1]
    before = matcher._text()
    n = len(before)
    if token_id is not None and not 0 <= token_id < matcher.vocabulary.size:
        return Explanation(before, n, "unknown id", n, n)
    if token_id in matcher.eos_token_ids:
        return Explanation(before, n, "allowed", n, n)
    return Explanation(before, n, "finished", n, n, limit=f"{type(matcher.error).__name__}: {matcher.error}")


def _asked(what: Any) -> tuple[bytes | None, int | None]:
    """Return the text or the token id that is asked about; neither for the end."""
    text: bytes | None = None
    token_id: int | None = None
    if isinstance(what, str):
        text = what.encode("utf-8", "surrogatepass")
    elif isinstance(what, (bytes, bytearray, memoryview)):
        text = bytes(what)
    elif isinstance(what, SupportsIndex) and not isinstance(what, bool):
        token_id = index(what)
    elif what is not None:
        raise TypeError(f"explain takes a token id, a str, bytes, or None for the end, not {type(what).__name__}")
    return text, token_id


def _place(matcher: _Matcher, text: bytes | None, token_id: int | None) -> Explanation:
    """Return the explanation with its reason and its place."""
    vocabulary = matcher.vocabulary
    before = matcher._text()
    n = len(before)
    if token_id is not None and not 0 <= token_id < vocabulary.size:
        return Explanation(before, n, "unknown id", n, n)
    is_allowed = matcher.is_accepting() if token_id is None else matcher.fork().accept(token_id)
    if text is None and is_allowed:
        whole = before + (b"" if token_id is None else vocabulary.token_bytes(token_id))
        return Explanation(whole, n, "allowed", len(whole), len(whole))
    if matcher.is_finished():
        return Explanation(before, n, "finished", n, n)
    if text is None and (token_id is None or token_id in matcher.eos_token_ids):
        return Explanation(before, n, "end", n, _character(before, n)[0])
    asked = text
    if asked is None and token_id is not None:
        asked = vocabulary.token_bytes(token_id)
        if not asked:
            names = [name for name, known in vocabulary.special_tokens.items() if known == token_id]
            return Explanation(before, n, "special token", n, n, names[0] if names else "")
    assert asked is not None
    whole = before + asked
    with matcher._explorer() as explorer:
        offset = n + explorer.reach(explorer.now(), asked)[0]
        if offset < len(whole):
            is_budget = explorer.has_budgets() and bool(explorer.step(explorer.first(), whole[: offset + 1]))
            return Explanation(whole, n, "max_tokens" if is_budget else "text", offset, *_character(whole, offset))
    if token_id is None:
        return Explanation(whole, n, "allowed", offset, offset)
    return Explanation(whole, n, "max_tokens", n, *_character(whole, n))


def _character(text: bytes, offset: int) -> tuple[int, str]:
    """Return where the character with the byte at `offset` begins, and the character; at the end of the text, where
    the character begins that is not complete."""
    at = offset
    for first in range(offset, max(offset - 4, -1), -1):
        if first < len(text) and text[first] & 0xC0 != 0x80:
            lead = text[first]
            length = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
            if first + length > offset:
                at = first
            break
    rest = units(text[at : at + 4])
    char = rest[0] if rest else b""
    return at, char.decode("utf-8", "backslashreplace")


def _described(matcher: _Matcher, known: Explanation) -> Explanation:
    """Add to an explanation what is allowed at its place."""
    unknown: dict[str, str] = {}
    try:
        known = _with_parts(matcher, known, unknown)
    except LimitError as error:
        unknown = dict.fromkeys(["characters", "rules", "keywords", "nearest"], str(error))
    if known.reason not in ("text", "end"):
        unknown.pop("keywords", None)
        unknown.pop("nearest", None)
    if not unknown:
        return known
    limit = next(iter(unknown.values()))
    return replace(known, gave_up="nearest" in unknown or known.gave_up, unknown=tuple(unknown), limit=limit)


def _with_parts(matcher: _Matcher, known: Explanation, unknown: dict[str, str]) -> Explanation:
    """Add what is allowed at the place. If a limit is met before the characters are known, raise LimitError; later, put
    into `unknown` what is not known, with the error's text."""
    whole, at = known.text, known.at
    start = known.begin
    before = matcher.fork()
    while start > at:  # the character begins in a token that was accepted
        start -= len(matcher.vocabulary.token_bytes(before.tokens[-1]))
        before.rollback(1)
    with before._explorer() as explorer:
        position = explorer.step(explorer.now(), whole[start:at])
        if not position:  # a token that stands for itself alone begins within the character
            at, position = known.begin, explorer.now()
            known = replace(known, at=at)
        characters = Characters(explorer)
        ranges, other_bytes = characters.next(position)
        is_end = known.reason == "end"
        known = replace(
            known,
            characters=tuple([(chr(first), chr(last)) for first, last in ranges]),
            other_bytes=other_bytes,
            may_end=explorer.is_accepting(position),
            special_tokens=tuple(explorer.special_names(position)),
        )
        tokens = [*explorer.tokens(), *[(whole[i : i + 1], []) for i in range(start, at)]]
        with Within(SHARE * seconds_left()):
            known = _with_rules(explorer, known, tokens, position, unknown)
        if known.reason in ("text", "end"):
            try:
                known = _with_nearest(explorer, characters, known, position, at, is_end)
            except LimitError as error:
                unknown["nearest"] = str(error)
    return known


def _with_nearest(
    explorer: Explorer, characters: Characters, known: Explanation, position: int, at: int, is_end: bool
) -> Explanation:
    """Add the nearest text."""
    whole = known.text
    nearest, gave_up = None, True
    if is_end and at == len(whole) and explorer.has_read():
        nearest, gave_up = _ending(explorer, position)
    if gave_up:
        try:
            found, gave_up = nearest_text(explorer, characters, position, whole[at:], is_end)
        except LimitError:
            if nearest is None:
                raise
            found, gave_up = None, True
        nearest = nearest if gave_up else found
    if nearest is not None:
        # The character may begin before the text that was asked about: the change is shown from there on.
        nearest = replace(nearest, text=whole[known.begin : at] + nearest.text)
    return replace(known, nearest=nearest, gave_up=gave_up)


def _ending(explorer: Explorer, position: int) -> tuple[Nearest | None, bool]:
    """Return the shortest ending of the text that was read, and whether there may be a shorter one."""
    try:
        with Within(seconds_left() / 2):
            found = shortest_ending(explorer)
            # What the text of a key, or a budget of tokens, excludes is known to the parser alone.
            if found is None or not explorer.is_accepting(explorer.step(position, found[0])):
                return None, True
    except LimitError:
        return None, True
    return Nearest(found[0], found[1]), found[2]


def _with_rules(
    explorer: Explorer,
    known: Explanation,
    tokens: list[tuple[bytes, list[int]]],
    position: int,
    unknown: dict[str, str],
) -> Explanation:
    """Add the rules in which the lexemes stand that may come, and what the explainers say."""
    above: dict[Context, list[Context | None]] = {}
    keep(above)
    try:
        explorer.read(tokens)
        live = explorer.live(position)
        allowed = {byte for members, _ in explorer.classes(position) for byte in members}
        waiting = [each for each in explorer.waiting(allowed) if each[0] in live]
        keep(waiting)
        contexts = tuple(dict.fromkeys([context for _, _, context in waiting if context is not None]))
        agenda = list(contexts)
        keep(agenda)
        for one in agenda:  # which grows
            if one not in above:
                count(ENTRY_BYTES)
                above[one] = explorer.above(one)
                agenda += [each for each in above[one] if each is not None]
    except LimitError as error:
        unknown["rules"] = str(error)
        if explorer.explainers():
            unknown["keywords"] = str(error)
        return known
    is_end = known.reason == "end"
    text = known.text if is_end else known.text[: known.offset + 1]
    names: dict[Context, str] = {}
    keep(names)
    if known.reason in ("text", "end"):
        failure = Failure(text, known.text[len(text) :], known.at, is_end, contexts, above)
        for explainer in explorer.explainers():
            try:
                with Within(SHARE * seconds_left()):
                    finding = explainer.why_not(failure)
            except LimitError as error:
                unknown["keywords"] = str(error)
                continue
            if finding is None:
                continue
            names |= finding.names
            known = replace(
                known,
                conflicts=known.conflicts + finding.conflicts,
                schemas=known.schemas + finding.schemas,
                instance=finding.instance,
                hint=finding.hint,
            )
            if finding.limit is not None:
                unknown["keywords"] = finding.limit
    try:
        return replace(known, expected=_expected(explorer, waiting, above, names))
    except LimitError as error:
        unknown["rules"] = str(error)
    return known


def _expected(
    explorer: Explorer,
    waiting: list[tuple[int, int, Context | None]],
    above: dict[Context, list[Context | None]],
    names: dict[Context, str],
) -> tuple[Expectation, ...]:
    """Return the lexemes that may come with their rules."""
    parents = _parents(above)
    rules: dict[Context | None, list[str]] = {}
    expected: dict[Expectation, bool] = {}
    for symbol, begin, context in waiting:
        tick()
        if context not in rules:
            rules[context] = _rules(explorer, context, parents, names)
        terminal = explorer.name(symbol)
        expected[Expectation(terminal, begin, tuple([rule for rule in rules[context] if rule != terminal]))] = True
        if len(expected) == MAX_EXPECTED:
            break
    return tuple(expected)


def _parents(above: dict[Context, list[Context | None]]) -> dict[Context, Context | None]:
    """Return for each context the one above it that is nearest to the start of the grammar."""
    below: dict[Context | None, list[Context]] = {}
    keep(below)
    for context, others in above.items():
        for other in others:
            count(ENTRY_BYTES)
            below.setdefault(other, []).append(context)
    parents: dict[Context, Context | None] = {}
    keep(parents)
    level: list[Context | None] = [None]
    for each in level:  # which grows, nearest first
        for context in below.get(each, ()):
            tick()
            if context not in parents:
                parents[context] = each
                level.append(context)
    return parents


def _rules(
    explorer: Explorer,
    context: Context | None,
    parents: dict[Context, Context | None],
    names: dict[Context, str],
) -> list[str]:
    """Return the names of the rules from the start down to a context: those that the user knows, without repetition.

    Within a context that an explainer names, its names alone count.
    """
    path = []
    while context is not None:
        tick()
        path.append(context)
        context = parents[context]
    found: list[str] = []
    is_named = False
    for each in reversed(path):
        tick()
        is_named = is_named or each in names
        name = names.get(each) if is_named else explorer.name(each[0])
        if name is not None and (is_named or name[:1] != "(") and (not found or found[-1] != name):
            found.append(name)
    if len(found) > 2 * MAX_RULES:
        found = [*found[:MAX_RULES], "…", *found[-MAX_RULES:]]
    return found
