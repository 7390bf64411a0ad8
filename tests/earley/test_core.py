"""The core without a front end: lazy symbols, special tokens, shared rows, memory, threads.

Grammars are productions here, so that the tests are about the engine alone. Expected masks follow from the languages,
each of which is small enough to describe in a sentence.
"""

import functools
import gc
import pickle
import random
import threading
import weakref
from itertools import pairwise

import numpy as np
import pytest

import earleymask
from earleymask.earley import Engine, LimitError, Limits, Matcher, Regexes
from earleymask.trie import Vocabulary, VocabularyError
from support.effort import effort

BYTES = Vocabulary.bytes()
EOS = 256


class Grammar:
    """The part of a `Grammar` that a matcher needs."""

    def __init__(self, engine):
        self.engine = engine


def grammar(rules, terminals, start, ignored=(), specials=()):
    """Make a grammar. `rules`: name -> right-hand sides, names separated by blanks; `terminals`: name -> bytes."""
    regexes = Regexes()
    engine = Engine(regexes)
    symbols = {
        name: engine.add_terminal(name, regexes.literal(text), name in ignored) for name, text in terminals.items()
    }
    symbols.update((name, engine.add_special(name)) for name in specials)
    symbols.update((name, engine.add_nonterminal(name)) for name in rules)
    for name, alternatives in rules.items():
        for alternative in alternatives:
            engine.add_production(symbols[name], [symbols[item] for item in alternative.split()])
    engine.finish(symbols[start])
    return Grammar(engine)


def allowed(matcher):
    """Return the mask over the byte vocabulary as text; `$` is EOS."""
    return "".join("$" if token == EOS else chr(token) for token in np.flatnonzero(matcher.mask()))


def feed(matcher, text):
    for byte in text.encode():
        assert matcher.accept(byte), f"{chr(byte)!r} after {bytes(matcher.tokens)!r}"


AB = {"a": b"a", "b": b"b"}


# ---- lazy symbols ---------------------------------------------------------------------------------------------------


def counting_grammar(most):
    """Make a^n b^n with n <= most (None: unbounded), as lazy symbols S(n): "a" S(n + 1) | T(n)."""
    regexes = Regexes()
    engine = Engine(regexes)
    a, b = engine.add_terminal("a", regexes.literal(b"a")), engine.add_terminal("b", regexes.literal(b"b"))
    made = {}
    expanded = []

    def more(n):
        if n not in made:
            made[n] = engine.add_lazy(f"more({n})", lambda: expand(n), nullable=n == 0)
        return made[n]

    def expand(n):
        expanded.append(n)
        alternatives = [(b,) * n]
        if n != most:
            alternatives.append((a, more(n + 1)))
        return alternatives

    engine.finish(more(0))
    return Grammar(engine), expanded


def test_lazy_symbols_are_made_as_the_text_reaches_them():
    counted, expanded = counting_grammar(None)
    matcher = Matcher(counted, BYTES)
    assert max(expanded, default=0) <= 1
    feed(matcher, "aaa")
    assert allowed(matcher) == "ab"
    assert max(expanded) <= 5
    feed(matcher, "b")
    assert allowed(matcher) == "b"
    feed(matcher, "bb")
    assert allowed(matcher) == "$"
    assert len(expanded) == len(set(expanded))  # each is expanded once


def test_lazy_symbols_that_derive_nothing_are_never_predicted():
    regexes = Regexes()
    engine = Engine(regexes)
    a, b = engine.add_terminal("a", regexes.literal(b"a")), engine.add_terminal("b", regexes.literal(b"b"))
    loop = engine.add_lazy("loop", lambda: [(a, loop), (b, other)])  # the two only lead to each other
    other = engine.add_lazy("other", lambda: [(loop,)])
    good = engine.add_lazy("good", lambda: [(a, loop), (b,)])
    assert not engine.is_productive(loop)
    assert not engine.is_productive(other)
    assert engine.is_productive(good)
    engine.finish(good)
    assert allowed(Matcher(Grammar(engine), BYTES)) == "b"


