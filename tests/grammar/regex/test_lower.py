"""Terminals lowered to bytes agree with `re`: full matches, what lazy quantifiers prefer, lookbehind.

Every pattern is lowered into the engine's `Regexes` and into naive ones; both must agree with `re` on every word.
"""

from __future__ import annotations

import itertools
import re
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.earley._adopt import Adopter
from earleymask.earley._regex import Regexes
from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.json.formats import NAMES, REFUSED
from earleymask.grammar.json.formats import tree as format_tree
from earleymask.grammar.regex.ast import MAX_DEPTH, Behind, Chars, Concat, Literal, Node, Repeat, Union
from earleymask.grammar.regex.lookbehind import MAX_COPIES
from earleymask.grammar.regex.lower import RECURRING, Lowered, is_lazy, lower
from earleymask.grammar.regex.program import MAX_INSTRUCTIONS
from earleymask.grammar.regex.python import MAX_NESTING, parse
from support.naive_regexes import NaiveRegexes
from support.sentences import strings

LOOKS = re.compile(r"\(\?[=!>]|\\[bBZ]|\$|[*+?}]\+|\(\?<[=!](?!\[\^?[^]]*\]\)|.\))")
"""Finds the patterns of these tests that need a program with cuts."""


def check(pattern: str, texts: list[str], flags: str = "", wanted: set[str] | None = None) -> None:
    """Assert that `pattern` matches exactly those of `texts` that `re` matches (or that are `wanted`)."""
    node = parse(pattern, flags)
    # The naive regexes have no programs with cuts; for these `re` is the only oracle.
    arenas = [Regexes()] if LOOKS.search(pattern) else [Regexes(), NaiveRegexes()]
    lowered = [(arena, lower(node, arena)) for arena in arenas]
    # What another arena adopts is the same language, whatever the numbers of its nodes are.
    other = Regexes()
    other.union([other.literal(b"ba"), other.repeat(other.literal(b"b"), 2)])
    lowered.append((other, Adopter(other).copy(*lowered[0])))
    if wanted is None:
        wanted = set(matched(pattern, texts, flags, is_lazy(node)))
    for text in texts:
        for arena, root in lowered:
            assert arena.matches(root, text.encode()) == (text in wanted), (pattern, text, type(arena).__name__)


def matched(pattern: str, texts: list[str], flags: str, lazy: bool) -> list[str]:
    """Return the texts of a terminal's language, by its definition in terms of `re`."""
    compiled = re.compile(f"(?{flags}:{pattern})" if flags else pattern)
    if not lazy:
        return [text for text in texts if compiled.fullmatch(text)]
    return [text for text in texts if (match := compiled.match(text)) and match.end() == len(text)]


def test_each_arena_gets_the_nodes_of_a_tree_that_many_have() -> None:
    """One lowers the tree and leaves nodes for others, which adopt these."""
    tree = Lowered(parse(r'(?:[^"\\]|\\u[0-9a-f]{4})*(?:ab|a){2,3}'), recurs=False)
    texts = ["", "a", "aa", "abab", '"aa', "éab€a", "\\u00e9aa", "\\u00e9a", "aaab"]
    wanted = [text for text in texts if re.fullmatch(r'(?:[^"\\]|\\u[0-9a-f]{4})*(?:ab|a){2,3}', text)]
    for _ in range(4):
        arena = Regexes()
        root = tree.into(arena)
        assert [text for text in texts if arena.matches(root, text.encode())] == wanted
        assert tree.into(arena) == root


