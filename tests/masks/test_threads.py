"""Many threads make right masks at once: with forks, and with one or several grammars, while much is forgotten.

The expected masks are made beforehand by the merged walk, in one thread, with separate grammars and vocabulary.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, Matcher, MatcherInUseError, Vocabulary
from earleymask.earley import Engine, Regexes
from support.grammar_texts import GRAMMARS
from support.mask_paths import cut, filled, go_on, limits, walked

N_TOKENS = 4_000
SECONDS = 120.0
"""After so long, a test fails, because its threads seem to hang."""


@dataclass(frozen=True)
class Journey:
    """The tokens of a text, and the masks before each and after the last."""

    name: str
    tokens: list[int]
    masks: list[npt.NDArray[np.bool_]]


def new_vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens(cut("tekken", N_TOKENS), eos_token_id=N_TOKENS)


@pytest.fixture(scope="module")
def journeys() -> list[Journey]:
    found = []
    vocabulary = new_vocabulary()
    for name, text in GRAMMARS.items():
        grammar = Grammar.from_lark(text)
        for seed in range(3):
            matcher, rng = Matcher(grammar, vocabulary), Random(f"{name} {seed}")
            masks = [walked(matcher)]
            while matcher.n_tokens < 15 and go_on(matcher, rng, masks[-1]):
                masks.append(walked(matcher))
            found.append(Journey(name, matcher.tokens, masks))
    return found


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*tasks: Callable[[], None]) -> None:
    """Run each task in its own thread, all at once; raise what one of them raised, or an error if one hangs."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], None]) -> None:
        try:
            start.wait()
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    ends = time.monotonic() + SECONDS
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"


def travel(matcher: Matcher, journey: Journey, rng: Random, n_steps: int) -> None:
    """Walk back and forth along the text, now and then on forks; each mask must be the expected one."""
    for _ in range(n_steps):
        roll = rng.randrange(8)
        if roll == 0:
            matcher.rollback(rng.randint(0, matcher.n_tokens))
        elif roll == 1:
            matcher = matcher.fork()
        elif matcher.n_tokens < len(journey.tokens):
            assert matcher.accept(journey.tokens[matcher.n_tokens])
        mask = walked(matcher) if rng.randrange(10) == 0 else filled(matcher)
        assert np.array_equal(mask, journey.masks[matcher.n_tokens]), (journey.name, matcher.tokens)


MEMORIES = [0, 1 << 14, 1 << 16, 1 << 26]
"""With these bounds everything is forgotten at each call, more or less often, or never."""


@pytest.mark.parametrize("memory", MEMORIES)
def test_matchers_of_one_grammar(journeys: list[Journey], memory: int) -> None:
    with limits(split_nodes=50, memory=memory):
        vocabulary = new_vocabulary()
        for name, text in GRAMMARS.items():
            grammar = Grammar.from_lark(text)
            mine = [j for j in journeys if j.name == name] * 2
            run(*(travelling(Matcher(grammar, vocabulary), j, i, 300) for i, j in enumerate(mine)))
            assert grammar.stats()["mask_flushes"] > 0 or memory > 1 << 14


def travelling(matcher: Matcher, journey: Journey, seed: int, n_steps: int) -> Callable[[], None]:
    return lambda: travel(matcher, journey, Random(seed), n_steps)


@pytest.mark.parametrize("memory", MEMORIES)
def test_forks_of_one_matcher(journeys: list[Journey], memory: int) -> None:
    """Forks share what the first matcher found and what each of them finds."""
    with limits(split_nodes=50, memory=memory):
        vocabulary = new_vocabulary()
        for journey in journeys[::3]:
            matcher = Matcher(Grammar.from_lark(GRAMMARS[journey.name]), vocabulary)
            for token in journey.tokens[:6]:
                assert matcher.accept(token)
            filled(matcher)
            run(*(travelling(matcher.fork(), journey, seed, 300) for seed in range(4)))