def test_a_proof_stops_at_the_first_productive_alternative():
    regexes = Regexes()
    engine = Engine(regexes)
    a = engine.add_terminal("a", regexes.literal(b"a"))
    expanded = []

    def chain(n):
        def expand():
            expanded.append(n)
            return [(a, chain(n + 1)), (a,)]

        return engine.add_lazy(f"chain({n})", expand)

    assert engine.is_productive(chain(0))
    assert expanded == [0]


def test_functions_of_lazy_symbols_get_their_arguments_and_run_once():
    regexes = Regexes()
    engine = Engine(regexes)
    letters = {letter: engine.add_terminal(letter, regexes.literal(letter.encode())) for letter in "abc"}
    calls = []

    def expand(first, *others):
        calls.append(first)
        return ([letters[letter]] for letter in (first, *others))  # any iterables will do

    one = engine.add_lazy("one", expand, "a", "b")
    two = engine.add_lazy("two", tuple, ((letters["c"],),), witness=[letters["c"]])
    assert engine.work_out(one) == ((letters["a"],), (letters["b"],))
    assert engine.is_productive(one) and engine.is_productive(two)
    start = engine.add_nonterminal("S")
    engine.add_production(start, [one, two])
    engine.finish(start)
    matcher = Matcher(Grammar(engine), BYTES)
    assert allowed(matcher) == "ab"
    feed(matcher, "b")
    assert allowed(matcher) == "c"
    assert calls == ["a"]


def test_symbols_that_are_not_lazy_cannot_be_worked_out():
    regexes = Regexes()
    engine = Engine(regexes)
    a = engine.add_terminal("a", regexes.literal(b"a"))
    with pytest.raises(ValueError, match="'a' is not lazy"):
        engine.work_out(a)


@pytest.mark.parametrize(
    ("schema", "texts", "most"),
    [
        (
            {"properties": {f"n{i}": {"type": "integer"} for i in range(100)}, "additionalProperties": False},
            ['{"n0": 1', *[f', "n{i}": 1' for i in range(1, 60)]],
            0.1,
        ),
        ({"additionalProperties": {"type": "integer"}}, ['{"n0": 1', *[f', "n{i}": 1' for i in range(1, 60)]], 4),
        (
            {"items": {"type": "integer"}, "contains": {"minimum": 5}, "minContains": 9, "uniqueItems": True},
            ["[0", *[f", {i}" for i in range(1, 30)]],
            100,
        ),
    ],
    ids=["names in any order", "any keys", "items that differ"],
)
def test_what_texts_add_to_a_grammar_is_hardly_visited_by_garbage_collections(schema, texts, most):
    """A collection visits at most so many objects for each member or item that has been written, although hundreds of
    symbols were added. All are freed with the matcher, without a collection."""
    kind = "array" if "items" in schema else "object"
    loaded = earleymask.Grammar.from_json_schema({"type": kind, **schema}, property_order="any")
    matcher = Matcher(loaded, BYTES)
    feed(matcher, texts[0])
    gc.collect()
    before = len(gc.get_objects())
    for text in texts[1:]:
        feed(matcher, text)
    gc.collect()
    gc.collect()  # tuples of tuples are dropped one level at a time
    assert len(gc.get_objects()) - before < len(texts) * most + 20
    engine = weakref.ref(loaded.engine)
    gc.disable()
    try:
        del loaded, matcher
        assert engine() is None
    finally:
        gc.enable()


def test_a_proof_without_end_is_a_limit_error():
    regexes = Regexes()
    engine = Engine(regexes)
    a = engine.add_terminal("a", regexes.literal(b"a"))

    def chain(n):
        return engine.add_lazy(f"chain({n})", lambda: [(a, chain(n + 1))])

    with pytest.raises(LimitError, match=r"chain\(0\)"):
        engine.is_productive(chain(0))


@pytest.mark.parametrize(("asked", "message"), [("itself", "has not returned"), ("a fork", "own thread")])
def test_a_lazy_symbol_that_asks_its_own_grammar_gets_an_error_and_no_deadlock(asked, message):
    regexes = Regexes()
    engine = Engine(regexes)
    a = engine.add_terminal("a", regexes.literal(b"a"))
    matchers = []

    def expand():
        if matchers:
            matchers[-1].is_accepting()
        return [(a,)]

    lazy = engine.add_lazy("lazy", expand)
    start = engine.add_nonterminal("S")
    engine.add_production(start, [a, lazy])
    engine.finish(start)
    matcher = Matcher(Grammar(engine), BYTES)
    matchers.append(matcher if asked == "itself" else matcher.fork())
    with pytest.raises(RuntimeError, match=message):
        matcher.accept(ord("a"))
    matchers.clear()
    assert matcher.tokens == []
    feed(matcher, "aa")
    assert allowed(matcher) == "$"