# (pattern, alphabet, longest word)
PLAIN = [
    ("", "a", 2),
    ("abc", "abc", 4),
    ("a|ab|", "ab", 3),
    ("(?:a|ab)(?:c|bcd)d*", "abcd", 5),
    ("a{2,4}b?", "ab", 6),
    ("(?:ab?){,3}", "ab", 6),
    ("(?:a{2}){2,}|b{0}", "ab", 7),
    ("[^a]b*", "abé", 4),
    (".a", "a\n\r\u2028", 3),
    ("(?s:.)a", "a\n\r\u2028", 3),
    (r"\w+", "aé1 _\u0663", 3),
    (r"(?a:\w+)", "aé1 _\u0663", 3),
    (r"\d\s\D", "1a\u0663\u00a0", 3),
    (r"[à-ü\U0001f600-\U0001f64f]+", "àü÷\U0001f600a", 3),
    (r"[\u07ff\u0800\uffff\U00010000]{1,2}", "\u07ff\u0800\uffff\U00010000\x7f", 2),
    ("(?i:straße)", "sSß\u017f", 3),
    ("(?i)ki", "kKiI\u212a\u0130\u0131", 3),
    ("(?i)[^k]", "kK\u212aé", 2),
    ("[^\\s\\S]|a", "ab", 2),
]
LAZY = [
    ('".*?"', '"ab', 5),
    (r'".*?(?<!\\)(\\\\)*?"', '"a\\', 7),
    (r"/\*(.|\n)*?\*/", "/*a", 7),
    ("a*?", "ab", 4),
    ("a+?b?", "ab", 4),
    ("(?:a|ab)??b*", "ab", 5),
    ("a|b*?b", "ab", 4),
    ("(?:a|b??)*b", "ab", 5),
    ("(?:a??b?){2,3}a", "ab", 5),
    ("(?:a??b?){2,3}?a", "ab", 5),
    ("(?:|a)*?b|ab", "ab", 4),
    ("(?:a*?)*b", "ab", 5),
    ("(?:a??)*", "a", 3),
    ("(?:(?:a??)*b??)*a", "ab", 5),
    ("(?:a|ab|b??)+b{2}?", "ab", 6),
    ("é*?[éü]", "éü", 4),
    ("(?i:a*?A)", "aA", 4),
]
LOOKBEHIND = [
    ("a(?<!b)", "ab", 3),
    ("[ab]+(?<!a)b", "ab", 5),
    ("[ab]*b(?<=b)(?<![a])a", "ab", 5),
    ("[ab](?:|a|ba)(?<=a)b*", "ab", 6),
    ("[ab](?:(?<=a)b|(?<=b)a)*", "ab", 6),
    ("a(?:(?<=a)b|(?<!a)a){2,3}", "ab", 6),
    ("a(?:(?<!b)[ab]*){2}b", "ab", 5),
    ("[ab]c?(?<![ac])b*", "abc", 5),
    ("[ab](?:(?<=a)|(?<=b)b)+", "ab", 4),
    (r"\w+(?<!_)", "a_é", 4),
    (r"[aé]+(?<![^a])", "aé", 4),
    (r"[aéb]*?b(?<=[é-üb])(?<!a)[ab]*?", "aéb", 4),
    (r"[ab]*?b(?:(?<!a)a??|(?<=a)b)*?b", "ab", 6),
    (r"[éa]+?(?<=é)a", "éa", 5),
]


@pytest.mark.parametrize(("pattern", "alphabet", "longest"), PLAIN + LAZY + LOOKBEHIND)
def test_cases(pattern, alphabet, longest):
    check(pattern, strings(alphabet, longest))


def test_the_strings_and_comments_of_common_lark():
    string = r'".*?(?<!\\)(\\\\)*?"'
    check(
        string,
        ['""', r'"\\"', r'"\\\\"', r'"\""', r'"a\\\"é"'],
        wanted={'""', r'"\\"', r'"\\\\"', r'"\""', r'"a\\\"é"'},
    )
    check(string, ['"', r'"\"', r'"a"b"', '""""', r'"\\""', '"\n"'], wanted=set())
    check(
        r"/\*(.|\n)*?\*/",
        ["/**/", "/* a\n* /é */", "/***/", "/*/", "/* */ */"],
        wanted={"/**/", "/* a\n* /é */", "/***/"},
    )


def test_small_patterns_exhaustively():
    """Two nested repetitions, greedy and lazy, agree over all small bodies, empty ones included."""
    atoms = ["a", "b", "", "a?", "b??", "a|", "|a", "ab|a", "b(?<=b)"]
    quantifiers = ["*", "+?", "??", "{2}", "{0,2}?", "{1,2}"]
    texts = strings("ab", 4)
    compared = 0
    for first, inner, second, outer in itertools.product(atoms, quantifiers, atoms[:6], quantifiers):
        pattern = f"(?:(?:{first}){inner}(?:{second})){outer}b"
        check(pattern, texts)
        compared += 1
    assert compared == 9 * 6 * 6 * 6


def quantified(body: st.SearchStrategy[str], lazy: bool) -> st.SearchStrategy[str]:
    counts = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{0}"])
    tails = st.sampled_from(["", "?"] if lazy else [""])
    return st.builds("(?:{}){}{}".format, body, counts, tails)


