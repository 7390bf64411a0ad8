"""What XGrammar's EBNF means here. `test_xgrammar_oracle.py` compares this with XGrammar itself."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar.errors import GrammarLimitError
from support.mask_paths import agreed
from support.schema_grammars import accepts

RULES = '\na ::= "1"\nb ::= "2"'


def accepted(text: str, *texts: str) -> list[str]:
    """Return which of `texts` the grammar `text` accepts."""
    grammar = Grammar.from_gbnf(text)
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    return [each for each in texts if accepts(grammar, each)]


def allowed(matcher: Matcher) -> set[int]:
    return set(np.flatnonzero(agreed(matcher)).tolist())


# --- syntax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'"\0\a\b\e\f\v"', "\0\a\b\x1b\f\v"),
        (r'"\'\?\/\""', "'?/\""),
        (r'"\x4" "1"', "\x041"),
        (r'"\xe91"', "é1"),  # as it prints "é1", though it reads U+0E91
        (r'"\x411"', "A1"),  # as in llama.cpp
        (r"[\^] [\$] [\.] [\*] [\+] [\(] [\)] [\{] [\}] [\|] [\/] [\?]", "^$.*+(){}|/?"),
        (r"[\0-\x1f]", "\x07"),
        ("[^]", "\n"),
        ('"a"{2,-1} "b"{ 1, -1 }', "aaabb"),
        ('"a"{0,-1}', ""),
        ('a.b "c"\na.b ::= "x"', "xc"),
        ('a.b\na ::= "x"\nb ::= "y"', "x!y"),  # no rule is called `a.b`, so `.` is any character
        ('"a"\n  "b" # comment\n\n "c"*\n | "d"', "abcc"),
        ('(a) (="x" b* | [^]) # comment' + RULES, "1"),
        ('a\n(="x")' + RULES, "1"),
        ('Token ("a")\nToken ::= "t"', "ta"),  # a rule of this name, as in llama.cpp
        ("Regex\nRegex ::= [0-9]", "5"),
    ],
)
def test_syntax(written: str, text: str) -> None:
    assert accepted(f"root ::= {written}", text) == [text]


def test_a_lookahead_changes_nothing() -> None:
    """XGrammar's matcher accepts both texts, too."""
    assert accepted('root ::= x [bc]\nx ::= "a" (="b")', "ab", "ac", "a") == ["ab", "ac"]