def test_ids_may_run_code_of_their_own():
    """Reading a token id may run Python code that uses the same grammar: the grammar's lock is not held then."""
    matcher = Matcher(grammar({"S": ["a S", ""]}, AB, "S"), BYTES)

    class Id:
        def __index__(self):
            assert matcher.is_accepting()
            return ord("a")

    assert matcher.accept(Id())
    assert matcher.validate(Id() for _ in range(3)) == 3
    assert matcher.tokens == [ord("a")]
    for wrong in ("a", 1.5, None):
        with pytest.raises(TypeError):
            matcher.accept(wrong)
    assert matcher.tokens == [ord("a")]


# ---- special tokens and EOS -----------------------------------------------------------------------------------------

CALL = Vocabulary.from_tokens(
    [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<call>", b"<call>"],
    eos_token_id=EOS,
    special_tokens={"<eos>": EOS, "<call>": 257},
)


def ids(matcher):
    return set(np.flatnonzero(matcher.mask()).tolist())


def test_a_special_token_is_matched_by_name_and_never_by_text():
    calls = grammar({"S": ["<call> a", "lt a"]}, {"a": b"a", "lt": b"<call>"}, "S", specials=["<call>"])
    matcher = Matcher(calls, CALL)
    # Token 258 is text that looks like the special token 257.
    assert ids(matcher) == {ord("<"), 257, 258}
    special, text = matcher.fork(), matcher.fork()
    assert special.accept(257)
    assert text.accept(258)
    assert ids(special) == ids(text) == {ord("a")}
    assert "<call>" in matcher.expected()


def test_a_special_token_comes_only_between_lexemes():
    calls = grammar({"S": ["ab <call>"]}, {"ab": b"ab", "blank": b" "}, "S", ignored=["blank"], specials=["<call>"])
    matcher = Matcher(calls, CALL)
    feed(matcher, "a")
    assert not matcher.accept(257)
    feed(matcher, "b ")
    assert ids(matcher) == {ord(" "), 257}
    assert matcher.accept(257)
    assert ids(matcher) == {ord(" "), EOS}


def test_a_named_eos_is_a_symbol_and_ends_a_sentence():
    named = grammar({"S": ["a <eos>", "b <eos> a"]}, AB, "S", specials=["<eos>"])
    ended = Matcher(named, CALL)
    feed(ended, "a")
    assert ids(ended) == {EOS}
    assert not ended.is_accepting()
    assert ended.accept(EOS)
    assert ended.is_finished()
    assert ids(ended) == {EOS}
    going_on = Matcher(named, CALL)
    feed(going_on, "b")
    assert going_on.accept(EOS)
    assert not going_on.is_finished()
    assert ids(going_on) == {ord("a")}


def test_after_eos_there_is_eos_alone():
    matcher = Matcher(grammar({"S": ["a S", ""]}, AB, "S"), BYTES)
    feed(matcher, "a")
    assert allowed(matcher) == "a$"
    assert matcher.accept(EOS)
    assert allowed(matcher) == "$"
    assert not matcher.accept(ord("a"))
    assert matcher.accept(EOS)
    matcher.rollback(2)
    assert allowed(matcher) == "a$"


def test_what_a_matcher_needs_of_a_vocabulary():
    ab = grammar({"S": ["a"]}, AB, "S")
    with pytest.raises(VocabularyError, match="EOS"):
        Matcher(ab, Vocabulary.from_tokens([b"a"], eos_token_id=None))
    with pytest.raises(VocabularyError, match="<call>"):
        Matcher(grammar({"S": ["<call>"]}, AB, "S", specials=["<call>"]), BYTES)


# ---- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "unit"),
    [
        ({"S": ["a S", "a"]}, "a"),
        ({"S": ["a T"], "T": ["b S", ""]}, "ab"),
        ({"S": ["S b a", "a"]}, "ab"),
        ({"S": ["T", "S T"], "T": ["a", "a b"]}, "aab"),
    ],
    ids=["right recursion", "mutual right recursion", "left recursion", "list of ambiguous items"],
)
def test_rows_of_regular_recursion_recur(rules, unit):
    """For any length of the text there are as many rows as a finite automaton would have states."""
    counts = []
    for n in (100, 200, 400):
        matcher = Matcher(grammar(rules, AB, "S"), BYTES)
        feed(matcher, unit * n)
        stats = matcher.stats()
        counts.append((stats["rows"], stats["continuations"], stats["positions"], stats["skeletons"]))
    assert counts[0] == counts[1] == counts[2]
    assert counts[0][0] < 10