def patterns(lazy: bool, behind: bool = False) -> st.SearchStrategy[str]:
    atoms = ["a", "b", "é", "ab", "[ab]", "[^a]", ".", "", r"\w", "(?i:A)"]
    if behind:
        atoms += ["(?<!a)", "(?<=a)", "(?<=[bé])", "(?<![^b])", "(?<=.)"]
    return st.recursive(
        st.sampled_from(atoms),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            quantified(inner, lazy),
        ),
        max_leaves=8,
    )


TEXTS = [*strings("ab", 4), *strings("abé", 3), "A", "aA", "é\n", "\U0001f600", "abababab", "aaaaaé", "ééééb"]


class _TooSlowForRe(BaseException):
    pass


def check_in_time(pattern: str) -> None:
    """Do what `check` does, but skip patterns that take `re` forever, since it backtracks."""

    def give_up(*_):
        raise _TooSlowForRe

    node = parse(pattern)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        wanted = set(matched(pattern, TEXTS, "", is_lazy(node)))
    except _TooSlowForRe:
        return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    check(pattern, TEXTS, wanted=wanted)


@settings(max_examples=500)
@given(patterns(lazy=False))
def test_random_plain_patterns(pattern):
    check_in_time(pattern)


@settings(max_examples=1000)
@given(patterns(lazy=True))
def test_random_lazy_patterns(pattern):
    check_in_time(pattern)


@settings(max_examples=1000)
@given(patterns(lazy=False, behind=True))
def test_random_plain_patterns_with_lookbehind(pattern):
    check_in_time(f"[abé]{pattern}")


@settings(max_examples=1000)
@given(patterns(lazy=True, behind=True))
def test_random_lazy_patterns_with_lookbehind(pattern):
    check_in_time(f"[abé]{pattern}")


# (pattern, position of the lookbehind that would be asked before the terminal's first code point)
OUTSIDE = [
    ("(?<!a)b", 0),
    ("a*(?<!a)b", 2),
    ("(?:a|(?<=a))b", 5),
    ("(?:a?(?<!b)c)*", 5),
    ("(?:a*?)(?<!a)b", 7),
    ("(?:x|a??)(?<!a)b+?", 9),
    ("\\n*^a", 3),
]


@pytest.mark.parametrize(("pattern", "position"), OUTSIDE)
def test_lookbehind_out_of_the_terminal_is_refused(pattern, position):
    node = parse(pattern, "m", 40)
    for arena in (Regexes(), NaiveRegexes()):
        with pytest.raises(RegexSyntaxError, match="before the terminal") as caught:
            lower(node, arena)
        assert caught.value.position == 40 + position


def test_line_starts_inside_a_terminal():
    check("x(?:\n|^b|c)+", strings("xbc\n", 5), "m")


def test_composed_terminals_look_behind_across_their_parts():
    # As the loader composes `"\"" /.*?/ /(?<!\\)(\\\\)*?/ "\""`.
    parts = (Literal('"'), parse(".*?"), parse(r"(?<!\\)(\\\\)*?", "", 7), Literal('"'))
    arena = Regexes()
    root = lower(Concat(parts), arena)
    assert arena.matches(root, b'"a\\""')
    assert not arena.matches(root, b'"a\\"')
    with pytest.raises(RegexSyntaxError) as caught:
        lower(Concat(parts[1:]), arena)
    assert caught.value.position == 7


def test_no_lowered_state_is_a_dead_end():
    # After the empty class and failing lookbehinds there is no thread that can never match.
    for pattern in ("a(?<=b)", "a*?[^\\s\\S]", "(?:a(?<=b)|b[^\\s\\S]){1,2}?", "a(?:(?<!a)b)+?"):
        arena = Regexes()
        assert lower(parse(pattern), arena) == Regexes.EMPTY
    arena = Regexes()
    assert not arena.is_empty(lower(parse("a*?(?:[^\\s\\S]|b)"), arena))


def test_surrogates_match_nothing():
    for node in (Literal("a\ud800"), Chars(((0xD800, 0xDFFF),)), parse("\\ud800"), parse("a\\udfff*?b+\\ud800")):
        arena = Regexes()
        assert lower(node, arena) == Regexes.EMPTY
    check("[\ud7ff-\ue000]", ["\ud7ff", "\ue000"])