ERRORS = [
    ('("a" (="b"))', 6 + 9, "a lookahead `(=...)` can only be the end of a rule"),
    ('"a" (="b") "c"', 5 + 9, "a lookahead `(=...)` can only be the end of a rule"),
    ('"a" ( ="b")', 5 + 9, "XGrammar's lookahead begins with `(=`"),
    ('"a" (=c)', 7 + 9, "rule `c` is not defined"),
    ('"a" (="b"', 5 + 9, "a rule begins inside this group, which is not closed"),
    ("[]", 10, "this class of characters is empty"),
    ('"a"{-1,2}', 13 + 1, "a number is expected here"),
    ('"a"{,-1}', 13, "`{,}` has no count"),
    ('TagDispatch(("<t>", c))', 20 + 10, "rule `c` is not defined"),
    ('TagDispatch(("", a))', 14 + 9, "in `TagDispatch(...)`: a trigger cannot be empty"),
    ('TagDispatch("<t>", a)', 13 + 9, "in `TagDispatch(...)`: each argument is a pair"),
    ("TagDispatch((5, a))", 14 + 9, "in `TagDispatch(...)`: a trigger must be a string"),
    ("TagDispatch(a)", 13 + 9, "in `TagDispatch(...)`: each argument is a pair"),
    ('TagDispatch(("<t>", "a"))', 13 + 9, "in `TagDispatch(...)`: each argument is a pair"),
    ('TagDispatch(("ab", a), excludes=("a"))', 14 + 9, "in `TagDispatch(...)`: no tag can begin with"),
    ('TagDispatch(excludes=("a", ""))', 28 + 9, "in `TagDispatch(...)`: `excludes` lists an empty string"),
    ("TagDispatch(excludes=(5,))", 23 + 9, "in `TagDispatch(...)`: what `excludes` lists must be a string"),
    ("TagDispatch(stop_eos=true)", 22 + 9, "in `TagDispatch(...)`: there is no argument `stop_eos`"),
    ("TagDispatch(loop_after_dispatch=1)", 33 + 9, "in `TagDispatch(...)`: `loop_after_dispatch` must be true or"),
    ('TagDispatch(("a", a) "b")', 22 + 9, "in `TagDispatch(...)`: `,` or `)` is expected here"),
    ('TagDispatch(("a", a)', 1 + 9, "in `TagDispatch(...)`: the parenthesis is never closed"),
    ("TagDispatch(", 1 + 9, "in `TagDispatch(...)`: the parenthesis is never closed"),
    ("TagDispatch(=)", 13 + 9, "in `TagDispatch(...)`: a string, a number, the name"),
    ('TagDispatch((("a", a)))', 14 + 9, "in `TagDispatch(...)`: these parentheses are nested too deep"),
    ("TokenTagDispatch((5, a), excludes=(5,))", 19 + 9, "in `TokenTagDispatch(...)`: token 5 is excluded"),
    ("Token()", 1 + 9, "in `Token(...)`: at least one token id is expected"),
    ('Token("a")', 7 + 9, "in `Token(...)`: each argument must be a number"),
    ("Token(-1)", 7 + 9, "in `Token(...)`: each argument must be a number"),
    ("ExcludeToken(5000000000)", 14 + 9, "in `ExcludeToken(...)`: token ids go up to"),
    ("Token(5, eos=true)", 14 + 9, "in `Token(...)`: there is no argument `eos`"),
    ('Regex("a", "b")', 1 + 9, "in `Regex(...)`: one pattern is expected"),
    ('Regex("a(")', 7 + 9, "in `Regex(...)`:"),
    (r'Regex("(a)\\1")', 7 + 9, "in `Regex(...)`:"),
    ('Regex("a", flags="x")', 18 + 9, "in `Regex(...)`: flag 'x' is not supported"),
    ('Regex("a", flags="i", flags="i")', 23 + 9, "in `Regex(...)`: `flags` is given twice"),
    ("Substring(5)", 11 + 9, "in `Substring(...)`: each argument must be a string"),
    ("AnyTokens()", 10, "rule `AnyTokens` is not defined"),
]