@pytest.mark.parametrize("memory", MEMORIES)
def test_grammars_on_one_vocabulary(journeys: list[Journey], memory: int) -> None:
    """Grammars make parts for each other at once, and drop the others' as well as their own."""
    with limits(split_nodes=50, memory=memory):
        vocabulary = new_vocabulary()
        grammars = {name: Grammar.from_lark(text) for name, text in GRAMMARS.items()}
        run(*(travelling(Matcher(grammars[j.name], vocabulary), j, i, 300) for i, j in enumerate(journeys)))
        for grammar in grammars.values():
            assert grammar.stats()["mask_flushes"] > 0 or memory > 1 << 14


def test_grammars_that_come_and_go_beside_others(journeys: list[Journey]) -> None:
    """While some grammars are used, others are loaded, used once or twice and dropped, and a thread reads counters."""

    def come_and_go(seed: int) -> None:
        rng = Random(seed)
        for _ in range(12):
            journey = rng.choice(journeys)
            travel(Matcher(Grammar.from_lark(GRAMMARS[journey.name]), vocabulary), journey, rng, 4)

    def count() -> None:
        for _ in range(200):
            assert vocabulary.stats()["ids"] == N_TOKENS + 1
            assert all(grammar.stats()["mask_bytes"] >= 0 for grammar in grammars.values())

    with limits(split_nodes=50, memory=1 << 15):
        vocabulary = new_vocabulary()
        grammars = {name: Grammar.from_lark(text) for name, text in GRAMMARS.items()}
        mine = [travelling(Matcher(grammars[j.name], vocabulary), j, i, 300) for i, j in enumerate(journeys[::2])]
        run(*mine, count, *(lambda seed=seed: come_and_go(seed) for seed in range(3)))  # type: ignore[misc]


def test_one_grammar_on_two_vocabularies_at_once(journeys: list[Journey]) -> None:
    """Both vocabularies share the lexer and the skeletons, which grow in either's calls."""
    with limits(split_nodes=50, memory=1 << 14):
        vocabularies = [new_vocabulary(), new_vocabulary()]
        grammars = {name: Grammar.from_lark(text) for name, text in GRAMMARS.items()}
        run(
            *(
                travelling(Matcher(grammars[journey.name], vocabularies[i % 2]), journey, i, 300)
                for i, journey in enumerate(journeys)
            )
        )


def holding(expand: Callable[[], None]) -> Matcher:
    """Return a matcher that calls `expand` while it accepts its first token, when it makes a rule."""
    regexes = Regexes()
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    letter = engine.add_terminal("LETTER", regexes.byte_set(b"ab"))

    def alternatives() -> list[tuple[int, ...]]:
        expand()
        return [(letter,), (letter, letter)]

    engine.add_production(start, [letter, engine.add_lazy("lazy", alternatives)])
    engine.finish(start)
    return Matcher(SimpleNamespace(engine=engine), Vocabulary.bytes())


CALLS: dict[str, Callable[[Matcher], object]] = {
    "accept": lambda matcher: matcher.accept(ord("a")),
    "captures": lambda matcher: matcher.fork().captures(),
    "expected": lambda matcher: matcher.expected(),
    "forced_bytes": lambda matcher: matcher.forced_bytes(),
    "fill_bitmask": lambda matcher: matcher.fill_bitmask(np.zeros(9, np.int32)),
    "fork": lambda matcher: matcher.fork(),
    "is_accepting": lambda matcher: matcher.is_accepting(),
    "mask": lambda matcher: matcher.mask(),
    "reset": lambda matcher: matcher.reset(),
    "rollback": lambda matcher: matcher.rollback(0),
    "stats": lambda matcher: matcher.stats(),
    "validate": lambda matcher: matcher.validate([ord("a")]),
    "walk_bitmask": lambda matcher: matcher.walk_bitmask(np.zeros(9, np.int32)),
}


