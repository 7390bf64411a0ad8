"""Rules with values agree with plain Python and with grammars written out, on all short strings; and their errors."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest

from earleymask import LimitError, Matcher, Vocabulary
from earleymask.grammar import Grammar
from support.effort import effort
from support.lark_oracle import assert_refused, strings, we_accept

PERMUTATIONS = """
start    :  perm::0x0
perm::_  :  ""                       %if is_ones([0:3])
         |  "a" perm::set_bit(0)     %if bit_clear(0)
         |  "b" perm::set_bit(1)     %if bit_clear(1)
         |  "c" perm::set_bit(2)     %if bit_clear(2)
"""

# Grammars, and the strings over "abc" that they accept.
LANGUAGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "permutations": (PERMUTATIONS, lambda text: sorted(text) == ["a", "b", "c"]),
    "each at least once": (
        'start: p::0\np::_: %if is_ones([0:3])\n | "a" p::set_bit(0) | "b" p::set_bit(1) | "c" p::set_bit(2)',
        lambda text: set(text) == set("abc"),
    ),
    "at most so many": (
        """
        start: l::0
        l::_: "a" l::incr([0:3]) %if lt([0:3], 2)
            | "b" l::incr([3:6]) %if lt([3:6], 1)
            | "c" l::incr([6:9]) %if lt([6:9], 3)
            |
        """,
        lambda text: text.count("a") <= 2 and text.count("b") <= 1 and text.count("c") <= 3,
    ),
    "a selection": (
        """
        start: s::0
        s::_: %if bit_count_ge(_, 1)
            | "a" s::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 2))
            | "b" s::set_bit(1) %if and(bit_clear(1), bit_count_lt(_, 2))
            | "c" s::set_bit(2) %if and(bit_clear(2), bit_count_lt(_, 2))
        """,
        lambda text: 1 <= len(text) <= 2 and len(set(text)) == len(text),
    ),
    "two counts that are the same": (
        """
        start: up::0
        up::_: "a" up::incr(_) | "c" down::_
        down::_: "b" down::decr(_) %if gt(_, 0)
            | "" %if is_zeros(_)
        """,
        lambda text: any(text == "a" * n + "c" + "b" * n for n in range(4)),
    ),
    "in groups and repetitions": (
        """
        start: x::1
        x::_: ("a" | "b" y::_)~2 ["c"] | "c" (y::clear_bit(0))+
        y::_: "a" %if bit_set(0)
            | "b" %if not(bit_set(0))
        """,
        lambda text: text.removesuffix("c") in ("aa", "aba", "baa", "baba")
        or (text[:1] == "c" and set(text[1:]) == {"b"}),
    ),
    "counts that stop at their ends": (
        """
        start: up::0
        up::_: "a" up::incr([0:1]) | "b" down::_ %if is_ones([0:1])
        down::_: "b" down::decr([0:1]) | "c" %if eq(_, 0)
        """,
        lambda text: any(text == "a" * m + "b" * n + "c" for m in range(1, 5) for n in range(2, 5)),
    ),
    "what can be empty": (
        """
        start: x::0 x::5 "c"
        x::_: e::_ e::incr(_) | "a"
        e::_: %if le(_, 3)
            | "b"
        """,
        lambda text: text[-1:] == "c" and any(
            first in ("", "b", "bb", "a") and second in ("bb", "a")
            for first, second in ((text[:i], text[i:-1]) for i in range(len(text)))
        ),
    ),
    "without a sentence for some values": (
        """
        start: x::0 | "c" x::7 | x::9 "b" | wrap "c"
        wrap: "a" x::8
        x::_: "a" x::_ %if ne(_, 7)
            | "b" %if or(eq(_, 0), eq([0:3], 1))
        """,
        lambda text: text in ("b", "ab", "aab", "aaab", "aaaab", "bb", "abb", "aabb", "aaabb"),
    ),
    "left recursion": (
        """
        start: l::3
        l::_: l::decr(_) "a" %if gt(_, 0)
            | "b"
        """,
        lambda text: text in ("b", "ba", "baa", "baaa"),
    ),
    "rules between them": (
        """
        start: open
        open: "a" n::0 "b"
        n::_: n::_ "c" | open %if eq(_, 1)
            | "b"
        """,
        lambda text: text[:2] == "ab" and text[-1] == "b" and set(text[2:-1]) <= {"c"} and len(text) >= 3,
    ),
    "bit functions": (
        """
        start: x::0x0f
        x::_: "a" y::bit_and(0x5) | "b" y::bit_or(0x10)
        y::_: "a" %if eq(_, 5)
            | "b" %if and(bit_count_eq(_, 5), ge(_, 31))
            | "c" %if and(bit_count_ne(_, 2), and(bit_count_le([0:8], 5), and(bit_count_gt(_, 4), true)))
        """,
        lambda text: text in ("aa", "bb", "bc"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages(name: str) -> None:
    written, expected = LANGUAGES[name]
    grammar = Grammar.from_lark(written)
    accepted = 0
    for text in strings("abc", 5):
        assert we_accept(grammar, text) == expected(text), text
        accepted += expected(text)
    assert accepted


def written_out(n: int) -> str:
    """Return a grammar of permutations of n letters, with a rule for each set of used letters."""
    lines = ["start: p0"]
    for used in range(1 << n):
        alternatives = [f'"{chr(97 + k)}" p{used | 1 << k}' for k in range(n) if not used >> k & 1]
        lines.append(f"p{used}: {' | '.join(alternatives)}")
    return "\n".join(lines)


def permutations(n: int) -> str:
    lines = [f"start: p::0\np::_: %if is_ones([0:{n}])"]
    return "\n".join(lines + [f'  | "{chr(97 + k)}" p::set_bit({k}) %if bit_clear({k})' for k in range(n)])


def test_masks_are_those_of_the_grammar_written_out() -> None:
    tokens = [b"a", b"b", b"c", b"d", b"ab", b"dc", b"bcd", b"aa", b"dab", b"abcd", b"abcde", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=11)
    plain, parametric = Grammar.from_lark(written_out(4)), Grammar.from_lark(permutations(4))
    for ignoring in (False, True):
        if ignoring:
            plain = Grammar.from_lark(written_out(4) + '\n%ignore "d"')
            parametric = Grammar.from_lark(permutations(4) + '\n%ignore "d"')
        for history in itertools.product(range(8), repeat=3):
            left, right = Matcher(plain, vocabulary), Matcher(parametric, vocabulary)
            for token_id in history:
                assert (left.mask() == right.mask()).all(), history
                accepted = left.accept(token_id)
                assert right.accept(token_id) == accepted
                if not accepted:
                    break


def test_permutations_of_many() -> None:
    n = effort(24, 40)
    lines = [f"start: p::0\np::_: %if is_ones([0:{n}])"]
    lines += [f'  | "<{k}>" p::set_bit({k}) %if bit_clear({k})' for k in range(n)]
    before = time.process_time()
    grammar = Grammar.from_lark("\n".join(lines))
    text = "".join(f"<{(k * 7) % n}>" for k in range(n))
    assert we_accept(grammar, text)
    assert not we_accept(grammar, text + "<1>")
    assert not we_accept(grammar, text.replace(f"<{n - 1}>", f"<{n - 2}>"))
    assert time.process_time() - before < 30


def test_rollback_and_fork() -> None:
    matcher = Matcher(Grammar.from_lark(permutations(3)), Vocabulary.bytes())
    assert matcher.accept(ord("b"))
    fork = matcher.fork()
    assert matcher.accept(ord("a"))
    assert not matcher.accept(ord("b"))
    matcher.rollback(2)
    assert matcher.validate([*b"cab", 256]) == 4
    assert fork.validate([*b"cab", 256]) == 2


def test_warnings_say_nothing_wrong() -> None:
    assert Grammar.from_lark(permutations(3)).warnings == ()


def test_in_embedded_and_imported_grammars() -> None:
    grammar = Grammar.from_lark("start: %lark {\n" + permutations(2) + '\n%ignore " "\n} "."')
    assert we_accept(grammar, " b a .")
    assert not we_accept(grammar, "bb.")
    modules = {"m": permutations(2).replace("start:", "both:")}
    grammar = Grammar.from_lark("start: both\n%import m.both", loader=modules)
    assert we_accept(grammar, "ba")
    assert not we_accept(grammar, "b")


ERRORS = {
    "unknown function": ("start: x::sett(1)\nx::_: \"a\"", 1, 11, "there is no function `sett`"),
    "unknown condition": ('start: x::0\nx::_: "a" %if foo(1)', 2, 15, "there is no condition `foo`"),
    "no condition": ('start: x::0\nx::_: "a" %if', 2, 14, "a condition is expected"),
    "no bits": ('start: x::0\nx::_: "a" %if lt([3:3], 1)', 2, 18, "[3:3] has no bits"),
    "bit too high": ('start: x::0\nx::_: "a" x::set_bit(64)', 2, 22, "the number of a bit must be less than 64"),
    "value too high": ("start: x::18446744073709551616\nx::_: \"a\"", 1, 11, "a value must be less than"),
    "an argument too few": ('start: x::0\nx::_: "a" %if lt(_)', 2, 19, "`,` is expected here"),
    "an argument too many": ('start: x::0\nx::_: "a" %if bit_set(1, 2)', 2, 24, "`)` is expected here"),
    "something behind it": ('start: x::0\nx::_: "a" %if bit_set(1) "b"', 2, 26, "should end after its condition"),
    "condition without value": ('start: "a" %if true', 1, 12, "a condition needs a rule with a value"),
    "function without value": ('start: x::incr(_)\nx::_: "a"', 1, 11, "`incr` can stand only in a rule with a value"),
    "a rule without value": ('start: x::1\nx: "a"', 1, 8, "rule `x` has no value"),
    "no value given": ('start: x::1 x\nx::_: "a"', 1, 13, "rule `x` needs a value"),
    "undefined": ("start: x::1", 1, 8, "rule `x` is not defined"),
    "defined for one value": ('start: x::1\nx::1: "a"', 2, 2, "`::1` cannot be defined"),
    "a terminal": ('start: X\nX::_: "a"', 2, 2, "terminals have no values"),
    "in a group": ('start: x::1\nx::_: ("a" %if true)', 2, 12, "follows a whole alternative"),
    "in a terminal": ('start: A\nA: "a" x::1', 2, 8, "rule `x` cannot be inside a terminal"),
    "extended without a value": ('start: x::0\nx::_: "a"\n%extend x: "b"', 3, 9, "in its definition or in"),
    "template with a value": ('start: x{"a"}\nx{a}::_: a', 2, 1, "has attributes or a value"),
    "value in a template": ('start: x::1\nx::_: t{x::incr(_)}\nt{a}: "(" a ")" | "b"', 3, 1, "depends on a value"),
    "nested too deeply": ('start: x::1\nx::_: "a" %if ' + "not(" * 60 + "true" + ")" * 60, 2, 11, "more than 50 deep"),
    "no sentence": ('start: x::1\nx::_: "a" %if eq(_, 2)', 1, 1, "the conditions of its rules"),
    "left recursion without end": ('start: x::0 "c"\nx::_: x::incr(_) | "a"', 1, 1, "whether it can be empty"),
    "looking ahead": ('start: x::0\nx::_: /a\\b/ "b"? x::incr(_) | "."', 2, 7, "a grammar whose rules have values"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_show_their_place(name: str) -> None:
    assert_refused(*ERRORS[name])


def test_beginnings_without_end_are_an_error_in_time() -> None:
    grammar = Grammar.from_lark('start: "b" y | "a"\ny: x::0 "c"\nx::_: x::incr(_) "d" | "a"')
    before = time.process_time()
    with pytest.raises(LimitError, match="can begin with itself"):
        Matcher(grammar, Vocabulary.bytes()).accept(ord("b"))
    assert time.process_time() - before < 20


@pytest.mark.parametrize("elsewhere", [False, True])
def test_more_alternatives(elsewhere: bool) -> None:
    """`%extend` of a rule with a value works in the text itself and in one that imports it."""
    body = 'x::_: "." %if is_ones([0:2])\n  | "a" x::set_bit(0) %if bit_clear(0)\n'
    more = '%extend x::_: "b" x::set_bit(1) %if bit_clear(1) | "c" %if eq(_, 0)\n'
    modules = {"m": body}
    text = "start: x::0\n" + ("%import m.x\n" if elsewhere else body) + more
    grammar = Grammar.from_lark(text, loader=modules)
    found = {text for text in strings("abc.", 3) if we_accept(grammar, text)}
    assert found == {"ab.", "ba.", "c"}
    assert Grammar.from_lark(text + more.replace('"b"', '"bb"'), loader=modules).engine is not None