@pytest.mark.parametrize(("written", "column", "message"), ERRORS, ids=[written for written, _, _ in ERRORS])
def test_errors_name_the_macro_and_the_place(written: str, column: int, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(f"root ::= {written}" + RULES)
    error = min(caught.value.errors, key=lambda one: (one.line or 0, one.column or 0))
    assert (error.line, error.column) == (1, column), str(error)
    assert error.message.startswith(message)


def test_the_arguments_of_a_macro_are_bounded() -> None:
    with pytest.raises(GrammarLimitError, match=r"`Token\(...\)` has more than 3000 arguments"):
        Grammar.from_gbnf(f"root ::= Token({','.join('5' * 3001)})")
    many = ", ".join([f'("<{number:x}>", a)' for number in range(900)])
    assert accepted(f"root ::= TagDispatch({many}){RULES}", "x<37>1<1>1", "<37>", "<37>2") == ["x<37>1<1>1"]


# --- text with tags --------------------------------------------------------------------------------------------------


def dispatched(text: str, tags: dict[str, str], loops: bool, excludes: tuple[str, ...] = ()) -> bool:
    """Return whether `text` is free text with tags, each followed by its digit, by trying all ways to cut it: slow, and
    plainly what `regex.free_text.endings` says."""

    def free(piece: str) -> bool:
        return not any(each in piece for each in (*tags, *excludes))

    if free(text):
        return True
    for tag, digit in tags.items():
        for match in re.finditer(f"(?={re.escape(tag)})", text):
            begin, end = match.start(), match.start() + len(tag)
            head = text[:end]
            earlier = any(head.startswith(other, at) for other in tags for at in range(begin))
            if earlier or any(each in head for each in excludes) or text[end : end + 1] != digit:
                continue
            rest = text[end + 1 :]
            if dispatched(rest, tags, loops, excludes) if loops else not rest:
                return True
    return False


DISPATCHES: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({"<": "1"}, ()),
    ({"<<": "1"}, ()),
    ({"<>": "1", ">": "2"}, ()),  # both end at the same place: the one that begins first counts
    ({"<": "1", "<>": "2"}, ()),  # one begins the other: either counts
    ({"<>x": "1", ">": "2"}, ()),  # one is within the other
    ({"x<x": "1", "<": "2"}, (">",)),
    ({"<x": "1", "x<": "2"}, ()),
    ({"<>": "1"}, ("x", "<x")),
    ({"<x": "1"}, ("x",)),  # the tag contains an excluded text, so it can never stand
    ({"<": "1"}, ("<>",)),
    ({}, ("<>",)),
    ({}, ()),
]


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("which", range(len(DISPATCHES)))
def test_tags_in_free_text(which: int, loops: bool) -> None:
    tags, excludes = DISPATCHES[which]
    pairs = [f'("{tag}", {"_ab"[int(digit)]})' for tag, digit in tags.items()]
    listed = "".join([f'"{text}", ' for text in excludes])
    options = [f"loop_after_dispatch={str(loops).lower()}", f"excludes=({listed})"]
    grammar = Grammar.from_gbnf(f"root ::= TagDispatch({', '.join(pairs + options)})" + RULES)
    n_accepted = 0
    for length in range(6):
        for chars in itertools.product("<>x12", repeat=length):
            text = "".join(chars)
            expected = dispatched(text, tags, loops, excludes)
            assert accepts(grammar, text) == expected, text
            n_accepted += expected
    assert n_accepted > 100


