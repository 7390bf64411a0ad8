"""The language of ECMA-262's patterns against `regress`, which parses them with the flag `u`."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.grammar.regex import ecma
from earleymask.grammar.regex.ast import EcmaPattern
from earleymask.grammar.regex.lower import lower
from earleymask.grammar.regex.python import MAX_NESTING
from support.mask_paths import agreed, written_by_masks

VALID = [
    "", "a", "|", "^$", "a|", r"(a)", r"(?:a|b)*?", r"(?=a)b", r"(?!a)", r"(?<=a+)b", r"(?<!a)b", r"[]", r"[^]",
    r"[^\]]+", r"\d\D\s\S\w\W\b\B", r"\cA\cz\f\n\r\t\v", r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/",
    r"\x41\u0041\u{1F600}\u{0010FFFF}",
    r"\uD83D\uDE00\uD83D", r"\p{L}\P{Lu}\p{Script=Greek}\p{scx=Grek}\p{gc=Nd}\p{ASCII}", r"[a-z-_]", r"[-a][a-][\w-]",
    r"[\-\b\cA\x41\u0041\u{41}\p{L}]", r"[A-Za-zÀ-ÖØ-öø-ÿ]", r"[\x00-\x1f\u0400-\u04ff\u4e00-\u9fa5一-龥]",
    r"a{2}b{2,}c{2,3}d{10,99}e{5,10}f{100,200}?", r"(?<year>\d{4})", r"(?<n>a)(b\k<n>)+", "\n", "é😀",
    "(" * MAX_NESTING + "a)*" * MAX_NESTING, r"a.b", r"[.*+?()|{}^$/]", r"^\S(|(.|\n)*\S)$",
]  # fmt: skip
INVALID = [
    "(", ")", "a(", "(a))", "[", "[a", "]", "{", "}", "a**", "*", "a{", "a{1", "a{,2}", "{2}", "a{3,2}", "a{20,10}",
    "a{1000,10}", "^*", r"\b+", "(?=a)*", "(?<=a)?", "(?", "(?a)", "(?P<n>a)", "(?P=n)", "(?#a)", "(?i)a", "(?<n",
    "(?<1>a)",     "(?<n>a)(?<n>b)", r"\k<n>", r"(?<n>a)\k<m>", r"\k", "\\", r"\a", r"\Z", r"\_", r"\-",
    r"\e", r"\x4", r"\u004",
    r"\u{110000}", r"\u{}", r"\c", r"\c1", r"\p{}", r"\p{Lx}", r"\p{Greek}", r"\p", r"\1", r"\01", "[z-a]", r"[\w-z]",
    r"[a-\d]", r"[\_]", r"[\B]", r"[\x1f-\x00]", r"[\u04ff-\u0400]", "[ÿ-À]", "[龥-一]", r"[\uD83D\uDE00-\uDFFF]",
]  # fmt: skip
NARROWED = [
    r"(?<a>x)(?<b>y)",
    r"(a)\1",
    r"\0",
    r"(?<ab>x)\k<ab>",
    r"\k<n>(?<n>a)",
    "a{007}",
    r"[\n-a]",
    "(" * 101 + ")" * 101,
]
"""Valid patterns that are not in the language."""


@cache
def patterns() -> tuple[Regexes, int]:
    regexes = Regexes()
    return regexes, lower(EcmaPattern(), regexes)


def is_pattern(text: str) -> bool:
    regexes, node = patterns()
    return regexes.matches(node, text.encode())


def is_valid(text: str) -> bool:
    regress = pytest.importorskip("regress")
    try:
        regress.Regex(text, "u")
    except regress.RegressError:
        return False
    return True


def test_known_patterns() -> None:
    assert [text for text in VALID if not is_pattern(text)] == []
    assert [text for text in INVALID + NARROWED if is_pattern(text)] == []


FRAGMENTS = [
    *"ab19,-^$.*+?|()[]{}/_é一😀", "\n", r"\d", r"\S", r"\-", r"\\", r"\]", r"\.", r"\/", r"\n", r"\cA", r"\c1",
    r"\x41", r"\x4", r"\u0041", r"\u{1F600}", r"\u{110000}", r"\p{L}", r"\p{Lx}", r"\a", r"\_", r"\k",
    "(?:", "(?=", "(?!",
    "(?<=", "(?<!", "(?<n>", r"\k<n>", "{2}", "{2,}", "{2,3}", "{3,2}", "{10,12}", "{12,10}", "[^",
    "[a-z]", "[z-a]", "[]",
    "[^]", "a-z", "]", "]", ")", ")", "(a)", "(?:b|c)+", r"\x00-\x1f", r"\u0400-\u04ff",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_texts_in_the_language_are_patterns(seed: int) -> None:
    rng = Random(f"patterns {seed}")
    n_accepted = 0
    for n in range(4000):
        text = "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 8)))
        if n % 4 == 0:
            text = f"[{text}]"
        if is_pattern(text):
            n_accepted += 1
            assert is_valid(text), text
            if r"\k" not in text:
                ecma.parse(text)
    assert n_accepted > 300


@pytest.mark.parametrize("seed", range(3))
def test_random_patterns_are_in_the_language(seed: int) -> None:
    # Without hyphens, names and references, which are narrowed; regress repeats \b, which ECMA-262 does not.
    fragments = [one for one in FRAGMENTS if one not in ("-", "(?<n>", r"\k<n>", r"\k")]
    rng = Random(f"all patterns {seed}")
    for _ in range(4000):
        text = "".join(rng.choices(fragments, k=rng.randint(1, 8)))
        assert is_pattern(text) == is_valid(text), text


def test_ranges() -> None:
    rng = Random(3)
    codes = [*range(32, 256), 0x100, 0x2FF, 0x400, 0xFFFD, 0x10000, 0x10FFFF]
    shown = [chr(code) for code in codes if chr(code) not in "-^\\]"]
    for first in shown:
        for last in rng.sample(shown, 8):
            is_exact = first <= "ÿ" or last < first
            assert not is_exact or is_pattern(f"[{first}-{last}]") == (first <= last), (first, last)
    for first in range(256):
        for last in rng.sample(range(256), 12):
            for mark in ("x", "u00"):
                text = rf"[\{mark}{first:02x}-\{mark}{last:02X}]"
                assert is_pattern(text) == (first <= last), text
    for _ in range(3000):
        first, last = rng.randrange(0x10000), rng.randrange(0x10000)
        text = rf"[\u{first:04X}-\u{last:04x}]"
        has_surrogate = any(0xD8 <= code >> 8 < 0xE0 for code in (first, last))
        assert is_pattern(text) == (first <= last and not has_surrogate) or first >> 8 == last >> 8, text
        assert first <= last or not is_pattern(text)


def test_counts() -> None:
    for low in range(130):
        for high in range(130):
            is_narrowed = low >= 100 and high >= 100
            assert is_pattern(f"a{{{low},{high}}}") == (low <= high and not is_narrowed), (low, high)


TOKENS = [bytes([byte]) for byte in range(256)]
TOKENS += [
    b"(?:",
    b")*",
    b"[a-z]+",
    b"\\\\d",
    b"\\\\",
    b"[^",
    b"]+",
    b"{2,",
    b"}",
    b"^(",
    b'$"',
    b"(?<",
    b"n>",
    b'\\"',
    b"))",
    b"\\u005c",
]
WORDS = Vocabulary.from_tokens([*TOKENS, b""], eos_token_id=len(TOKENS))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "regex"},
        {"type": "string", "format": "regex", "pattern": "^\\^.*\\$$", "minLength": 4, "maxLength": 30},
        {"type": "object", "propertyNames": {"format": "regex"}, "additionalProperties": False},
    ],
    ids=json.dumps,
)
def test_what_masks_write_is_valid(schema: dict[str, object]) -> None:
    grammar = Grammar.from_json_schema(schema)
    rng = Random(1)
    likely = [number for number, token in enumerate(TOKENS) if number >= 256 or chr(number) in '()[]\\{}|?*+^$-az19",']

    def choose(mask: npt.NDArray[np.bool_], n: int, written: bytes) -> int:
        closing = [number for number in (len(TOKENS), 34, 41, 93, 125, 97, 36, 62) if mask[number]]
        if n > 12 and closing:
            return closing[0] if rng.random() < 0.8 else rng.choice(closing)
        return int(rng.choice([one for one in likely if mask[one]] or mask.nonzero()[0].tolist()))

    texts = [written_by_masks(Matcher(grammar, WORDS), TOKENS, 120, choose) for _ in range(4)]
    ended = [text for text in texts if text is not None]
    assert ended
    for text in ended:
        document = json.loads(text)
        assert all(map(is_valid, document if isinstance(document, dict) else [document])), text


def test_groups_are_nested_as_deep_as_they_can_be_closed() -> None:
    matcher = Matcher(Grammar.from_json_schema({"type": "string", "format": "regex"}), WORDS)
    assert all(map(matcher.accept, b'"' + b"(" * MAX_NESTING))
    mask = agreed(matcher)
    assert mask[ord("a")] and mask[ord(")")] and not mask[ord("(")] and not mask[ord('"')]
    assert all(map(matcher.accept, b"a" + b")" * MAX_NESTING + b'"')) and matcher.accept(len(TOKENS))


def test_other_keywords_beside_it() -> None:
    def accepts(schema: object, text: str) -> bool:
        data = json.dumps(text).encode()
        return Matcher(Grammar.from_json_schema(schema), Vocabulary.bytes()).validate([*data, 256]) == len(data) + 1

    both = {"format": "regex", "pattern": r"^\^.*\$$", "minLength": 4}
    assert (
        accepts(both, "^ab$") and not accepts(both, "^a$") and not accepts(both, "^a($") and not accepts(both, "ab()")
    )
    listed = {"format": "regex", "enum": ["(a)", "(a", "[z-a]"]}
    assert accepts(listed, "(a)") and not accepts(listed, "(a")
    for schema in ({"not": {"format": "regex"}}, {"oneOf": [{"format": "regex"}, {"maxLength": 3}]}):
        with pytest.raises(
            GrammarError, match="it may stand under a negation, and of format 'regex' groups with names"
        ):
            Grammar.from_json_schema(schema)
