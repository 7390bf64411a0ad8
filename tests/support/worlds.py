"""Grammars with a vocabulary, and what must be true of a matcher after given tokens, worked out anew each time.

`tests/api/test_any_order.py` calls matchers in any order and compares them with this. A world answers for a history of
tokens, not for a matcher: it accepts the tokens once more, on a new matcher of another grammar object, with a
vocabulary whose own end tokens are those that the matcher was given, and makes the mask by the walk over the trie. In
small worlds the slow twin must say the same. So nothing that a matcher has been through can be wrong in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from earleymask import Grammar, LimitError, Matcher, Vocabulary
from earleymask.earley import Engine, Regexes
from support import vocabularies
from support.grammar_texts import GRAMMARS
from support.mask_paths import walked
from support.small_tokenizers import Encode, unigram
from support.twin import Twin, TwinMatcher

Mask = npt.NDArray[np.bool_]
BUDGET = 'start: (word ";")+\nword[max_tokens=3]: /[a-z]+/\n%ignore " "'
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["small", "smaller", "large"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3, "uniqueItems": True},
        "at": {"type": "string", "format": "date"},
    },
    "required": ["id", "kind"],
    "additionalProperties": False,
}
TAGS = {
    "type": "triggered_tags",
    "triggers": ["<a"],
    "tags": [
        {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</a>"},
        {"type": "tag", "begin": "<ab>", "content": {"type": "any_text", "max_tokens": 3}, "end": [";", "</a>"]},
    ],
    "excludes": ["?x"],
}
TOOLS = [
    {"type": "function", "name": "f", "parameters": SCHEMA},
    {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {"ab": {"type": "string"}}}},
]
WORDS = [b'{"', b"ab", b'":', b"};", b"= 1", b"<a>", b", ", b"?x", b"!a"]
SMALL_TOKENS = [*(bytes([byte]) for byte in range(128)), *WORDS, b"", b"", b""]
SMALL_EOS = (len(SMALL_TOKENS) - 3,)
SMALL_OTHER_EOS = (len(SMALL_TOKENS) - 2, len(SMALL_TOKENS) - 1)


def small_encode() -> Encode:
    """Return the cut of a Unigram model of the small tokens: no two cuts of a text have the same score."""
    rng = Random(1)
    scores = {token: -3 - rng.random() if len(token) == 1 else -4 - rng.random() for token in SMALL_TOKENS if token}
    encode = unigram(scores).encode
    assert encode is not None
    return lambda text: list(encode(text))


@dataclass(frozen=True)
class Expected:
    """What a matcher must answer after a history; `mask` is None where making it raises `LimitError`."""

    mask: Mask | None
    is_accepting: bool
    is_finished: bool


@dataclass
class World:
    """One grammar and one vocabulary, of which matchers are made."""

    name: str
    make: Callable[[], Any]
    """Load the grammar anew."""
    vocabulary: Vocabulary
    other_eos: tuple[int, ...]
    """Ids without text, which may end a sequence in place of the vocabulary's."""
    twin: Twin | None = None
    pickles: bool = True
    is_only_eos: bool = False
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Expected] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grammar = self.make()
        self.tokens = [self.vocabulary.token_bytes(token) for token in range(self.vocabulary.size)]

    def matcher(self, eos: tuple[int, ...]) -> Matcher:
        """Return a matcher to try; all of a world share the grammar."""
        given = None if eos == self.vocabulary.eos_token_ids else eos
        if self.is_only_eos:
            return Matcher.only_eos(self.vocabulary, given)
        return Matcher(self.grammar, self.vocabulary, given)

    def expected(self, history: Sequence[int], eos: tuple[int, ...]) -> Expected:
        """Return what a matcher with these end tokens must answer after a history that the grammar allows."""
        key = tuple(history), eos
        if key not in self.known:
            self.known[key] = self.worked_out(list(history), eos)
        return self.known[key]

    def replayed(self, history: Sequence[int], eos: tuple[int, ...]) -> Matcher:
        """Return a new matcher of another grammar object that has accepted these tokens."""
        grammar, vocabulary = self._again(), self._ending_with(eos)
        other = Matcher.only_eos(vocabulary) if self.is_only_eos else Matcher(grammar, vocabulary)
        assert all(other.accept(token) for token in history), (self.name, history)
        return other

    def restored(self, snapshot: bytes, is_new_grammar: bool) -> Matcher:
        """Return the matcher of a snapshot, with the grammar of the matchers to try, or one that has no masks yet."""
        return Matcher.restore(snapshot, self.make() if is_new_grammar else self.grammar, self.vocabulary)

    def worked_out(self, history: list[int], eos: tuple[int, ...]) -> Expected:
        vocabulary = self._ending_with(eos)
        other = self.replayed(history, eos)
        found = Expected(walked(other), other.is_accepting(), other.is_finished())
        if self.twin is not None:
            twin = TwinMatcher(self.twin, vocabulary)
            assert all(twin.accept(token) for token in history), (self.name, history)
            assert np.array_equal(twin.mask(), found.mask), (self.name, history)
            assert (twin.is_accepting(), twin.is_finished()) == (found.is_accepting, found.is_finished)
        return found

    def allows(self, history: Sequence[int], token: int, eos: tuple[int, ...]) -> bool:
        """Tell whether a token may come next. Raise LimitError if that takes too much, as in a `Trap`."""
        mask = self.expected(history, eos).mask
        assert mask is not None
        return 0 <= token < len(mask) and bool(mask[token])

    @cache  # noqa: B019  # worlds live as long as the process
    def _again(self) -> Any:
        return self.make()

    @cache  # noqa: B019
    def _ending_with(self, eos: tuple[int, ...]) -> Vocabulary:
        if eos == self.vocabulary.eos_token_ids:
            return self.vocabulary
        return Vocabulary.from_tokens(
            self.tokens,
            eos_token_id=list(eos),
            special_tokens=self.vocabulary.special_tokens,
            special_token_ids=sorted(self.vocabulary.special_token_ids),
            encode=self.vocabulary.encode,
        )

    __hash__ = object.__hash__


