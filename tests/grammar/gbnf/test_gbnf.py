"""Grammars in llama.cpp's GBNF match what the slow twin, `gbnf_twin`, says about all short texts."""

from __future__ import annotations

import gc
import os
import pickle
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar.gbnf import terminals as gbnf_regular
from support.gbnf_twin import Expression, Twin
from support.sentences import BYTES, accepts, assert_bounded, strings

# --- each construct, on all short texts ------------------------------------------------------------------------------

CONSTRUCTS = {
    "a string": ('root ::= "ab"', "ab", 4),
    "an empty string": ('root ::= "" "a" ""', "ab", 3),
    "escapes in strings": (r'root ::= "\n" | "\r" | "\t" | "\\" | "\"" | "\[" | "\]" | "\-"', '\n\r\t\\"[]-n', 2),
    "numbers of characters": (r'root ::= "\x61" | "\u00e9" | "\U0001F600" | "\xe9a"', "aé😀", 3),
    "a string over two lines": ('root ::= "a\nb"', "a\nb", 3),
    "a comment sign in a string": ('root ::= "#a" # "b"', "#ab", 3),
    "a class": ("root ::= [a-b] [c]", "abcd", 3),
    "a negative class": ("root ::= [^a-b] [^c]", "abc\n", 3),
    "escapes in classes": (r"root ::= [\]\[\\\"\n\x62-\u0063] [^\]]", ']["\\\nbcd^', 2),
    "dashes in classes": (r"root ::= [-a] [a-] [a\-c] [--/]", "-abc./", 4),
    "carets in classes": (r"root ::= [a^] [^^]", "a^b", 3),
    "quotes and signs in classes": ('root ::= ["#(|] [^"#]', '"#(|a', 3),
    "any character": ("root ::= . .", "a\né", 3),
    "alternatives": ('root ::= "a" | "ab" | "b" "c"', "abc", 3),
    "an empty first alternative": ('root ::= | "a"', "ab", 3),
    "an empty middle alternative": ('root ::= "a" | | "b"', "ab", 3),
    "an empty last alternative": ('root ::= ("a" | "b" | ) "c"', "abc", 3),
    "an empty last alternative of the grammar": ('root ::= "a" |', "ab", 3),
    "an empty rule": ("root ::=", "ab", 2),
    "an empty group": ('root ::= "a" () "b" ()*', "ab", 3),
    "star, plus, option": ('root ::= "a"* "b"+ "c"?', "abc", 5),
    "operators repeat a whole string": ('root ::= "ab"+ "c"*', "abc", 5),
    "operators upon operators": ('root ::= "a"?+ "b"{2}{2} "c"{0}?', "abc", 6),
    "counts": ('root ::= "a"{2} "b"{1,} "c"{1,2} "d"{,1} "e"{0,0}', "abcd", 6),
    "blanks in counts": ('root ::= "a"{ 2 } "b"{ 1 , 2 }', "ab", 5),
    "groups": ('root ::= ("a" | "b" ("c" | "d"))+', "abcd", 4),
    "lines in groups": ('root ::= (\n "a" # one\n\n "b"\n | "c"\n)\n\n', "abc", 3),
    "lines behind signs": ('root ::=\n # a comment\n "a" |\n "b"', "ab", 3),
    "lines that begin with a bar": ('root ::= "a"\n # and\n  | "b"\n  |\n', "ab", 3),
    "carriage returns": ('root ::= x\r\nx ::= "a" |\r\n "b"\r\n', "ab", 3),
    "names": ('root ::= a-b Ab_1 1\na-b ::= "a"\nAb_1 ::= "b"\n1 ::= "c"', "abc", 4),
    "a rule is used twice": ('root ::= x x\nx ::= "a" | "b"', "ab", 4),
    "the last definition counts": ('root ::= x\nx ::= "a"\nx ::= "b"', "ab", 3),
    "right recursion": ('root ::= "a" root | "b"', "ab", 5),
    "optional right recursion": ("root ::= [a] ws [b]\nws ::= ([c] ws)?", "abc", 5),
    "two ways of right recursion": ('root ::= "a" root | "b" (root | "c" root)? | "c"', "abc", 5),
    "left recursion": ('root ::= root "a" | "b"', "ab", 5),
    "optional left recursion": ('root ::= (root ("a" | "b"))? "c"?', "abc", 4),
    "recursion at both ends": ('root ::= root root | "a"', "ab", 6),
    "recursion in the middle": ('root ::= "a" root "b" | ""', "ab", 6),
    "nothing but recursion beside a word": ('root ::= root | x | "a"\nx ::= x', "ab", 3),
    "hidden recursion": ('root ::= x root "a" | "b"\nx ::= | "c"', "abc", 4),
    "rules that name each other": ('root ::= "a" x | "c"\nx ::= "b" root', "abc", 5),
    "a counted recursive rule": ('root ::= x{2,3}\nx ::= "a" | "(" x ")"', "a()", 6),
    "a list of a recursive rule": ('root ::= x*\nx ::= "a" | "(" x ")"', "a()", 5),
    "neighbours of a recursive rule": ('root ::= "a" [b] x "b" "a"+\nx ::= "a" | "b" x "b"', "ab", 7),
    "a list in JSON": ('root ::= "[" ws (v ("," ws v)*)? "]" ws\nv ::= [0-1]+ ws | root\nws ::= ([ ] ws)?', "[], 1", 5),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
@pytest.mark.parametrize("max_size", [100, 1], ids=["", "all rules"])
def test_constructs(name: str, max_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each agrees with the twin, also if only strings and classes become terminals."""
    monkeypatch.setattr(gbnf_regular, "MAX_SIZE", max_size)
    text, alphabet, longest = CONSTRUCTS[name]
    grammar = Grammar.from_gbnf(text)
    twin = Twin.read(text)
    sentences = 0
    for tried in strings(alphabet, longest):
        expected = twin.matches(tried)
        sentences += expected
        assert accepts(grammar, tried) == expected, tried
    assert sentences, "the texts are too short to be sentences"


def test_the_twin_by_hand() -> None:
    """The twin itself is right about a few grammars, checked by hand."""
    twin = Twin.read('root ::= "[" ws (v ("," ws v)*)? "]"\nv ::= [0-9]{1,2} ws | root ws\nws ::= ([ \\t] ws)?')
    for sentence in ("[]", "[1]", "[ 12,3 , [[]] ]"):
        assert twin.matches(sentence)
    for other in ("", "[", "[123]", "[1,]", "[] "):
        assert not twin.matches(other)
    twin = Twin.read(r'root ::= root [^a-c\n] | "x"{2,3}')
    assert [text for text in strings("xad", 4) if twin.matches(text)] == [
        "xx", "xxx", "xxd", "xxxx", "xxxd", "xxdx", "xxdd"
    ]  # fmt: skip


def test_another_start_rule() -> None:
    grammar = Grammar.from_gbnf('root ::= "a" x\nx ::= "b"', start="x")
    assert accepts(grammar, "b")
    assert not accepts(grammar, "ab")
    assert [str(warning) for warning in grammar.warnings] == ["line 1, column 1: rule `root` is not reached from `x`"]


def test_characters_are_code_points_and_not_bytes() -> None:
    grammar = Grammar.from_gbnf(r'root ::= "\xff" [\x80-\xff] [^\x00-\x7f]')
    assert accepts(grammar, "ÿ\x80日")
    matcher = Matcher(grammar, BYTES)
    assert not matcher.accept(0xFF)


def test_special_tokens() -> None:
    grammar = Grammar.from_gbnf('root ::= <think> [a-z]* </think> <|end|>? "." ')
    tokens = [bytes([byte]) for byte in range(256)] + [b""] * 4
    special = {"<think>": 256, "</think>": 257, "<|end|>": 258}
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=259, special_tokens=special)
    for sentence in ([256, *b"abc", 257, *b".", 259], [256, 257, 258, *b".", 259]):
        assert Matcher(grammar, vocabulary).validate(sentence) == len(sentence)
    assert Matcher(grammar, vocabulary).validate([*b"<think>"]) == 0


def test_counts_beyond_2000_are_counts() -> None:
    """llama.cpp reads such counts as no bound at all."""
    grammar = Grammar.from_gbnf("root ::= [a-z]{1,3000}")
    assert accepts(grammar, "a" * 3000)
    assert not accepts(grammar, "a" * 3001)
    assert accepts(Grammar.from_gbnf('root ::= ("a" root? "b"){2500}'), "ab" * 2500)


# --- what it is ------------------------------------------------------------------------------------------------------


def test_it_is_known_by_its_text() -> None:
    text = 'root ::= x\nx ::= "a"\n'
    grammar = Grammar.from_gbnf(text)
    assert (grammar.kind, grammar.source, grammar.start, grammar.options) == ("gbnf", text, "root", "")
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar
    assert again.fingerprint == grammar.fingerprint != Grammar.from_gbnf(text, start="x").fingerprint
    assert accepts(again, "a")
    with pytest.raises(TypeError, match="text must be a str, not bytes"):
        Grammar.from_gbnf(text.encode())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="start must be a str"):
        Grammar.from_gbnf(text, start=1)  # type: ignore[arg-type]


def test_warnings() -> None:
    grammar = Grammar.from_gbnf('root ::= x | y "c"\nx ::= "a"\nx ::= "b"\ny ::= "(" y ")"\nz ::= "d"\n')
    assert [str(warning) for warning in grammar.warnings] == [
        "line 2, column 1: rule `x` is defined again in line 3; the last definition counts",
        "line 5, column 1: rule `z` is not reached from `root`",
        "line 4, column 1: rule `y` can never come to an end; the alternatives that use it were dropped",
    ]


def test_posix_classes() -> None:
    """A class that is read as its characters gives a warning; one that cannot end where it seems to is an error."""
    grammar = Grammar.from_gbnf('root ::= [:upper:] | ("[[:digit:]]" [^a[:alpha:]*)?')
    assert [(warning.column, warning.message) for warning in grammar.warnings] == [
        (10, "`[:upper:]` is read as single characters, not as a class; write `A-Z` between brackets"),
        (40, "`[:alpha:]` is read as single characters, not as a class; write `a-zA-Z` between brackets"),
    ]
    with pytest.raises(GrammarError, match="unexpected character ']'") as caught:
        Grammar.from_gbnf("root ::= [[:upper:]]")
    assert caught.value.hint == "there are no POSIX classes: write `A-Z` between brackets"


def test_terminals_are_found_and_named() -> None:
    """A string is one terminal, blanks included, and is not split into characters."""
    grammar = Grammar.from_gbnf(
        'root ::= "[" ws (item ("," ws item)*)? "]"\nitem ::= string | root\n'
        'string ::= "\\"" ([^"\\\\] | "\\\\" escape)* "\\"" ws\nescape ::= [nrt] | "u" hex{4}\n'
        "hex ::= [0-9a-f]\nws ::= ([ \\t\\n] ws)?\n"
    )
    matcher = Matcher(grammar, BYTES)
    assert list(matcher.expected()) == ['"["']
    matcher.accept(ord("["))
    assert sorted(matcher.expected()) == ['"["', '"]"', "string", "ws"]
    nested = Grammar.from_gbnf('root ::= ("a" | [b])* (("c")) x | "d"\nx ::= "(" x ")" | "e" # "e"')
    assert list(Matcher(nested, BYTES).expected()) == ['("a" | [b])* (("c"))', '"d"']


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS = [
    ("", None, None, "the grammar has no rules"),
    ("# nothing\n\n", None, None, "the grammar has no rules"),
    ('start ::= "a"', None, None, "the start rule `root` is not defined"),
    ('root ::= "a" x', 1, 14, "rule `x` is not defined"),
    ('root ::= "a"\nitem ::= itm', 2, 10, "rule `itm` is not defined"),
    ('root ::= ("a" | (((x))))', 1, 20, "rule `x` is not defined"),
    ('root = "a"', 1, 6, "`::=` is expected here"),
    ('root : "a"', 1, 6, "`::=` is expected here"),
    ('"b"\nroot ::= "a"', 1, 1, "a rule is expected here"),
    ('x "b"\nroot ::= "a"', 1, 1, "`x` begins a line, but no `::=` follows it"),
    ('root ::= "a"\n  x "b"', 2, 3, "rule `x` is not defined"),
    ('root ::= "a"\n  x : "b"', 2, 5, "`::=` is expected here"),
    ('root ::= "a" |\nx ::= "b"', 2, 3, "a rule begins inside another one"),
    ('root ::=\nx ::= "b"', 2, 3, "a rule begins inside another one"),
    ('root ::= ("a"\nx ::= "b"', 1, 10, "a rule begins inside this group, which is not closed"),
    ('<root> ::= "a"', 1, 1, "a rule is expected here, not '<'"),
    ('| "a"', 1, 1, "there is an alternative before the first rule"),
    ('root ::= ("a" | ("b")', 1, 10, "`(` is never closed"),
    ('root ::= "a")', 1, 13, "`)` closes no open group"),
    ("root ::= * ", 1, 10, "there is nothing before `*` to repeat"),
    ('root ::= "a" | + ', 1, 16, "there is nothing before `+` to repeat"),
    ('root ::= ({2} "a")', 1, 11, "there is nothing before `{` to repeat"),
    ('root ::= "a"{}', 1, 14, "a number is expected here"),
    ('root ::= "a"{,}', 1, 13, "`{,}` has no count"),
    ('root ::= "a"{1', 1, 15, "`}` is expected here"),
    ('root ::= "a"{1;2}', 1, 15, "`}` is expected here"),
    ('root ::= "a"{3,2}', 1, 13, "cannot repeat from 3 to 2 times"),
    ('root ::= "a"{1,2147483648}', 1, 13, "a count is at most 2147483647"),
    ('root ::= "a"{' + "9" * 100_000 + "}", 1, 13, "a count is at most 2147483647"),
    ('root ::= "abc', 1, 10, "this string does not end"),
    (r'root ::= "abc\q"', 1, 14, r"unknown escape \q"),
    ('root ::= "abc\\', 1, 14, "the text ends in an escape"),
    (r'root ::= "\xg"', 1, 11, r"\x needs 2 hexadecimal digits"),
    (r'root ::= "\u12g4"', 1, 11, r"\u needs 4 hexadecimal digits"),
    (r'root ::= "\U00110000"', 1, 11, r"there is no character \U00110000"),
    (r'root ::= "\ud800"', 1, 11, "a surrogate is not a character"),
    ('root ::= "\ud800"', 1, 11, "a surrogate is not a character"),
    ('root ::= "\0"', 1, 11, "the text has a NUL character"),
    ('root ::= "a"\0', 1, 13, "unexpected character '\\x00'"),
    ("root ::= [abc", 1, 10, "this class of characters does not end"),
    ("root ::= [a-", 1, 10, "this class of characters does not end"),
    ("root ::= []", 1, 10, "this class of characters is empty"),
    ("root ::= [az-a]", 1, 12, "the range z-a is empty"),
    (r"root ::= [\d]", 1, 11, r"unknown escape \d"),
    ("root ::= 'a'", 1, 10, 'unexpected character "\'"'),
    ("root ::= /a/", 1, 10, "unexpected character '/'"),
    ("root ::= a, b", 1, 11, "unexpected character ','"),
    ("root ::= é", 1, 10, "unexpected character 'é'"),
    ("root ::= < ", 1, 10, "a token is expected here"),
    ("root ::= !x", 1, 11, "a token is expected here"),
    ('root ::= "a" root', 1, 1, "the grammar has no sentence: every alternative of `root` needs `root` again"),
    (r"root ::= [^\x00-\U0010ffff]", 1, 1, "the grammar has no sentence"),
]


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(GrammarError, match="a rule is expected here") as caught:
        Grammar.from_gbnf('\ufeffroot ::= "a"')
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert "utf-8-sig" in (caught.value.hint or "")


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS, ids=range(len(ERRORS)))
def test_errors(text: str, line: int | None, column: int | None, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert caught.value.message.startswith(message)
    if line is not None:
        shown = str(caught.value).splitlines()
        assert shown[2].strip() == "^"
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def places(text: str) -> list[tuple[int | None, int | None]]:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    return [(error.line, error.column) for error in caught.value.errors]


def test_all_undefined_names_are_reported_at_once() -> None:
    assert places('root ::= a b c\nb ::= d "x" (e | a)\nc ::= "c"') == [(1, 10), (2, 7), (2, 14), (2, 18)]
    assert len(places("root ::= " + " ".join(f"x{index}" for index in range(1000)))) == 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('root ::= "a" / b\nb ::= [a-z]\nc ::= "x" )', [(1, 14), (3, 11)]),
        ('root ::= ("a"\nb ::= (c\nc ::= "\\q"', [(1, 10), (2, 7), (3, 8)]),
        ('root ::= "a\nb ::= [a-z\nc ::= d |', [(1, 10), (2, 7)]),  # a string and a class that do not end
        ('root ::= "a"\n"b"\nc = "c"\nd ::= *', [(3, 3), (4, 7)]),  # from the next line that begins like a rule
        ('root ::= "a" b ::= "c"\n  d ::= **', [(1, 16), (2, 9)]),
    ],
)
def test_all_syntax_errors_are_reported_at_once(text: str, expected: list[tuple[int, int]]) -> None:
    assert places(text) == expected
    # Each of them is the first error of the text that begins at its rule.
    lines = text.split("\n")
    for line, column in expected:
        assert places("\n" * (line - 1) + "\n".join(lines[line - 1 :]))[0] == (line, column)


def test_the_search_for_errors_takes_time_linear_in_the_text() -> None:
    """Each class is read up to the end of the text; so only some are."""
    text = "a ::= [b\n" * 99 + "b" * 100_000
    began = time.monotonic()
    found = places(text)
    assert 1 < len(found) < 10 and found == sorted(found)
    assert time.monotonic() - began < 20


def test_names_are_not_checked_in_a_malformed_text() -> None:
    """The rules that cannot be read hide the names that they define."""
    assert places('root ::= a\na ::= "x')[0] == (2, 7)
    assert len(places('root ::= a\na ::= "x')) == 1


def test_an_error_shows_the_place() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf('root ::= item+\nitem ::= "- " [^\\n]+ "\\n\nlist ::= itme\n')
    assert str(caught.value) == (
        'line 2, column 22: this string does not end\n    item ::= "- " [^\\n]+ "\\n\n'
        '                         ^\nhint: write \\" for a quote in it'
    )


# --- grammars that Hypothesis makes ----------------------------------------------------------------------------------

LEAVES: list[tuple[str, Expression]] = [
    ('"a"', ("text", "a")),
    ('"ab"', ("text", "ab")),
    ('""', ("text", "")),
    (r'"\x62"', ("text", "b")),
    ("[ab]", ("class", False, frozenset({("a", "b")}))),
    ("[^a]", ("class", True, frozenset({("a", "a")}))),
    (r"[a-\u0062]", ("class", False, frozenset({("a", "b")}))),
    (".", ("any",)),
    ("()", ("sequence", ())),
]
OPERATORS: list[tuple[str, int, int | None]] = [
    ("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,}", 1, None), ("{0,2}", 0, 2), ("{,3}", 0, 3),
]  # fmt: skip
NAMES = ["root", "x", "y-y"]


def expression(rng: random.Random, depth: int) -> tuple[str, Expression]:
    """Return an expression as text that can stand beside others, and as the twin's tree."""
    roll = rng.randrange(10) if depth else 0
    if roll < 3:
        if rng.randrange(3) == 0:
            name = rng.choice(NAMES)
            return name, ("rule", name)
        return rng.choice(LEAVES)
    if roll < 5:
        body, tree = expression(rng, depth - 1)
        operator, least, most = rng.choice(OPERATORS)
        return body + rng.choice(["", " "]) + operator, ("repeat", tree, least, most)
    if roll < 8:
        parts = [expression(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        blank = rng.choice([" ", "\n", "  # x\n "])
        return f"({blank.join(part for part, _ in parts)})", ("sequence", tuple(tree for _, tree in parts))
    alternatives = [expression(rng, depth - 1) if rng.randrange(4) else ("", ("sequence", ())) for _ in range(2)]
    return "(" + rng.choice(["|", " |\n"]).join(part for part, _ in alternatives) + ")", (
        "choice", tuple(tree for _, tree in alternatives)
    )  # fmt: skip


@settings(max_examples=300)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 4, 100]))
def test_made_grammars(rng: random.Random, max_size: int) -> None:
    rules = {}
    lines = []
    for name in NAMES:
        alternatives = [expression(rng, 2) for _ in range(rng.randint(1, 2))]
        lines.append(f"{name} ::= " + " | ".join(part for part, _ in alternatives) + "\n")
        rules[name] = ("choice", tuple(tree for _, tree in alternatives))
    text = "".join(lines)
    twin = Twin(rules)
    tried = list(strings("ab", 4))
    expected = [text for text in tried if twin.matches(text)]
    refused = ""
    before = gbnf_regular.MAX_SIZE
    gbnf_regular.MAX_SIZE = max_size
    try:
        grammar = Grammar.from_gbnf(text)
    except GrammarError as error:
        refused = error.message
    finally:
        gbnf_regular.MAX_SIZE = before
    if refused:
        assert "no sentence" in refused
        assert expected == []
        return
    assert [text for text in tried if accepts(grammar, text)] == expected, text
    assert Twin.read(text).matches("ab") == ("ab" in expected), "the twin reads what it is printed as"


# --- hostile ---------------------------------------------------------------------------------------------------------

NESTED = 100_000
HOSTILE = {
    "parentheses": "root ::= " + "(" * NESTED + '"a"' + ")" * NESTED,
    "open parentheses": "root ::= " + "(" * NESTED,
    "nested repetitions": "root ::= " + "(" * NESTED + '"a"' + ")*" * NESTED,
    "nested alternatives": "root ::= " + '("a"|' * NESTED + '"b"' + ")" * NESTED,
    "operators": 'root ::= "a"' + "?" * NESTED,
    "counts of counts": 'root ::= "a"' + "{1000000000}" * 50,
    "alternatives": "root ::= " + " | ".join(['"a"', '"ab"'] * NESTED),
    "a chain of rules": "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(5_000)) + 'r5000 ::= "a"\n',
    "a chain of right recursions": "".join(f'r{i} ::= ("a" r{i + 1})?\n' for i in range(5_000)) + 'r5000 ::= "a"\n',
    "exponential alternatives": 'root ::= ("a" | "a" "a" | "aa")* "b"\n' + "x ::= (((root | root)* | root)* | root)*",
    "quotes": 'root ::= "' * NESTED,
    "brackets": "root ::= [" * NESTED,
    "garbage": "\x01\xff{[(<" * 1_000_000,
    "bars": "root ::= " + "|" * 1_000_000,
    "lines": "\n" * 3_000_000 + 'root ::= "a"' + "\n#" * 2_000_000,
    "a long string": 'root ::= "' + "a" * 400_000 + '"',
    "a long class": "root ::= [" + "a-zA-Z0-9é\\n" * 300_000 + "]",
    "surrogates": "root ::= " + "[\ud800-\udfff]" * 1000,
    "NUL": "\0" * 1_000_000,
    "too long": " " * ((1 << 23) + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    """Each loads, or is refused with a typed error, within seconds."""
    assert_bounded(lambda: Grammar.from_gbnf(HOSTILE[name].replace("r0 ::=", "root ::=")))


def test_time_is_linear_in_the_text() -> None:
    def seconds(rules: int) -> float:
        text = "root ::= r0\n" + "".join(
            f'r{i} ::= "a" ([b-y] | "z" r{(i * 7 + 1) % rules})* "c"\n' for i in range(rules)
        )
        times = []
        gc.disable()  # it would visit all objects again and again
        try:
            for _ in range(3):
                began = time.process_time()
                Grammar.from_gbnf(text)
                times.append(time.process_time() - began)
        finally:
            gc.enable()
        return min(times)

    seconds(100)
    assert seconds(16_000) < 8 * 4 * seconds(2_000)


# --- the grammars of llama.cpp ---------------------------------------------------------------------------------------

FOLDER = os.environ.get("EARLEYMASK_GBNF_FOLDER", "")

SAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "arithmetic.gbnf": (
        ["a=1\n", "(a+2)*b1=c\n1 -2 /3 = x \n", "x=((y))\n"],
        ["", "a=1", "a=\n", "A=1\n", "a b=c\n", "(a=1\n"],
    ),
    "c.gbnf": (
        [
            "",
            "int main(){}",
            "int add(int a){return a;}float f(char x){int y = 1+2*3;y = f(x, -1);return ( y );}",
            "char g(){while(a<=b){x = 1;}if(a==b){}else{y (1, 2);}// done\n/* a * b */}",
            "int m(){for(i = 0; i<9; i = i+1){}}",
        ],
        ["int main()", "int main(){return }", "int (){}", "int a(){x=1;}", "int m(){/* a }"],
    ),
    "chess.gbnf": (
        ["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 Nf6\n2. c4 e6\n13. O-O O-O-O+\n9. exd5 bxa1=Q#\n"],
        ["1. e4 e5\n", "1. e4\n2. e5 e6\n", "1. e9 e5\n2. a3 a4\n", "2. e4 e5\n3. a3 a4\n"],
    ),
    "english.gbnf": (["Hello, world!", "a\tb\nc", "[\\]^_`{|}~"], ["", " a", "a  b", "naïve", "a "]),
    "japanese.gbnf": (["こんにちは", "日本語 テスト、〜\n漢字"], ["", "hello", "日本 ", "日本a"]),
    "json.gbnf": (
        ["{}", '{"a": 1}', '{"a": [true, {"b": null}, -1.5e+1],\n  "c": "\\u00e9\\n"} ', '{"":{}}\n\t'],
        ["", "[]", "{", '{"a": 01}', '{"a": 1,}', '{"a": "\n"}', '{"a": +1}', "{}{}", "{\n\n}"],
    ),
    "json_arr.gbnf": (
        ["[\n]", '[\n1,\n{"a": [1, 2]}]', '[\n "x",\n true]'],
        ["", "[]", "[1]", "[\n1, 2]", "[\n1,\n]", "[\n]\n"],
    ),
    "list.gbnf": (["- a\n", "- one\n- two\n"], ["", "- \n", "a\n", "- a", "- a\u2028\n", "- a\n\n"]),
}


@pytest.mark.skipif(not FOLDER, reason="EARLEYMASK_GBNF_FOLDER names no folder with llama.cpp's grammars/*.gbnf")
def test_the_grammars_of_llama_cpp() -> None:
    files = sorted(Path(FOLDER).glob("*.gbnf"))
    assert {file.name for file in files} >= SAMPLES.keys(), "not all of llama.cpp's grammars are there"
    for file in files:
        text = file.read_text(encoding="utf-8")
        grammar = Grammar.from_gbnf(text)
        assert grammar.warnings == ()
        twin = Twin.read(text)
        sentences, others = SAMPLES.get(file.name, ([], []))
        for sentence in sentences:
            assert accepts(grammar, sentence), (file.name, sentence)
        for other in others:
            assert not accepts(grammar, other), (file.name, other)
        rng = random.Random(1)
        for sentence in sentences:  # with small changes, which the twin judges
            for _ in range(20):
                at = rng.randrange(len(sentence) + 1)
                changed = sentence[:at] + rng.choice(["", " ", "a", "1", '"', "\n"]) + sentence[at + rng.randrange(2) :]
                assert accepts(grammar, changed) == twin.matches(changed), (file.name, changed)