def test_a_tag_is_found_wherever_tokens_are_cut() -> None:
    tokens = [b"<", b"t>", b"<t", b">", b"<t>", b"<t>1", b"1", b"x<", b"x", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=9)
    grammar = Grammar.from_gbnf('root ::= TagDispatch(("<t>", a))' + RULES)
    for way in ([4], [0, 1], [2, 3], [7, 1], [8, 0, 1]):
        matcher = Matcher(grammar, vocabulary)
        assert all(map(matcher.accept, way))
        assert allowed(matcher) == {6}
        assert matcher.accept(6) and allowed(matcher) == {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
    matcher = Matcher(grammar, vocabulary)
    assert matcher.accept(2) and 9 in allowed(matcher)  # the beginning of a tag is free text


def test_a_dispatch_within_a_rule() -> None:
    grammar = 'root ::= "[" TagDispatch(("<", c), excludes=("]",)) "]"\nc ::= "(" c? ")" | d\nd ::= "1"+'
    texts = ("[]", "[x<()y<(1)]", "[<]", "[x]]", "[<(<())]", "[<11<1]", "[<2]")
    assert accepted(grammar, *texts) == ["[]", "[x<()y<(1)]", "[<11<1]"]


def test_two_dispatches_in_one_grammar_do_not_mix() -> None:
    """Their pairs are written alike, and mean what all arguments of their macro say."""
    text = 'root ::= "(" TagDispatch(("<", a), ("x<", b)) ")" | "[" TagDispatch(("<", a), excludes=("x",)) "]"'
    texts = ("(x<2)", "(x<1)", "[<1]", "[x<1]", "(y<1)")
    assert accepted(text + RULES, *texts) == ["(x<2)", "[<1]", "(y<1)"]


# --- tokens ----------------------------------------------------------------------------------------------------------

WORDS = Vocabulary.from_tokens(
    [b"a", b"b", b"1", b"<call>", b"", b"", b""], eos_token_id=6, special_tokens={"<|x|>": 4, "<|y|>": 5}
)


def test_tokens() -> None:
    matcher = Matcher(Grammar.from_gbnf('root ::= Token(3, 4) ExcludeToken(0, 1, 5) "a"'), WORDS)
    assert allowed(matcher) == {3, 4}
    assert matcher.accept(3) and allowed(matcher) == {2, 3, 4}
    assert matcher.accept(4) and allowed(matcher) == {0}


def test_any_token_is_not_eos() -> None:
    """Which tokens are EOS depends on the matcher. All of them share the grammar."""
    grammar = Grammar.from_gbnf('root ::= ExcludeToken(0) "b" ExcludeToken(1)*')
    for _ in range(2):
        for eos in ((6,), (4, 6), (5,), (6,)):
            matcher = Matcher(grammar, WORDS, eos_token_ids=eos)
            assert allowed(matcher) == {1, 2, 3, 4, 5, 6}.difference(eos)
            assert allowed(matcher.fork()) == allowed(matcher)
            assert matcher.accept(2) and matcher.accept(1)
            assert allowed(matcher) == {0, 2, 3, 4, 5, 6}
            assert matcher.accept(eos[0]) and matcher.is_finished


def test_masks_for_eos_tokens_of_matchers_that_are_gone_are_dropped() -> None:
    names = {f"<|{token}|>": token for token in range(2, 13)}
    vocabulary = Vocabulary.from_tokens([b"a", b"b"] + [b""] * 12, eos_token_id=13, special_tokens=names)
    grammar = Grammar.from_gbnf('root ::= ExcludeToken(0) "b"')
    kept = Matcher(grammar, vocabulary, eos_token_ids=[5])
    for eos in itertools.combinations(range(2, 14), 2):
        assert allowed(kept) == {*range(1, 14)} - {5}
        assert allowed(Matcher(grammar, vocabulary, eos_token_ids=eos)) == {*range(1, 14)} - {*eos}
    assert grammar.stats()["unions"] <= 17  # of those of 67 sets of EOS tokens


def test_tokens_that_begin_rules() -> None:
    for loops in (True, False):
        option = f"loop_after_dispatch={str(loops).lower()}"
        text = f"root ::= TokenTagDispatch((3, a), (4, b), {option}, excludes=(5,))" + RULES
        grammar = Grammar.from_gbnf(text)
        matcher = Matcher(grammar, WORDS)
        free = {0, 1, 2, 3, 4, 6}
        assert allowed(matcher) == free
        assert matcher.accept(0) and matcher.accept(3) and allowed(matcher) == {2}
        assert matcher.accept(2) and allowed(matcher) == (free if loops else {6})
        assert Matcher(grammar, WORDS).validate([4, 2, 6]) == 1


# --- patterns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('"a.b"', ["a\nb", "axb"]),
        ('"a.b", flags=""', ["axb"]),
        ('"a.b", flags="su"', ["a\nb", "axb"]),
        ('"A.b", flags="i"', ["axb"]),
        (r'"\\w\\d"', ["k1"]),
        (r'"\\s"', ["\n"]),
        ('"k", flags="i"', ["K", "k"]),  # not the Kelvin sign
        (r'"^[\\u0061]\n?b$"', ["a\nb", "ab"]),
        ('"(?:x|\\"|\\\\\\\\)+"', ['"', "\\", "x"]),
        ('"(?:x|\\"|\\\\\\\\|\\n)+", json_string=true', ["x"]),
        ('"a(?=b).", json_string=false', ["ab"]),
    ],
)
def test_patterns(arguments: str, expected: list[str]) -> None:
    texts = ["a\nb", "axb", "k1", "é1", "k\u0661", "\n", "\u00a0", "K", "k", "\u212a", "ab", "ac", '"', "\\", "x", ""]
    assert accepted(f"root ::= Regex({arguments})", *texts) == expected


