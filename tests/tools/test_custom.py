"""Custom tools: their texts have grammars, also where they are written within JSON strings."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask import tools as T

VOCABULARY = Vocabulary.bytes()
LARK = r"""
start: command (";" command)*
command: NAME " = " value
value: NUMBER | STRING | "<\n>"
NAME: /[a-zé]+/
NUMBER: /\d+/
STRING: /"[^"\n]*"/
%ignore /[ \t]+/
"""
TOOLS: list[dict[str, Any]] = [
    {
        "type": "custom",
        "custom": {"name": "run", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": LARK}}},
    },
    {
        "type": "custom",
        "name": "sql",
        "format": {"type": "grammar", "syntax": "regex", "definition": r"SELECT \w+( LIMIT \d+)?"},
    },
    {"type": "custom", "name": "free", "format": {"type": "text"}},
]
RIGHT = [
    T.ToolCall("run", input='a = 1;é = "x\\y/"'),
    T.ToolCall("run", input="a = <\n> ;\tb = 2"),
    T.ToolCall("sql", input="SELECT größe LIMIT 5"),
    T.ToolCall("free", input='any </x> "q" \n \\ '),
    T.ToolCall("free", input=""),
]
WRONG = [
    T.ToolCall("run", input='a = "x'),
    T.ToolCall("run", input='a = "\n"'),
    T.ToolCall("run", input="a=1"),
    T.ToolCall("sql", input="SELECT"),
    T.ToolCall("sql", input="SELECT x LIMIT"),
]


def accepts(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, VOCABULARY)
    return all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("style", T.style_names())
def test_the_grammar_of_a_custom_tool_is_enforced_and_its_text_read(style: str) -> None:
    grammar = Grammar.from_tools(TOOLS, style, "required")
    for call in RIGHT:
        text = T.render([call], style, tools=TOOLS)
        assert accepts(grammar, text), text
        assert T.parse(text, style, tools=TOOLS).calls == [call]
    for call in WRONG:
        assert not accepts(grammar, T.render([call], style, tools=TOOLS)), call


def test_both_shapes_of_a_grammar() -> None:
    for custom in (
        {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "regex", "definition": "a+"}},
        {
            "type": "custom",
            "custom": {"name": "c", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}}},
        },
    ):
        grammar = Grammar.from_tools([custom], "mistral", "c")
        assert accepts(grammar, '[TOOL_CALLS]c[ARGS]{"input": "aa"}')
        assert not accepts(grammar, '[TOOL_CALLS]c[ARGS]{"input": ""}')
        assert pickle.loads(pickle.dumps(grammar)) == grammar


def spellings(rng: random.Random, text: str) -> str:
    """A JSON string that means a text, with escapes where they may be."""
    found = ""
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\t": "\\t"}
    for char in text:
        units = char.encode("utf-16-be")
        codes = "".join(f"\\u{units[i] * 256 + units[i + 1]:04x}" for i in range(0, len(units), 2))
        forms = [codes, codes.upper().replace("\\U", "\\u")]
        if char in short:
            forms.append(short[char])
        if char >= " " and char not in '"\\':
            forms += [char, char]
        found += rng.choice(forms)
    return f'"{found}"'


def test_json_strings_mean_texts_of_the_grammar() -> None:
    """The grammar itself decides about the text that a JSON string means; how it is spelled changes nothing."""
    grammar = Grammar.from_structural_tag({"format": {"type": "json_string", "content": Grammar.from_lark(LARK)}})
    plain = Grammar.from_lark(LARK)
    rng = random.Random("json strings")
    n_right = 0
    for _ in range(800):
        text = "".join(rng.choices(["a", "é", " = ", "1", ";", '"', "<\n>", " ", "\\", "\t"], k=rng.randint(0, 7)))
        if rng.random() < 0.5:
            text = f"a = {text}" if rng.random() < 0.7 else f'a = "{text}"'
        is_right = accepts(plain, text)
        n_right += is_right
        assert accepts(grammar, spellings(rng, text)) is is_right, text
        assert not accepts(grammar, text)
    assert n_right > 40
    assert not accepts(grammar, '"a = 1')
    assert not accepts(grammar, '"a = \\ud800"')


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"type": "json_schema", "json_schema": {}}, "a JSON Schema"),
        ({"type": "token", "token": 5}, "a token of the vocabulary"),
        ({"type": "json_string", "content": {"type": "const_string", "value": "a"}}, "another JSON string"),
        (Grammar.from_lark("start: <|x|>"), "a token of the vocabulary"),
        (Grammar.from_lark('start[capture]: "x"'), "a rule or terminal with attributes"),
    ],
)
def test_what_cannot_stand_in_a_json_string_is_refused(content: Any, what: str) -> None:
    with pytest.raises(GrammarError, match=f"{what} cannot stand within a JSON string") as caught:
        Grammar.from_structural_tag({"format": {"type": "json_string", "content": content}})
    assert caught.value.pointer == "/format"


def test_a_token_that_stands_before_a_json_string_cannot_stand_within() -> None:
    token = {"type": "token", "token": 5}
    elements = [token, {"type": "json_string", "content": token}]
    with pytest.raises(GrammarError, match="a token of the vocabulary cannot stand within a JSON string") as caught:
        Grammar.from_structural_tag({"format": {"type": "sequence", "elements": elements}})
    assert caught.value.pointer == "/format/elements/1"


def test_a_terminal_that_looks_ahead_is_refused_in_a_json_string() -> None:
    definition = 'start: A "b"?\nA: /a(?!c)/'
    format_ = {"type": "grammar", "syntax": "lark", "definition": definition}
    tool = {"type": "custom", "name": "c", "format": format_}
    assert Grammar.from_tools([tool], "qwen_3_coder", "c")
    with pytest.raises(GrammarError, match=r"line 2, column 4: .* cannot stand within a JSON string"):
        Grammar.from_tools([tool], "hermes", "c")


def test_warnings_about_a_grammar_within_have_their_place_in_it() -> None:
    inner = Grammar.from_lark('start: "x" | dead\ndead: "y" dead')
    (warning,) = Grammar.from_structural_tag({"format": inner}).warnings
    assert (warning.line, warning.column, warning.pointer) == (2, 1, None)


def test_free_text_within_json_strings() -> None:
    content = {"type": "triggered_tags", "triggers": ["<"], "tags": [{"begin": "<a>", "content": "x", "end": "</a>"}]}
    content["tags"][0]["content"] = {"type": "any_text", "max_chars": 2}  # type: ignore[index]
    grammar = Grammar.from_structural_tag({"format": {"type": "json_string", "content": content}})
    for text, allowed in (
        ('"one \\"two\\" <a>é\\n</a> three"', True),
        ('"\\u003ca>xyz</a>"', False),
        ('"\\u003ca>xy</a>"', True),
        ('"a < b"', False),
    ):
        assert accepts(grammar, text) is allowed, text