def test_a_call_during_another_one_is_refused() -> None:
    found: dict[str, BaseException | None] = {}

    def others() -> None:
        for name, call in CALLS.items():
            try:
                call(matcher)
            except Exception as error:
                found[name] = error
            else:
                found[name] = None

    def in_another_thread() -> None:
        thread = threading.Thread(target=others)
        thread.start()
        thread.join(SECONDS)
        assert not thread.is_alive(), "a call waits for the call that waits for it"

    for hold in (in_another_thread, others):
        found.clear()
        matcher = holding(hold)
        assert matcher.accept(ord("a"))
        assert {name: type(error) for name, error in found.items()} == dict.fromkeys(CALLS, MatcherInUseError)
        assert matcher.n_tokens == 1 and np.flatnonzero(matcher.mask()).tolist() == [ord("a"), ord("b")]
        assert matcher.accept(ord("b")) and matcher.is_accepting()


def test_one_matcher_is_forked_in_many_threads(journeys: list[Journey]) -> None:
    """Forking a matcher that nobody changes is no misuse: servers fork one that has read the beginning of a prompt."""
    journey = journeys[0]
    matcher = Matcher(Grammar.from_lark(GRAMMARS[journey.name]), new_vocabulary())

    def forks(seed: int) -> None:
        for _ in range(50):
            travel(matcher.fork(), journey, Random(seed), 4)

    run(*(partial(forks, seed) for seed in range(4)))


def test_forks_go_on_while_unused_rows_are_dropped() -> None:
    """Rows and positions get other numbers then, without the interpreter's lock. Forks come and go in the meantime."""
    vocabulary = Vocabulary.bytes()
    matcher = Matcher(Grammar.from_lark('start: s\ns: s s | /[ab]+/ | "(" s ")"'), vocabulary)

    def walk(fork: Matcher, rng: Random) -> None:
        text = ""
        for step in range(2000):
            depth = text.count("(") - text.count(")")
            text += ")" if depth and text[-1] != "(" and rng.random() < 0.1 else rng.choice("a" * 50 + "b(")
            assert fork.accept(ord(text[-1]))
            others = [fork.fork() for _ in range(rng.randrange(3))]
            if step % 5 == 0:
                wanted = {*b"(ab"}
                if text[-1] != "(":
                    wanted |= {*b")"} if text.count("(") > text.count(")") else {*vocabulary.eos_token_ids}
                assert {*np.flatnonzero(filled(rng.choice([fork, *others]))).tolist()} == wanted, text
            if rng.random() < 0.02:
                n = rng.randrange(min(len(text), 100))
                fork.rollback(n)
                text = text[: len(text) - n]

    run(*(partial(walk, matcher.fork(), Random(seed)) for seed in range(4)))
    assert matcher.stats()["collections"] >= 4, matcher.stats()


def test_one_matcher_in_many_threads(journeys: list[Journey]) -> None:
    """Whatever gets through is as if it had come alone, and what does not says why."""
    journey = max(journeys, key=lambda each: len(each.tokens))
    grammar = Grammar.from_lark(GRAMMARS[journey.name])
    with limits(split_nodes=50, memory=1 << 14):
        matcher = Matcher(grammar, new_vocabulary())
        twin = Matcher(Grammar.from_lark(GRAMMARS[journey.name]), new_vocabulary())

        def misuse(rng: Random) -> None:
            for _ in range(3000):
                with suppress(MatcherInUseError):
                    roll = rng.randrange(6)
                    if roll == 0:
                        matcher.rollback(matcher.n_tokens // 2)
                    elif roll == 1:
                        matcher.fork().mask()
                    elif roll == 2:
                        matcher.mask()
                    elif roll == 3:
                        matcher.forced_bytes()
                    else:
                        matcher.accept(journey.tokens[min(matcher.n_tokens, len(journey.tokens) - 1)])

        # Between `n_tokens` and the next call, other threads change the matcher: so a rollback may be too long.
        def tolerant(rng: Random) -> None:
            with suppress(ValueError):
                misuse(rng)

        run(*(partial(tolerant, Random(seed)) for seed in range(4)))
        assert twin.validate(matcher.tokens) == matcher.n_tokens
        for token in matcher.tokens:
            assert twin.accept(token)
        assert np.array_equal(filled(matcher), filled(twin))
