"""XGrammar, where it is installed, gives the same masks for its EBNF, bit for bit, along random walks.

The vocabulary has no part of a character beyond ASCII: XGrammar's free text may be any bytes, and ours is UTF-8.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support.mask_paths import agreed
from support.schema_grammars import accepts
from support.vocabularies import load

xgrammar = pytest.importorskip("xgrammar")
torch = pytest.importorskip("torch")

WORDS = """é ü 😀 \u2028 ｜ ▁ {" ": "} ", true false null <tool_call> </tool_call> <t> < </ ab abc aa bb xyz name "name"
12 0.5 \\n \\u00 }} ] [[ <| |> function= > <function= parameter argument é1 string get_weather city add"""
TOKENS = [bytes([code]) for code in range(128)] + [word.encode() for word in (*WORDS.split(), '": ', "  ", "\n\n")]
EOS = len(TOKENS)
TAG = TOKENS.index(b"<t>")
VOCABULARY = Vocabulary.from_tokens([*TOKENS, b""], eos_token_id=EOS)
N_STEPS = 60


@pytest.fixture(scope="module")
def compiler() -> Any:
    info = xgrammar.TokenizerInfo([*TOKENS, b"</s>"], stop_token_ids=[EOS])
    return xgrammar.GrammarCompiler(info, cache_enabled=False)


def mask_of(matcher: Any, n_ids: int = EOS + 1) -> np.ndarray:
    """Return XGrammar's mask as an array of bool, one for each id."""
    words = torch.full((1, (n_ids + 31) // 32), -1, dtype=torch.int32)
    matcher.fill_next_token_bitmask(words)
    return np.unpackbits(words.numpy().view(np.uint8), bitorder="little")[:n_ids].astype(bool)


def assert_same_masks(compiler: Any, text: str, n_walks: int, given: Any = None) -> None:
    """Walk through both engines with the same random tokens. `given` is the grammar of XGrammar that has printed the
    text, if one has: reading that again would be no test of what it prints."""
    compiled = compiler.compile_grammar(given or xgrammar.Grammar.from_ebnf(text))
    grammar = Grammar.from_gbnf(text)
    for walk in range(n_walks):
        rng = Random(walk)
        theirs, ours = xgrammar.GrammarMatcher(compiled), Matcher(grammar, VOCABULARY)
        path = b""
        for _ in range(N_STEPS):
            expected = mask_of(theirs)
            found = agreed(ours)
            differing = [[*TOKENS, b"EOS"][i] for i in np.flatnonzero(expected != found)]
            assert not differing, (text, path, differing)
            allowed = np.flatnonzero(found).tolist()
            if allowed == [EOS] or (EOS in allowed and rng.random() < 0.05):
                break
            allowed = [token for token in allowed if token != EOS]
            words = [token for token in allowed if token >= 128 or not chr(token).isalnum()]
            token = rng.choice(words if words and rng.random() < 0.5 else allowed)
            path += TOKENS[token]
            assert theirs.accept_token(token) and ours.accept(token)


RULES = '\na ::= "1"\nb ::= "2"\nc ::= "x"* | "(" c ")"'

WRITTEN = [
    r'root ::= "\0\a\b\e\f\v\'\?\/" | [\^\$\.\*] | "\x4"',
    "root ::= [^] [^]",
    'root ::= "a"{0,-1} "b"{2, 3} ("ab" | "b"){1, -1}',
    'root ::= a.b ("c" | d)\na.b ::= "x"\n  "y"\nd ::= "q" (="c" a.b)',
    'root ::= x [bc]\nx ::= "a"+ (="b")',
    'root ::= TagDispatch(("<t>", a), ("</", c))',
    'root ::= TagDispatch(("<t>", a), loop_after_dispatch=false)',
    'root ::= TagDispatch(("ab", a), ("b", b))',
    'root ::= TagDispatch(("ab", a), ("abc", b), excludes=("xyz", "1x"))',
    'root ::= TagDispatch(("ab", a), ("ab", b))',
    'root ::= TagDispatch(("<tool_call>", a), ("<t>", b), excludes=("xy", "</"))',
    'root ::= "{" TagDispatch(("<t>", c)) "}"',
    'root ::= TagDispatch(excludes=("ab",)) "ab" TagDispatch()',
    'root ::= (TagDispatch(("é", c), loop_after_dispatch=false) "\\n"){1,3}',
    'root ::= Regex("a.b|[0-9]+\\\\s\\\\w") Substring("ab", "c", "d")?',
    'root ::= Regex("a.[^b]k", flags="i") | Regex("\\\\D\\\\S\\\\W", flags="s")',
    'root ::= "\\"" Regex("^.*[^a]+$", json_string=true) "\\""',
    'root[max_chars=3] ::= [^"]*',
    'root ::= x "b"\nx[lazy] ::= [a-z]* "b" | "xyz"',
    'root ::= x "b"\nx[max_tokens=2] ::= "a"*',
    'root ::= x "b"\nx[max_tokens=3] ::= TagDispatch(excludes=("b",))',
    f"root ::= Token(97, 98) TokenTagDispatch(({TAG}, c), excludes=(4, 5))",
    f"root ::= TokenTagDispatch(({TAG}, a), (97, b), loop_after_dispatch=false)",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_people_write(text: str, compiler: Any) -> None:
    assert_same_masks(compiler, text + RULES, 12)


def test_any_token_but_some(compiler: Any) -> None:
    """XGrammar 0.2.9 takes EOS for one of them where the text may end after it."""
    text = "root ::= ExcludeToken(97, 99)"
    expected = mask_of(xgrammar.GrammarMatcher(compiler.compile_grammar(xgrammar.Grammar.from_ebnf(text))))
    found = agreed(Matcher(Grammar.from_gbnf(text), VOCABULARY))
    assert (expected[:EOS] == found[:EOS]).all() and not found[EOS] and not found[97] and found[98]
    release = tuple(int(part) for part in version("xgrammar").split(".")[:3])
    assert expected[EOS] == (release >= (0, 2, 9))


SCHEMAS: list[Any] = [
    True,
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 1},
    {"type": "object", "patternProperties": {"^x-": {"type": "null"}}},
    {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 4},
    {"type": "array", "prefixItems": [{"const": "é1"}, {"enum": ["it's", "\\", None]}], "items": False},
    {"type": "string", "minLength": 2, "maxLength": 5},
    {"type": "string", "pattern": "^[a-z]+\\d{2,3}(\\.\\w+)*$"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uri"},
    {"type": "integer", "minimum": -3, "maximum": 1200},
    {"anyOf": [{"type": "string", "format": "uuid"}, {"$ref": "#/$defs/list"}], "$defs": {"list": {"type": "array"}}},
]


@pytest.mark.parametrize("at", range(len(SCHEMAS)))
def test_schemas_that_it_prints(at: int, compiler: Any) -> None:
    schema = json.dumps(SCHEMAS[at])
    for options in ({}, {"any_whitespace": False, "separators": (",", ":")}, {"strict_mode": False, "any_order": True}):
        given = xgrammar.Grammar.from_json_schema(schema, **options)
        assert_same_masks(compiler, str(given), 4, given)


@pytest.mark.parametrize(
    "pattern",
    [r"[0-9]+(\.[0-9]+)?", r"a.b|\d\s[^\w]", "(?:ab|é1)*?c{2,}", r"[^\n'-]{1,3}", "[^]", "", r"\x41\u00e9\u{1F600}é1"],
)
def test_patterns_that_it_prints(pattern: str, compiler: Any) -> None:
    given = xgrammar.Grammar.from_regex(pattern)
    assert_same_masks(compiler, str(given), 6, given)


LARK = [
    'start: (WORD " ")* call\nWORD: /[a-z]+/\ncall[capture]: "(" call? ")"',
    'start: text "."\ntext[lazy]: /[a-z]*b/',
    'start: item (", " item)*\nitem: /[0-9]{1,3}/ | "\\"" /[^"]/* "\\""',
]


@pytest.mark.parametrize("text", LARK)
def test_lark_grammars_that_it_prints(text: str, compiler: Any) -> None:
    given = xgrammar.Grammar.from_lark(text)
    assert_same_masks(compiler, str(given), 6, given)


TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in {
        "get_weather": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "add": {"a": {"type": "number"}, "b": {"type": "boolean"}},
    }.items()
]
MODELS = (
    "llama kimi kimi_k3 deepseek_r1 deepseek_v3_1 deepseek_v3_2 deepseek_v4 deepseek_v4_1 qwen_3 qwen_3_5 qwen_3_coder "
    "mimo harmony minimax minimax_m3 glm_4_7 cohere exaone"
)


@pytest.mark.parametrize("model", MODELS.split())
def test_structural_tags_that_it_prints(model: str, compiler: Any) -> None:
    for choice in ("auto", "required"):
        for reasoning in ("enabled", "disabled", "auto"):
            tag = xgrammar.get_model_structural_tag(model, tools=TOOLS, tool_choice=choice, reasoning=reasoning)
            given = xgrammar.Grammar.from_structural_tag(tag)
            assert_same_masks(compiler, str(given), 2, given)


@pytest.mark.parametrize("model", ["llama", "deepseek_v3_1", "qwen_3_coder", "harmony"])
def test_masks_over_a_real_vocabulary(model: str) -> None:
    """Tokens that are parts of characters are not compared: XGrammar allows them anywhere in free text."""
    vocabulary = load("deepseek")
    tokens = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    (eos,) = vocabulary.eos_token_ids
    compared = np.array([token == eos or is_text(text) for token, text in enumerate(tokens)])
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[eos])
    tag = xgrammar.get_model_structural_tag(model, tools=TOOLS, tool_choice="auto", reasoning="auto")
    given = xgrammar.Grammar.from_structural_tag(tag)
    theirs = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(info).compile_grammar(given))
    ours = Matcher(Grammar.from_gbnf(str(given)), vocabulary)
    rng = Random(model)
    for _ in range(20):
        expected, found = mask_of(theirs, len(tokens)) & compared, ours.mask() & compared
        assert not [tokens[token] for token in np.flatnonzero(expected != found)[:5]]
        token = rng.choice([token for token in np.flatnonzero(found).tolist() if token != eos])
        assert theirs.accept_token(token) and ours.accept(token)


def is_text(token: bytes) -> bool:
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False


# --- where XGrammar differs ------------------------------------------------------------------------------------------


def they_accept(compiler: Any, text: str, sentence: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiler.compile_grammar(xgrammar.Grammar.from_ebnf(text)))
    return all(map(matcher.accept_token, sentence.encode())) and bool(matcher.accept_token(EOS))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("0(-[a-z]*)?", "0a"),  # it enters an optional group in the middle
        ("(ab*)?c", "bc"),
        ("a(?=b).", "ac"),  # it ignores lookaheads, with a warning
        ("a^b|a$b|ab*$", "ab"),
        ("a^b|c", "ab"),  # and anchors
        (r"\\Aa\\Z", "a"),  # it reads escapes that it does not know as letters
        (r"\\Aa\\Z", "AaZ"),
        ("a++a", "aa"),  # it has no possessive quantifiers
    ],
)
def test_patterns_mean_what_re_says(pattern: str, text: str, compiler: Any) -> None:
    ours = accepts(Grammar.from_gbnf(f'root ::= Regex("{pattern}") | "x"'), text)
    assert ours == bool(re.fullmatch(pattern.replace("\\\\", "\\"), text))
    if pattern != "a^b|a$b|ab*$":
        assert they_accept(compiler, f'root ::= Regex("{pattern}")', text) != ours


@pytest.mark.parametrize(
    ("written", "text", "ours", "theirs"),
    [
        ('TagDispatch(("abc", a), ("b", b))', "ab", False, True),  # a tag within the beginning of another one
        ('TagDispatch(("ab", a), ("abcd", b))', "abcx", False, True),
        ('"\\x411"', "A1", True, False),  # llama.cpp's meaning
        ("x [0-9]\nx[max_chars=2] ::= [a-z]* [0-9]{3}", "1231", False, True),  # its bounds give way
    ],
)
def test_other_differences(written: str, text: str, ours: bool, theirs: bool, compiler: Any) -> None:
    grammar = f"root ::= {written} | [!]" if "[max" not in written else f'root ::= "!" | {written}'
    assert accepts(Grammar.from_gbnf(grammar + RULES), text) == ours
    assert they_accept(compiler, grammar + RULES, text) == theirs