class OnlyEos(World):
    """A world of `Matcher.only_eos`: end tokens, and nothing before them."""

    def worked_out(self, history: list[int], eos: tuple[int, ...]) -> Expected:
        assert all(token in eos for token in history)
        mask = np.zeros(self.vocabulary.size, np.bool_)
        mask[list(eos)] = True
        return Expected(mask, True, bool(history))


class Trap(World):
    """A world in which no mask can be made after `!`: letters, then `!`, and a rule that raises when it is needed."""

    def worked_out(self, history: list[int], eos: tuple[int, ...]) -> Expected:
        if history and history[-1] in eos:
            mask = np.zeros(self.vocabulary.size, np.bool_)
            mask[list(eos)] = True
            return Expected(mask, True, True)
        text = b"".join(self.tokens[token] for token in history)
        assert set(text) <= set(b"a!") and text.find(b"!") in (-1, len(text) - 1)
        if text.endswith(b"!"):
            return Expected(None, False, False)
        mask = np.array([token in (b"a", b"!") for token in self.tokens])
        mask[list(eos)] = True
        return Expected(mask, True, False)

    def allows(self, history: Sequence[int], token: int, eos: tuple[int, ...]) -> bool:
        if self.expected(history, eos).mask is not None:
            return super().allows(history, token, eos)
        if 0 <= token < len(self.tokens) and self.tokens[token].startswith(b"?"):
            raise LimitError(TOO_MUCH)
        return False


TOO_MUCH = "too much"


def _trap() -> Any:
    """Return a grammar `a* ("!" "?" rule)?` whose rule raises."""

    def expand() -> list[list[int]]:
        raise LimitError(TOO_MUCH)

    engine = Engine(Regexes())
    letter, bang, mark = (
        engine.add_terminal(name, engine.regexes.literal(text))
        for name, text in (("letter", b"a"), ("bang", b"!"), ("mark", b"?"))
    )
    start, letters = engine.add_nonterminal("start"), engine.add_nonterminal("letters")
    engine.add_production(letters, [])
    engine.add_production(letters, [letters, letter])
    engine.add_production(start, [letters])
    engine.add_production(start, [letters, bang, mark, engine.add_lazy("lazy", expand)])
    engine.finish(start)
    return SimpleNamespace(engine=engine)


def tagged(vocabulary: Vocabulary | None) -> dict[str, Callable[[], Any]]:
    """Return makers of a structural tag, of tool calls in JSON and with tags, and of reasoning before a document."""
    answer = {"properties": {"ab": {"type": "integer"}}, "required": ["ab"], "additionalProperties": False}
    return {
        "tags": lambda: Grammar.from_structural_tag({"format": TAGS}, vocabulary),
        "tools": lambda: Grammar.from_tools(TOOLS, "hermes", vocabulary=vocabulary),
        "tagged tools": lambda: Grammar.from_tools(
            TOOLS, "qwen_3_coder", "required", reasoning="auto", vocabulary=vocabulary
        ),
        "reasoning": lambda: Grammar.reasoning(
            Grammar.from_json_schema({"type": "object", **answer}), begin="<a>", end="};", max_tokens=5
        ),
    }


@cache
def small_worlds() -> dict[str, World]:
    """Return worlds of 140 tokens, most of them with the slow twin."""
    vocabulary = Vocabulary.from_tokens(SMALL_TOKENS, eos_token_id=list(SMALL_EOS), encode=small_encode())

    def lark(name: str, text: str, twin: Twin | None) -> World:
        return World(name, lambda: Grammar.from_lark(text), vocabulary, SMALL_OTHER_EOS, twin)

    found = [lark(name, text, Twin.from_lark(text)) for name, text in GRAMMARS.items()]
    found += [
        lark("budget", BUDGET, None),
        World("schema", lambda: Grammar.from_json_schema(SCHEMA), vocabulary, SMALL_OTHER_EOS),
        *(World(name, make, vocabulary, SMALL_OTHER_EOS) for name, make in tagged(None).items()),
        OnlyEos("only_eos", lambda: None, vocabulary, SMALL_OTHER_EOS, is_only_eos=True),
        Trap("trap", _trap, vocabulary, SMALL_OTHER_EOS, pickles=False),
    ]
    return {world.name: world for world in found}


@cache
def real_worlds() -> dict[str, World]:
    """Return worlds of Llama 3's 128,256 tokens."""
    vocabulary = vocabularies.load("llama3")
    eos = set(vocabulary.eos_token_ids)
    other = tuple(sorted(set(vocabulary.special_token_ids) - eos))[3:5]
    found = [
        World("json", lambda: Grammar.from_lark(GRAMMARS["json"]), vocabulary, other),
        World("calls", lambda: Grammar.from_lark(GRAMMARS["calls"]), vocabulary, other),
        World("schema", lambda: Grammar.from_json_schema(SCHEMA), vocabulary, other),
        World("budget", lambda: Grammar.from_lark(BUDGET), vocabulary, other),
        *(World(name, make, vocabulary, other) for name, make in tagged(vocabulary).items()),
        OnlyEos("only_eos", lambda: None, vocabulary, other, is_only_eos=True),
    ]
    return {world.name: world for world in found}
