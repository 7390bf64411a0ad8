"""`Grammar.from_choices` accepts exactly the given texts."""

from __future__ import annotations

import itertools
import pickle
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.grammar.regex import choices as choices_module
from support.sentences import BYTES, accepts


def slow_mask(choices: list[str], vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Return the tokens after which some choice can still be completed, and EOS if the text is a choice."""
    wanted = [choice.encode() for choice in choices]
    allowed = []
    for token in range(vocabulary.size):
        spelled = vocabulary.token_bytes(token)
        goes_on = spelled and any(choice.startswith(text + spelled) for choice in wanted)
        if goes_on or (token in vocabulary.eos_token_ids and text in wanted):
            allowed.append(token)
    return allowed


TOKENS = [b"a", b"b", b"ab", b"ba", b"aab", b"\xc3", b"\xa9", b"\xc3\xa9", b"a\xc3", b"bb", b"</s>"]
SMALL = Vocabulary.from_tokens(TOKENS, eos_token_id=len(TOKENS) - 1)


@settings(max_examples=300)
@given(st.lists(st.text("abé", max_size=5), min_size=1, max_size=12))
def test_masks_are_those_of_the_slow_way(choices: list[str]) -> None:
    grammar = Grammar.from_choices(choices)
    for choice in choices:
        matcher = Matcher(grammar, SMALL)
        data = choice.encode()
        for place in range(len(data) + 1):
            assert matcher.mask().nonzero()[0].tolist() == slow_mask(choices, SMALL, data[:place]), (choice, place)
            if place < len(data):
                assert matcher.accept(TOKENS.index(data[place : place + 1]))


@settings(max_examples=200)
@given(st.sets(st.text("abc", max_size=4), min_size=1, max_size=30))
def test_the_language_is_the_list(choices: set[str]) -> None:
    grammar = Grammar.from_choices(choices)
    tried = [text for n in range(6) for text in map("".join, itertools.product("abc", repeat=n))]
    assert {text for text in tried if accepts(grammar, text)} == choices


def test_the_trie_shares_beginnings_and_ends() -> None:
    """It has at most a few nodes for each byte of the smallest automaton, not of the list."""
    regexes = Regexes()
    words = sorted("".join(parts).encode() for parts in itertools.product(["anti", "bio", "xeno", ""], ["logy", "gen"]))
    choices_module.trie(words, regexes)
    before = regexes.n_nodes
    many = sorted("".join(parts).encode() for parts in itertools.product("ab", repeat=12))
    choices_module.trie(many, regexes)
    assert regexes.n_nodes - before < 60, "4096 words of twelve letters are a chain of classes"


@pytest.fixture
def all_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices_module, "FEW", 0)


@pytest.mark.usefixtures("all_are_lists")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abé", max_size=5), min_size=1, max_size=12))
def test_masks_of_lists_are_those_of_the_slow_way(choices: list[str]) -> None:
    test_masks_are_those_of_the_slow_way.hypothesis.inner_test(choices)  # type: ignore[attr-defined]


@settings(max_examples=300)
@given(st.sets(st.binary(max_size=5), min_size=1, max_size=30), st.binary(max_size=2))
def test_a_list_and_a_trie_are_the_same_language(texts: set[bytes], behind: bytes) -> None:
    regexes = Regexes()
    words = sorted(texts)
    listed = regexes.concat([regexes.choices(words), regexes.literal(behind)])
    trie = regexes.concat([choices_module.trie(words, regexes), regexes.literal(behind)])
    assert regexes.is_empty(regexes.difference(listed, trie))
    assert regexes.is_empty(regexes.difference(trie, listed))
    fewer = choices_module.trie(words[1:], regexes) if words[1:] else Regexes.EMPTY
    assert not regexes.is_empty(regexes.difference(regexes.choices(words), fewer))


def test_texts_of_a_list_are_sorted() -> None:
    regexes = Regexes()
    assert regexes.choices([]) == Regexes.EMPTY
    assert regexes.choices([b""]) == Regexes.EPSILON
    for wrong in ([b"b", b"a"], [b"a", b"a"]):
        with pytest.raises(ValueError, match="must come after"):
            regexes.choices(wrong)


def test_a_list_is_kept_when_what_was_learned_is_forgotten() -> None:
    rng = random.Random(3)
    choices = sorted({"".join(rng.choices("abcdé", k=rng.randint(1, 12))) for _ in range(3_000)})
    grammar = Grammar.from_choices(choices, limits=Limits(regex_nodes=1_500))
    for choice in rng.sample(choices, 600):
        assert accepts(grammar, choice)
        assert accepts(grammar, choice + "a") == (choice + "a" in choices)
    assert grammar.stats()["grammar_collections"] > 1


def test_duplicates_and_order_do_not_matter() -> None:
    grammar = Grammar.from_choices(["b", "a", "b", "", "ab"])
    assert grammar == Grammar.from_choices(iter(["", "a", "ab", "b"]))
    assert hash(grammar) == hash(Grammar.from_choices({"", "a", "ab", "b"}))
    assert grammar != Grammar.from_choices(["a", "b"])
    assert (grammar.kind, grammar.source) == ("choices", '["", "a", "ab", "b"]')
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar
    assert accepts(again, "ab")


def test_one_choice_and_the_empty_one() -> None:
    assert accepts(Grammar.from_choices([""]), "")
    assert not accepts(Grammar.from_choices([""]), "a")
    assert Matcher(Grammar.from_choices(["yes"]), BYTES).forced_bytes() == b"yes"
    assert list(Matcher(Grammar.from_choices(["yes", "no"]), BYTES).expected()) == ["choice"]


def test_odd_characters() -> None:
    odd = ["\0", "a\nb", '"quoted"', "<|name|>", "😀", "\U0010ffff"]
    grammar = Grammar.from_choices(odd)
    for choice in odd:
        assert accepts(grammar, choice)
    assert pickle.loads(pickle.dumps(grammar)) == grammar


@pytest.mark.parametrize(
    ("given_choices", "error", "message"),
    [
        ([], GrammarError, "there are no choices"),
        ("abc", TypeError, "choices must be a list of strings, not one str"),
        (b"abc", TypeError, "choices must be a list of strings, not one bytes"),
        (["a", b"b"], TypeError, "choice 1 must be a str, not bytes"),
        (["a", None], TypeError, "choice 1 must be a str, not NoneType"),
        (["a", "b\ud800"], GrammarError, r"the choice 'b\\ud800' has a lone surrogate"),
        (["\ud800" * 1000], GrammarError, r"\.\.\.' has a lone surrogate"),
        (3, TypeError, "not iterable"),
    ],
)
def test_what_is_refused(given_choices: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Grammar.from_choices(given_choices)  # type: ignore[arg-type]


def test_choices_without_end_are_refused() -> None:
    for endless in (("a" * 1000 + str(n) for n in itertools.count()), ("" for _ in itertools.count())):
        with pytest.raises(LimitError, match=f"of at most {Limits().source_characters}") as caught:
            Grammar.from_choices(endless, limits=Limits.trusted())
        assert caught.value.limit == "source_characters"
    with pytest.raises(LimitError) as caught:
        Grammar.from_choices("" for _ in itertools.count())
    assert caught.value.limit == "load_bytes"


def test_choices_may_be_long_and_branch_everywhere() -> None:
    """Each choice is a prefix of the next one, which makes a very deep trie; the mask uses no recursion."""
    deep = 100_000
    # Sparse beyond the first thousand, so that the texts together do not grow with the square of their number.
    lengths = [*range(1_000), *range(1_000, deep, 5_000), deep]
    grammar = Grammar.from_choices(["a" * length for length in lengths])
    matcher = Matcher(grammar, SMALL)
    assert matcher.mask().nonzero()[0].tolist() == [TOKENS.index(b"a"), len(TOKENS) - 1]
    matcher.accept(TOKENS.index(b"a"))
    assert matcher.is_accepting()
    branching = Grammar.from_choices(
        ["a" * length for length in range(5_000)], limits=Limits(source_characters=1 << 24)
    )
    matcher = Matcher(branching, SMALL)
    for _ in range(50):
        assert matcher.mask().nonzero()[0].tolist() == [TOKENS.index(b"a"), len(TOKENS) - 1]
        assert matcher.accept(TOKENS.index(b"a"))


def test_a_hundred_thousand_choices() -> None:
    """100,000 choices load in well under a second, and a mask costs no more than the choices that may follow."""
    rng = random.Random(5)
    syllables = ["ka", "lo", "mi", "ter", "son", "ville", "berg", "ton", "ing", "ham", "é", "日本"]
    choices = list({"".join(rng.choices(syllables, k=rng.randint(2, 7))) for _ in range(130_000)})[:100_000]
    began = time.process_time()
    grammar = Grammar.from_choices(choices)
    assert time.process_time() - began < 5, "some 0.2 s on an idle machine"
    vocabulary = Vocabulary.from_tokens([*{t.encode() for t in syllables}, b"</s>"], eos_token_id=len(syllables))
    known = set(choices)
    for choice in rng.sample(choices, 200):
        assert accepts(grammar, choice)
        assert accepts(grammar, choice + "ka") == (choice + "ka" in known)
        matcher = Matcher(grammar, vocabulary)
        assert matcher.mask().nonzero()[0].tolist() == list(range(len(syllables)))