@pytest.mark.parametrize(
    "rules",
    [{"S": ["a S W", "a"], "W": ["b W", ""]}, {"S": ["S S", "a"]}, {"S": ["S b S", "a"]}],
    ids=["right recursion with a nullable tail", "S S", "S b S"],
)
def test_rows_stay_short_where_the_textbook_has_an_item_for_every_origin(rules):
    """Rows and continuations grow by a constant for each token, skeletons (which hold the items) not at all."""
    found = []
    for n in (100, 200, 400):
        matcher = Matcher(grammar(rules, AB, "S"), BYTES)
        feed(matcher, ("ab" * n if rules == {"S": ["S b S", "a"]} else "a" * n) + ("b" if "W" in rules else ""))
        found.append(matcher.stats())
    assert found[0]["skeletons"] == found[1]["skeletons"] == found[2]["skeletons"]
    growth = [b["text_bytes"] / a["text_bytes"] for a, b in pairwise(found)]
    assert all(factor < 2.1 for factor in growth)


def test_what_two_wait_for_completes_to_both():
    """Both X and Y end with Z, so no Z is a tail call of either, at any depth."""
    both = grammar({"S": ["X b a", "Y b b"], "X": ["Z"], "Y": ["Z"], "Z": ["a Z", "a"]}, AB, "S")
    for text, following in (("", "a"), ("a", "ab"), ("aaa", "ab"), ("aab", "ab"), ("aaba", "$"), ("aabb", "$")):
        matcher = Matcher(both, BYTES)
        feed(matcher, text)
        assert allowed(matcher) == following


def test_brackets_cost_one_continuation_a_level():
    brackets = grammar({"S": ["a S b", "a b"]}, AB, "S")
    matcher = Matcher(brackets, BYTES)
    feed(matcher, "a" * 10_000 + "b" * 9_999)
    assert allowed(matcher) == "b"
    feed(matcher, "b")
    assert allowed(matcher) == "$"
    assert matcher.stats()["continuations"] <= 10_001
    assert matcher.stats()["skeletons"] < 10


# ---- memory ---------------------------------------------------------------------------------------------------------


