"""The grammar model: trimming, warnings, the empty language, shapes of repetition, and Grammar objects."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from typing import Any

import pytest

from earleymask import Limits
from earleymask.grammar import Grammar, GrammarError, GrammarWarning
from earleymask.grammar.errors import GrammarLimitError, RegexSyntaxError
from earleymask.grammar.model import repetition
from earleymask.grammar.model.compile import compile_model
from earleymask.grammar.model.model import Model
from earleymask.grammar.regex.ast import Chars, Literal
from support.lark_oracle import strings, we_accept


class Reporter:
    """A reporter for grammars without a text: it puts the origin into the message."""

    def error(self, message: str, origin: Any, hint: str | None = None) -> GrammarError:
        return GrammarError(f"{origin}: {message}", hint=hint)

    def limit_error(self, message: str, origin: Any) -> GrammarLimitError:
        return GrammarLimitError(f"{origin}: {message}")

    def warning(self, message: str, origin: Any) -> GrammarWarning:
        return GrammarWarning(f"{origin}: {message}", 1, 1)

    def regex_error(self, error: RegexSyntaxError, origin: Any) -> GrammarError:
        return GrammarError(f"{origin}: {error.message}")


class Compiled:
    """The part of a `Grammar` that a matcher needs."""

    def __init__(self, model: Model, start: int) -> None:
        self.engine = compile_model(model, start)


def accepts(model: Model, start: int, texts: list[str]) -> list[str]:
    compiled: Any = Compiled(model, start)
    return [text for text in texts if we_accept(compiled, text)]


# --- trimming --------------------------------------------------------------------------------------------------------


def test_unproductive_alternatives_are_dropped_with_a_warning() -> None:
    grammar = Grammar.from_lark('start: "a" | x "b"\n  | y\nx: "c" x | x\ny: z z\nz: "d" | x')
    assert [str(warning) for warning in grammar.warnings] == [
        "line 3, column 1: rule `x` can never come to an end; the alternatives that use it were dropped",
        "line 3, column 12: this alternative of `x` is the rule itself and has no effect",
    ]
    assert we_accept(grammar, "a") and we_accept(grammar, "dd") and not we_accept(grammar, "cb")


def test_rules_that_only_dropped_alternatives_use_are_named() -> None:
    grammar = Grammar.from_lark('start: "a" | loop used\nloop: loop "b"\nused: "c"')
    assert [warning.message for warning in grammar.warnings] == [
        "rule `loop` can never come to an end; the alternatives that use it were dropped",
        "rule `used` is used only in alternatives that were dropped",
    ]


def test_unreachable_and_unused_definitions_are_named_and_nothing_else() -> None:
    grammar = Grammar.from_lark(
        'start: A\nx: y "b"\ny: x | "c"\nA: _B\n_B: "a"\nC: "c"\nD: "d"\nE: "e"\n%ignore D E\nF: C\n%import common.WS'
    )
    assert [(warning.line, warning.message) for warning in grammar.warnings] == [
        (2, "rule `x` is not reached from `start`"),
        (3, "rule `y` is not reached from `start`"),
        (10, "terminal `F` is not used"),
    ]


def test_warnings_about_what_strings_and_regexps_do_not_know() -> None:
    """They come from extensions of Lark and ignored expressions, too, but not from imported texts."""
    grammar = Grammar.from_lark(
        'start: list{"\\q"} x A? ESCAPED_STRING\nlist{each}: each ("\\"" "\\\\q" "\\n")* /[[:upper:]]/\n'
        'x[suffix="\\d"]: /[^[:digit:]]/\nA: ~("\\." | /[:]/) & /a|b/\n%import common.ESCAPED_STRING\n'
        "%ignore /[[:space:]a]/"
    )
    said = [(warning.line, warning.message.split(" is ")[0].split(" in ")[0]) for warning in grammar.warnings]
    assert said == [
        (1, "`\\q`"),
        (2, "`[:upper:]`"),
        (3, "`\\d`"),
        (3, "`[:digit:]`"),
        (4, "`\\.`"),
        (6, "`[:space:]`"),
    ]
    assert grammar.warnings[0].message == (
        "`\\q` in a string is no escape: the backslash is part of the text; "
        "write `\\\\q` if it is meant to be, and `q` if not"
    )


def test_an_empty_string_that_is_repeated_is_a_warning() -> None:
    assert "can be empty" in Grammar.from_lark('start: ""+ "a"').warnings[0].message


def test_warnings_about_grammars_that_look_at_what_follows() -> None:
    """Terminals that look at the text after them give the same warnings as others."""
    text = 'start: KEYWORD* | sum | B\nsum: sum "+" sum | KEYWORD\nKEYWORD: /if\\b/\nB: /b?(?!c)/\nC: "c"\n%ignore " "'
    assert [
        (warning.line, warning.message.split(",")[0].split(":")[0]) for warning in Grammar.from_lark(text).warnings
    ] == [
        (2, "an alternative of `sum` begins and ends with `sum`"),
        (4, "terminal `B` can match the empty text"),
        (5, "terminal `C` is not used"),
        (6, "`ignored 1` allows white space without end between any two lexemes"),
    ]


def test_a_long_chain_of_rules_is_looked_at_in_linear_time() -> None:
    n = 50_000
    text = "start: r0\n" + "".join(f"r{i}: r{i + 1}\n" for i in range(n)) + f'r{n}: "a"'
    grammar = Grammar.from_lark(text, limits=Limits(load_seconds=30))
    began = time.monotonic()
    assert grammar.warnings == ()
    assert time.monotonic() - began < 20


def test_a_tidy_grammar_has_no_warnings() -> None:
    assert Grammar.from_lark('start: "a" [x*] (y | "b")~2..3\nx: X\nX: Y\nY: "y"\ny: start?').warnings == ()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('start: start "a"', "every alternative of `start` needs `start` again"),
        ("start: start", "`start`"),
        ('start: x\nx: "a" y\ny: x "b" | y', "every alternative of `x` needs `x` again"),
        ('start: "a" x*  y+\nx: "a"\ny: y', "`y`"),
        ("start: A\nA: /[^\\s\\S]/", "terminal `A` matches nothing"),
        ('start: "a" /x[^\\s\\S]/', "terminal `/x[^\\s\\S]/` matches nothing"),
    ],
)
def test_empty_language(text: str, cause: str) -> None:
    with pytest.raises(GrammarError, match="the grammar has no sentence") as caught:
        Grammar.from_lark(text)
    assert cause in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, 1)


def test_terminals_that_match_nothing_make_their_uses_unproductive() -> None:
    grammar = Grammar.from_lark('start: "a" | EMPTY "b" | "c" EMPTY*\nEMPTY: /[^\\s\\S]/\n%ignore /[^\\s\\S]/')
    assert [text for text in strings("abc", 2) if we_accept(grammar, text)] == ["a", "c"]
    assert [warning.message for warning in grammar.warnings] == [
        "terminal `EMPTY` matches nothing; the alternatives that use it were dropped"
    ]


def test_the_empty_sentence_alone_is_legal() -> None:
    for text in ("start:", "start: x x\nx: | x x", "start: start |", 'start: ["a" loop]\nloop: loop'):
        grammar = Grammar.from_lark(text)
        assert [s for s in strings("a", 2) if we_accept(grammar, s)] == [""]


def test_model_without_a_text() -> None:
    model = Model(Reporter())
    start, item, lost = model.rule("start", "here"), model.rule("item", "there"), model.rule("lost", "nowhere")
    a, b = model.terminal("A", Literal("a"), "a"), model.terminal("B", Chars(((98, 99),)), "b")
    nothing = model.terminal("NOTHING", Chars(()), "void")
    model.ignored("BLANK", Literal(" "), "blank")
    model.produce(start, (item, *repetition.star(model, ((a, item),))))
    model.produce(start, (start,))
    model.produce(item, (b,))
    model.produce(item, (item, nothing))
    model.produce(lost, (a,))
    texts = ["b", "bac", "b a c ", "ba", "", "a"]
    assert accepts(model, start, texts) == ["b", "bac", "b a c "]
    assert [warning.message for warning in model.warnings] == [
        "void: terminal `NOTHING` matches nothing; the alternatives that use it were dropped"
    ]


# --- repetition ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minimum", [0, 1, 2, 3, 7, 8, 9, 13])
@pytest.mark.parametrize("more", [0, 1, 2, 7, 8, 9, 10, 15, 16, 17, 31, None])
@pytest.mark.parametrize("unit", ["a", "ab", "a|b"])
def test_counts(minimum: int, more: int | None, unit: str) -> None:
    """Every count from 0 to beyond the maximum is judged rightly, for one symbol, for two and for a choice."""
    model = Model(Reporter())
    start = model.rule("start", None)
    letters = {letter: model.terminal(letter, Literal(letter), None) for letter in "ab"}
    alternatives = tuple(tuple(letters[letter] for letter in part) for part in unit.split("|"))
    maximum = None if more is None else minimum + more
    model.produce(start, repetition.counted(model, alternatives, minimum, maximum))
    written = unit.replace("|", "")
    texts = [(written * n)[: n * len(unit.split("|")[0])] for n in range(50)]
    last = 49 if maximum is None else maximum
    assert accepts(model, start, texts) == texts[minimum : last + 1]


@pytest.mark.parametrize(
    ("minimum", "maximum"), [(10**9, 10**9), (0, 10**9), (123_456_789, 987_654_321), (10**9, None)]
)
def test_large_counts_stay_small(minimum: int, maximum: int | None) -> None:
    model = Model(Reporter())
    unit = model.terminal("A", Literal("a"), None)
    symbols = repetition.counted(model, ((unit,),), minimum, maximum)
    assert len(symbols) <= 31
    assert len(model.helpers) <= 100


def test_counts_within_counts() -> None:
    grammar = Grammar.from_lark('start: (("a"~3 "b")~100..200 "c")~1000')
    matcher_text = ("aaab" * 100 + "c") * 3 + ("aaab" * 200 + "c") * 2
    assert not we_accept(grammar, matcher_text)  # five instead of a thousand
    small = Grammar.from_lark('start: (("a"~3 "b")~10..12 "c")~5')
    assert we_accept(small, ("aaab" * 10 + "c") * 3 + ("aaab" * 12 + "c") * 2)
    assert not we_accept(small, ("aaab" * 10 + "c") * 3 + ("aaab" * 13 + "c") * 2)


def test_equal_repetitions_are_one_symbol() -> None:
    model = Model(Reporter())
    a = model.terminal("A", Literal("a"), None)
    first = [repetition.star(model, ((a,),)), repetition.plus(model, ((a,),)), repetition.optional(model, ((a,),))]
    again = [repetition.star(model, ((a,),)), repetition.plus(model, ((a,),)), repetition.optional(model, ((a,),))]
    assert first == again and len(set(first)) == 3


# --- Grammar objects -------------------------------------------------------------------------------------------------


def test_grammars_are_equal_by_content() -> None:
    text = 'start: "a"\nother: "b"'
    grammar = Grammar.from_lark(text)
    assert grammar == Grammar.from_lark(text) and hash(grammar) == hash(Grammar.from_lark(text))
    assert grammar != Grammar.from_lark(text, start="other") and grammar != Grammar.from_lark(text + " ")
    assert grammar != text
    assert len({grammar, Grammar.from_lark(text), Grammar.from_lark(text, start="other")}) == 2
    assert grammar.source == text and grammar.start == "start" and len(grammar.fingerprint) == 64


def test_grammars_are_immutable() -> None:
    grammar = Grammar.from_lark('start: "a"')
    with pytest.raises(AttributeError, match="immutable"):
        grammar.source = ""
    with pytest.raises(AttributeError, match="immutable"):
        del grammar.engine
    with pytest.raises(TypeError, match="from_lark"):
        Grammar()
    with pytest.raises(TypeError, match="from_lark"):
        Grammar('start: "a"')
    assert copy.copy(grammar) is grammar and copy.deepcopy(grammar) is grammar


def test_grammars_pickle_as_their_source() -> None:
    grammar = Grammar.from_lark('start: "a"\nother: "b"*', start="other")
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar and again.start == "other" and again.warnings == grammar.warnings
    assert we_accept(again, "bb") and not we_accept(again, "a")
    rebuild, (kind, source, start, _) = grammar.__reduce__()
    with pytest.raises(ValueError, match="incompatible version"):
        rebuild(kind, source, start, "0" * 64)  # type: ignore[operator]
    with pytest.raises(ValueError, match="'other'"):
        rebuild("other", source, start, "")  # type: ignore[operator]


def test_loading_from_several_threads() -> None:
    """Libraries and terminals are remembered for the process: no thread may see an unfinished one."""
    text = "start: NUMBER | ESCAPED_STRING | CNAME\n%import common (NUMBER, ESCAPED_STRING, CNAME)\n%ignore / /"
    results: list[bool] = []

    def load() -> None:
        for _ in range(20):
            grammar = Grammar.from_lark(text)
            results.append(
                we_accept(grammar, '"a\\"" ') and we_accept(grammar, "1.5e3") and not we_accept(grammar, "1a")
            )

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80