def deep(depth: int) -> Node:
    node: Node = Literal("a")
    for _ in range(depth):
        node = Repeat(node, 0, 1)
    return node


def test_depth_has_a_limit():
    lower(deep(MAX_DEPTH), Regexes())
    for depth in (MAX_DEPTH + 1, 20_000):
        with pytest.raises(LimitError, match=str(MAX_DEPTH)):
            lower(deep(depth), Regexes())
        with pytest.raises(LimitError, match=str(MAX_DEPTH)):
            is_lazy(deep(depth))


def test_the_deepest_patterns_of_the_syntax_can_be_lowered():
    for innermost in ("c", "c??"):
        lower(parse("(?:b|a" * MAX_NESTING + innermost + ")+x" * MAX_NESTING), Regexes())


def test_programs_have_a_limit():
    lower(parse("(?:ab?){0,1000}?c"), Regexes())
    for pattern in ("(?:a{1000}){1000}b??", "(?:a{0,1000}?){2147483647}", "(?:" * 20 + "a?" + ")*" * 20 + "b??"):
        with pytest.raises(LimitError, match=str(MAX_INSTRUCTIONS)):
            lower(parse(pattern), Regexes())


def test_empty_bodies_do_not_count():
    check("(?:){2147483647}?a", ["", "a", "aa"], wanted={"a"})
    check("(?:){2147483647}a", ["", "a", "aa"], wanted={"a"})


def test_repeated_lookbehind_has_a_limit():
    lower(parse(f"a(?:(?<!a)b){{{MAX_COPIES}}}"), Regexes())
    for count in (f"{MAX_COPIES + 1}", f"0,{MAX_COPIES + 1}", "1000000,"):
        with pytest.raises(LimitError, match=f"limit {MAX_COPIES}"):
            lower(parse(f"a(?:(?<!a)b){{{count}}}"), Regexes())
    classes = "".join(f"(?<![a-{chr(98 + i)}])" for i in range(20))
    with pytest.raises(LimitError, match="classes"):
        lower(parse(f"a{classes}"), Regexes())


def test_size_has_a_limit():
    node: Node = parse("[ab]c*")
    for _ in range(30):
        node = Concat((node, node))
    for part in (node, Concat((node, parse("(?<=c)"))), Concat((node, parse("c*?")))):
        with pytest.raises(LimitError, match="nodes"):
            lower(part, Regexes())


def test_many_lookbehinds():
    arena = Regexes()
    # The cells share what follows them; as a tree this would have 2**60 leaves.
    root = lower(parse("[ab](?:(?<=a)x|(?<=b)y)" * 60), arena)
    assert arena.matches(root, b"axby" * 30)
    assert not arena.matches(root, b"axbx" * 30)
    root = lower(parse("a(?<!b)" * 2000 + "[cd]" * 1000 + "(?<!c)" + "[cd]" * 50_000), arena)
    assert arena.matches(root, b"a" * 2000 + b"cd" * 25_500)
    assert not arena.matches(root, b"a" * 2000 + b"dc" * 25_500)
    with pytest.raises(LimitError, match="lookbehinds make a terminal grow"):
        lower(parse("a" + "b?" * 100_000 + "(?<!c)d"), arena)


def test_counts_are_kept_as_counts():
    arena = Regexes()
    before = arena.n_nodes
    lower(parse("(?:[a-z]{3,100000}x){1,2147483647}"), arena)
    assert arena.n_nodes - before < 10


def test_is_lazy():
    assert not is_lazy(parse("a*(b|c+){2}(?<!a)"))
    assert is_lazy(parse("a*(b|c+?)"))
    assert is_lazy(parse("a{2}?"))
    assert not is_lazy(Behind(Chars(()), True, 0))
    assert not is_lazy(Union((Literal("a"), Literal("bc"))))


@pytest.mark.parametrize(
    "name", sorted({name for names in NAMES.values() for name in names} - REFUSED.keys() - {"regex"})
)
def test_formats_are_plain(name: str) -> None:
    """`Lowered` lowers and adopts the trees of formats, and gets what `lower` returns."""
    tree = format_tree(name, next(draft for draft, names in NAMES.items() if name in names))
    assert tree is not None
    regexes = Regexes()
    assert Lowered(tree, recurs=True).into(regexes) == lower(tree, regexes) == RECURRING[tree].into(regexes)