def walked(matcher):
    """Return the mask by the walk over the whole trie."""
    row = np.zeros((matcher.vocabulary.size + 31) // 32, np.int32)
    matcher.walk_bitmask(row)
    return np.unpackbits(row.view(np.uint8), count=matcher.vocabulary.size, bitorder="little").view(np.bool_)


def test_what_walks_leave_behind_is_dropped_and_the_text_stays():
    """After masks at ever deeper brackets, and a rollback, everything that the text does not need is collected."""
    rng = random.Random(7)
    brackets = grammar({"S": ["a S b", "b S a", ""]}, AB, "S")
    words = Vocabulary.from_tokens(
        [bytes(rng.choice(b"ab") for _ in range(rng.randint(1, 12))) for _ in range(3000)] + [b"a", b"b", b""],
        eos_token_id=3002,
    )
    matcher = Matcher(brackets, words)
    fork = matcher.fork()
    for round_ in range(effort(8, 24)):
        for _ in range(40):
            choices = np.flatnonzero(walked(matcher))
            assert matcher.accept(int(rng.choice([c for c in choices.tolist() if c != 3002])))
        if round_ % 2:
            matcher.rollback(40)
        else:
            fork = matcher.fork()
            matcher.rollback(20)
    stats = matcher.stats()
    assert stats["collections"] > 0
    assert stats["text_bytes"] + stats["walk_bytes"] < 16e6
    for survivor in (matcher, fork):
        fresh = Matcher(brackets, words)
        for token in survivor.tokens:
            assert fresh.accept(token)
        assert np.array_equal(fresh.mask(), survivor.mask())
    del fork, fresh, survivor
    gc.collect()
    assert matcher.accept(int(np.flatnonzero(matcher.mask())[0]))


def test_flushing_the_tables_changes_no_mask():
    """One walk visits more positions than the tables hold."""
    rng = random.Random(11)
    brackets = grammar({"S": ["a S a", "b S b", ""]}, AB, "S")
    tokens = [bytes(rng.choice(b"ab") for _ in range(14)) for _ in range(3000)]
    words = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    matcher = Matcher(brackets, words)
    mask = walked(matcher)
    assert mask.all()  # every string begins a palindrome of even length, and the empty text is a sentence
    assert matcher.stats()["flushes"] > 0
    assert np.array_equal(walked(matcher), mask)


def test_a_matcher_goes_on_however_many_lexer_states_there_are():
    """[ab]*a[ab]{40} has 2^40 lexer states: those that no position needs are dropped, and no mask changes."""
    regexes = Regexes()
    engine = Engine(regexes)
    tail = regexes.repeat(regexes.byte_set(b"ab"), 40, 40)
    late = regexes.concat([regexes.repeat(regexes.byte_set(b"ab"), 0), regexes.byte_set(b"a"), tail])
    engine.add_production(start := engine.add_nonterminal("S"), [engine.add_terminal("late", late)])
    engine.finish(start)
    engine.set_limits(Limits(lexer_states=3000))
    matcher = Matcher(Grammar(engine), BYTES)
    rng = random.Random(3)
    accepted = []
    for _ in range(20_000):
        token = rng.choice(b"ab")
        assert matcher.accept(token)
        accepted.append(token)
    assert engine.stats()["lexer_states"] <= 3000 < 20_000
    assert matcher.tokens == accepted
    matcher.rollback(len(accepted) - 100)
    assert matcher.tokens == accepted[:100]
    assert matcher.validate(accepted[100:1000]) == 900


# ---- threads, pickles -----------------------------------------------------------------------------------------------


def test_forks_and_matchers_of_one_grammar_work_from_several_threads():
    shared = grammar({"S": ["a S b", "b S a", "S S", ""]}, AB, "S")
    rng = random.Random(5)
    words = Vocabulary.from_tokens(
        [bytes(rng.choice(b"ab") for _ in range(rng.randint(1, 6))) for _ in range(500)] + [b"a", b"b", b""],
        eos_token_id=502,
    )
    first = Matcher(shared, words)
    failures = []

    def work(seed):
        try:
            rng = random.Random(seed)
            matcher = first.fork() if seed % 2 else Matcher(shared, words)
            history = []
            for _ in range(150):
                token = rng.choice([t for t in np.flatnonzero(matcher.mask()).tolist() if t != 502])
                assert matcher.accept(token)
                history.append(token)
            alone = Matcher(grammar({"S": ["a S b", "b S a", "S S", ""]}, AB, "S"), words)
            assert alone.validate(history) == len(history)
            assert all(alone.accept(token) for token in history)
            assert np.array_equal(alone.mask(), matcher.mask())
        except BaseException as error:  # kept for the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_bytes_that_are_forced():
    forced = grammar({"S": ["x T"], "T": ["a", "b"]}, {"x": b"begin ", **AB}, "S")
    matcher = Matcher(forced, BYTES)
    assert matcher.forced_bytes() == b"begin "
    feed(matcher, "beg")
    assert matcher.forced_bytes() == b"in "
    feed(matcher, "in ")
    assert matcher.forced_bytes() == b""
    feed(matcher, "a")
    assert matcher.forced_bytes() == b""


def test_rows_that_do_not_fit_are_refused():
    matcher = Matcher(grammar({"S": ["a"]}, AB, "S"), BYTES)
    with pytest.raises(ValueError, match="needs 9"):
        matcher.fill_bitmask(np.zeros(8, np.int32))
    with pytest.raises(ValueError, match="int32"):
        matcher.fill_bitmask(np.zeros(9, np.int64))
    with pytest.raises(ValueError, match="contiguous"):
        matcher.fill_bitmask(np.zeros(18, np.int32)[::2])
    with pytest.raises(ValueError, match="multiple of 4"):
        matcher.fill_bitmask(np.zeros(37, np.int8)[1:].view(np.int32))
    with pytest.raises(TypeError, match="list"):
        matcher.fill_bitmask([0] * 9)
    row = np.full(11, -1, np.int32)
    matcher.fill_bitmask(row)
    assert row.tolist() == [0, 0, 0, 1 << (ord("a") - 96), 0, 0, 0, 0, 0, 0, 0]


def test_tokens_outside_the_mask_change_nothing():
    matcher = Matcher(grammar({"S": ["a b"]}, AB, "S"), BYTES)
    feed(matcher, "a")
    for token in (ord("a"), EOS, 257, -1, 1 << 40):
        assert not matcher.accept(token)
    assert matcher.tokens == [ord("a")]
    with pytest.raises(ValueError, match="cannot take back 2"):
        matcher.rollback(2)
    assert allowed(matcher) == "b"


def test_engines_refuse_what_they_cannot_mean():
    regexes = Regexes()
    engine = Engine(regexes)
    with pytest.raises(ValueError, match="matches nothing"):
        engine.add_terminal("nothing", Regexes.EMPTY)
    with pytest.raises(ValueError, match="does not belong to this arena"):
        engine.add_terminal("foreign", 10_000)
    empty = engine.add_nonterminal("empty")
    with pytest.raises(ValueError, match="does not belong to this grammar"):
        engine.add_production(empty, [77])
    with pytest.raises(ValueError, match="no production"):
        engine.finish(empty)
    engine.add_production(empty, [])
    engine.finish(empty)
    with pytest.raises(ValueError, match="finished"):
        engine.add_nonterminal("late")
    assert allowed(Matcher(Grammar(engine), BYTES)) == "$"  # the only sentence is empty


def test_engines_do_not_pickle_by_accident():
    with pytest.raises(TypeError):
        pickle.dumps(Engine(Regexes()))


# ---- found by review ------------------------------------------------------------------------------------------------


def test_matchers_in_reference_cycles_are_collected():
    """The collector may clear a cycle in any order, although a matcher needs its chart until it is freed."""
    ab = grammar({"S": ["a S", ""]}, AB, "S")
    for _ in range(50):
        matcher = Matcher(ab, BYTES)
        survivor = matcher.fork()
        cycle = [matcher]
        cycle.append(cycle)
        del matcher, cycle
        assert gc.collect(1)  # the cycle is young; a whole collection visits all that other tests have loaded
        assert allowed(survivor) == "a$"


def test_dropped_forks_are_freed():
    """Dropped forks must start a collection themselves: positions of this grammar recur, so nothing else does."""
    matcher = Matcher(grammar({"S": ["a S", ""]}, AB, "S"), BYTES)
    feed(matcher, "a" * 1000)
    before = matcher.stats()["histories"]
    for _ in range(1000):
        matcher.fork()
    assert matcher.stats()["histories"] <= before + 3
    assert matcher.stats()["text_bytes"] > 8 * 1000  # histories are included


def test_matchers_that_were_not_set_up_say_so():
    class Careless(Matcher):
        def __init__(self, *args):
            pass

    careless = Careless(grammar({"S": ["a"]}, AB, "S"), BYTES)
    for call in (
        careless.mask,
        careless.is_accepting,
        careless.is_finished,
        careless.reset,
        careless.fork,
        careless.expected,
    ):
        with pytest.raises(ValueError, match="not set up"):
            call()
    with pytest.raises(ValueError, match="not set up"):
        careless.accept(97)
    with pytest.raises(ValueError, match="not set up"):
        _ = careless.tokens
    row = np.full(9, 7, np.int32)
    for on_error in ("raise", "end"):
        with pytest.raises(ValueError, match="not set up"):
            careless.fill_bitmask(row, on_error=on_error)
    assert (row == 7).all()
    with pytest.raises(earleymask.BatchError, match="not set up"):
        earleymask.fill_bitmasks([careless], row[None], on_error="end")


def test_many_optional_symbols_in_a_row():
    """The next x may be at each of n places; the memory of outcomes must not grow with the square of n."""
    costs = []
    for n in (500, 1000, 2000):
        rules = {"S": ["X " * n], "X": ["a", ""]}
        matcher = Matcher(grammar(rules, AB, "S"), BYTES)
        feed(matcher, "aa")
        assert allowed(matcher) == "a$"
        costs.append(matcher.stats()["grammar_bytes"])
    assert costs[2] < 2.5 * costs[1] < 6.25 * costs[0]


def test_a_named_eos_goes_on_where_the_grammar_does():
    named = grammar({"S": ["a", "a <eos> b"]}, AB, "S", specials=["<eos>"])
    matcher = Matcher(named, CALL)
    feed(matcher, "a")
    assert ids(matcher) == {EOS}
    assert matcher.accept(EOS)
    assert not matcher.is_finished()
    assert ids(matcher) == {ord("b")}


def test_an_emptiness_search_that_fails_knows_nothing():
    regexes = Regexes()
    # All texts of five letters a and b except aaaaa: only a search finds that there is one.
    five = regexes.repeat(regexes.byte_set(b"ab"), 5, 5)
    node = regexes.intersection([five, regexes.complement(regexes.literal(b"aaaaa"))])
    assert not regexes.is_empty(node)
    nothing = regexes.intersection([five, regexes.complement(five)])
    assert regexes.is_empty(nothing)
    assert regexes.is_empty(nothing)


def test_emptiness_is_found_by_going_on():
    """`.*?X.{20}Z` has a million thread lists nearer than its first match, and is not empty all the same."""
    regexes = Regexes()
    dot = regexes.char_class([(0, 9), (11, 0x10FFFF)])
    atom, split, jump, match = 0, 1, 2, 3
    program = [(split, 3, 1), (atom, dot, 0), (jump, 0, 0), (atom, regexes.literal(b"X"), 0)]
    program += [(atom, dot, 0)] * 20 + [(atom, regexes.literal(b"Z"), 0), (match, 0, 0)]
    node = regexes.ordered(program)
    assert not regexes.is_empty(node)
    assert regexes.matches(node, b"aaX" + b"b" * 20 + b"Z")
    assert not regexes.matches(node, b"aaX" + b"b" * 19 + b"Z")


def test_emptiness_is_found_near_the_start():
    """A short text may lie where more seems to be needed: after the `e` of `3e1`, each of three parts needs a digit."""
    regexes = Regexes()
    digit = regexes.byte_set(b"0123456789")
    powers = [regexes.concat([regexes.literal(b"e"), regexes.repeat(digit, 1, most)]) for most in (3, 4, 5)]
    parts = [regexes.concat([regexes.repeat(digit, 1, 3000 + p), regexes.repeat(p, 0, 1)]) for p in powers[:2]]
    node = regexes.intersection([*parts, regexes.concat([regexes.repeat(digit, 1, None), powers[2]])])
    before = regexes.n_nodes
    assert not regexes.is_empty(node)
    assert regexes.n_nodes - before < 100


def test_what_programs_and_depths_are_refused():
    regexes = Regexes()
    program = regexes.ordered([(1, 1, 3), (0, regexes.literal(b"a"), 0), (2, 0, 0), (3, 0, 0)])
    with pytest.raises(ValueError, match="nor a program"):
        regexes.ordered([(0, regexes.concat([regexes.literal(b"x"), program]), 0), (3, 0, 0)])
    node = regexes.literal(b"a")
    nest = lambda node: regexes.repeat(regexes.union([node, regexes.literal(b"b")]), 2, 3)  # noqa: E731
    for _ in range(1_900):
        node = nest(node)
    with pytest.raises(LimitError, match="nested deeper"):
        functools.reduce(lambda node, _: nest(node), range(20_000), node)
    assert regexes.is_nullable(node) is False


def test_lazy_symbols_must_say_that_they_are_nullable():
    regexes = Regexes()
    engine = Engine(regexes)
    lazy = engine.add_lazy("lazy", lambda: [()])
    engine.add_production(start := engine.add_nonterminal("S"), (item for item in [lazy]))
    engine.finish(start)
    with pytest.raises(ValueError, match="not declared nullable"):
        Matcher(Grammar(engine), BYTES)