def test_patterns_see_only_their_own_text() -> None:
    assert accepted(r'root ::= "a" Regex("^b$|\\bc") "d"', "abd", "acd", "ad") == ["abd", "acd"]


def test_runs_of_chunks() -> None:
    text = 'root ::= "[" Substring("ab", "c", "ab") "]"'
    assert accepted(text, "[]", "[ab]", "[abc]", "[cab]", "[abcab]", "[b]", "[abab]", "[ca]") == [
        "[]",
        "[ab]",
        "[abc]",
        "[cab]",
        "[abcab]",
    ]
    assert accepted('root ::= Substring() "x"', "x", "") == ["x"]


# --- attributes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('root ::= x [a-z]*\nx[lazy] ::= [a-z]* "b" ', ["ab", "abab", "abb", "bb"]),
        ('root ::= x "b"\nx[lazy] ::= [a-z]* "b"', ["abb", "bb"]),
        ('root[max_chars=2] ::= [^"]*', ["", "ab", "bb", "éé"]),
        ('root ::= x\nx[max_chars=2, lazy] ::= [a-z]* "b"', ["ab"]),
        ('root[ max_chars = 0 ] ::= "a"*', [""]),
        ('root ::= x+\nx[max_chars=2] ::= "a" | "abab"', ["aaa"]),
    ],
)
def test_attributes_of_the_language(text: str, expected: list[str]) -> None:
    assert accepted(text, "", "ab", "abab", "abb", "bb", "éé", "aaa", "ééé") == expected


def test_attributes_beside_the_language() -> None:
    text = 'root ::= x y\nx[capture] ::= "a" x?\ny[capture="name", max_tokens=2, temperature=0.5] ::= "b"*'
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
    matcher = Matcher(Grammar.from_gbnf(text), vocabulary)
    assert matcher.accept(0) and matcher.temperature() == 0.5
    assert matcher.accept(1) and allowed(matcher) == {1, 2}
    assert matcher.accept(1) and allowed(matcher) == {2}
    assert matcher.accept(2)
    assert dict(matcher.captures()) == {"x": b"a", "name": b"bb"}


@pytest.mark.parametrize(
    ("written", "column", "message"),
    [
        ("[stop_capture]", 6, "the attribute `stop_capture` is not supported"),
        ("[lazy, lazy]", 6, "`lazy` is given twice"),
        ("[lazy=1]", 6, "`lazy` takes no value"),
        ("[max_chars]", 6, "`max_chars` takes a number"),
        ('[max_chars="2"]', 6, "`max_chars` takes a number"),
        ("[max_chars=1.5]", 6, "`max_chars` takes a whole number from 0"),
        ("[max_tokens=0]", 6, "`max_tokens` takes a whole number from 1"),
        (f"[max_tokens={'9' * 400}]", 6, "the number of `max_tokens` is too large"),
        (f"[temperature={'9' * 400}]", 6, "the number of `temperature` is too large"),
        ("[capture=1]", 6, "`capture` takes a name"),
        ('[capture=""]', 6, "`capture` takes a name"),
        ("[capture=x]", 14, "a number or a string is expected here"),
        ("[]", 6, "the name of an attribute is expected here"),
        ("[lazy capture]", 11, "`,` or `]` is expected here"),
    ],
)
def test_attributes_that_are_refused(written: str, column: int, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(f'root{written} ::= "a"*')
    assert (caught.value.line, caught.value.column) == (1, column), str(caught.value)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("attribute", ["lazy", "max_chars=2", "max_tokens=2", "temperature=1"])
def test_attributes_of_terminals_alone(attribute: str) -> None:
    with pytest.raises(GrammarError, match="needs a rule that is a regular expression") as caught:
        Grammar.from_gbnf(f'root ::= x\nx[{attribute}] ::= "(" x ")" | "a"')
    assert (caught.value.line, caught.value.column) == (2, 3)
