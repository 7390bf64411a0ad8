"""Rules with `lazy`, `stop` and `suffix` agree with their definitions on all short strings."""

from __future__ import annotations

import re

import pytest

from earleymask.grammar import Grammar, GrammarError
from support.lark_oracle import assert_refused, strings, we_accept

LONGEST = 5
BODIES = {
    "/[ab]*/": "[ab]*",
    "/[ab]+/": "[ab]+",
    "/a+/": "a+",
    '"a" /b|ab/': "a(b|ab)",
    '("a" | "ab") "b"*': "(a|ab)b*",
    "x x": "(a|bb)(a|bb)",
    "T+": "(ba|a)+",
    '/[ab]*/ & ~"ab"': "(?!ab$)[ab]*",
    '%regex {"substring_chars": "aab"}': "a?a?b?|ab?",
}
STOPS = {'"b"': "b", '"ab"': "ab", '"aa"': "aa", "/b+/": "b+", "/(a|bb)/": "a|bb", "T": "ba|a", '"BA"i': "ba"}
MORE = 'x: "a" | "bb"\nT: "ba" | "a"\n'


@pytest.mark.parametrize("body", BODIES)
def test_lazy_is_what_has_no_shorter_text_at_its_beginning(body: str) -> None:
    pattern = re.compile(BODIES[body])
    grammar = Grammar.from_lark(f"start: y\ny[lazy]: {body}\n{MORE}")
    accepted = 0
    for text in strings("ab", LONGEST):
        matching = [n for n in range(len(text) + 1) if pattern.fullmatch(text[:n])]
        expected = matching == [len(text)]
        assert we_accept(grammar, text) == expected, text
        accepted += expected
    assert accepted


@pytest.mark.parametrize("attribute", ["stop", "suffix"])
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("body", BODIES)
def test_what_ends_a_text_ends_it_where_it_first_ends(body: str, stop: str, attribute: str) -> None:
    of_body, of_stop = re.compile(BODIES[body]), re.compile(STOPS[stop])
    texts = {}
    for text in strings("ab", LONGEST):
        n = len(text)
        here = any(of_body.fullmatch(text[:i]) and of_stop.fullmatch(text[i:]) for i in range(n + 1))
        before = any(of_stop.fullmatch(text[i:j]) for j in range(n) for i in range(j))
        texts[text] = here and not before
    written = f"start: y\ny[{attribute}={stop}]: {body}\n{MORE}"
    if not any(texts.values()):
        with pytest.raises(GrammarError, match="no sentence"):
            Grammar.from_lark(written)
        return
    grammar = Grammar.from_lark(written)
    for text, expected in texts.items():
        assert we_accept(grammar, text) == expected, text


def test_lazy_parts_are_languages_of_their_own() -> None:
    grammar = Grammar.from_lark('start: y "!"\ny[suffix="c"]: /a*?b/ /[ab]/\n')
    assert [text for text in strings("abc", 4) if we_accept(grammar, text + "!")] == ["bac", "bbc", "abac", "abbc"]


def test_the_tool_call_of_the_documents() -> None:
    grammar = Grammar.from_lark(r"""
        start: (foo | bar)* TEXT
        TEXT: /(.|\n)*/
        foo: head "=foo>" /[0-9]+/ "</function>"
        bar: head "=bar>" "x" "</function>"
        head[lazy]: TEXT "<function"
    """)
    assert we_accept(grammar, "text <function=foo>12</function> and <function=bar>x</function> rest")
    assert we_accept(grammar, "text")
    exact = Grammar.from_lark(r"""
        start: (foo)* end
        end: /(.|\n)*/ & ~/(?s:.*<function.*)/
        foo: head "=foo>" /[0-9]+/ "</function>"
        head[suffix="<function"]: /(?s:.*)/
    """)
    assert we_accept(exact, "text <function=foo>12</function> rest")
    assert not we_accept(exact, "text <function=fo")


def test_imported_and_nested() -> None:
    modules = {"m": 'quoted: "\\"" rest\nrest[suffix="\\""]: inner\ninner: (C | "\\\\" /./)*\nC: /[^"\\\\]/'}
    grammar = Grammar.from_lark("start: quoted quoted\n%import m.quoted", loader=modules)
    assert we_accept(grammar, '"ab""c"')
    assert not we_accept(grammar, '"a\\"b""c"')  # the first quote ends it, escaped or not
    nested = Grammar.from_lark('start: y\ny[lazy]: z z\nz[suffix="b"]: /a*/\n')
    assert [text for text in strings("ab", 5) if we_accept(nested, text)] == [
        "bb", "abb", "bab", "aabb", "abab", "baab", "aaabb", "aabab", "abaab", "baaab",
    ]  # fmt: skip


ERRORS = {
    "unknown": ('start[lasy]: "a"', 1, 7, "there is no attribute `lasy`"),
    "value for lazy": ('start[lazy="x"]: "a"', 1, 7, "`lazy` takes no value"),
    "no value": ('start[stop]: "a"', 1, 7, "`stop` takes a string"),
    "a number": ('start[stop=3]: "a"', 1, 7, "`stop` takes a string"),
    "both": ('start[stop="x", suffix="y"]: "a"', 1, 17, "only one `stop` or `suffix`"),
    "twice": ('start[lazy, lazy]: "a"', 1, 13, "attribute `lazy` is given twice"),
    "empty": ('start[stop=""]: "a"', 1, 12, "`stop` is empty"),
    "can be empty": ('start[stop=/x*/]: "a"', 1, 12, "`stop` matches the empty text"),
    "matches nothing": ('start[stop=A]: "a"\nA: "a" & "b"', 1, 12, "`stop` matches nothing"),
    "a rule as value": ('start[stop=x]: "a"\nx: "b"', 1, 12, "is expected after `=`"),
    "recursive": ('start[lazy]: "a" x\nx: "b" x | "c"', 2, 8, "rule `x` contains itself"),
    "a special token": ('start[lazy]: "a" x\nx: "b" <|x|>', 2, 8, "special token `<|x|>` cannot be in a rule that"),
    "a template": ('start[lazy]: x{"b"}\nx{a}: a', 1, 14, "template `x` cannot be in a rule that"),
    "undefined": ('start[lazy]: "a" x', 1, 18, "rule `x` is not defined"),
    "on a terminal": ('start: A\nA[lazy]: "a"', 2, 2, "terminals have no attributes"),
    "max_tokens": ("start[lazy, max_tokens=0]: A\nA: /a/", 1, 13, "`max_tokens` takes a whole number"),
    "max_tokens with a fraction": ("start[max_tokens=1.5]: A\nA: /a/", 1, 7, "`max_tokens` takes a whole number"),
    "max_tokens without": ("start[max_tokens]: A\nA: /a/", 1, 7, "`max_tokens` takes a whole number"),
    "max_tokens beyond 31 bits": ("start[max_tokens=2147483648]: A\nA: /a/", 1, 7, "from 1 to 2147483647"),
    "max_tokens of rules": ('start[max_tokens=3]: "a" "b"', 1, 7, "needs a rule that is a single terminal"),
    "of a special token": ("start[max_tokens=3]: A\nA: <|a|>", 1, 7, "needs a rule that is a single terminal"),
    "temperature": ('start[temperature="x"]: "a"', 1, 7, "`temperature` takes a number"),
    "temperature below 0": ('start[temperature=-1]: "a"', 1, 7, "`temperature` takes a number, 0 or more"),
    "temperature of rules": ('start[temperature=1]: x\nx: "a"', 1, 7, "needs a rule that is a single terminal"),
    "capture": ('start[capture=1]: "a"', 1, 7, "`capture` takes a name in quotes"),
    "capture without a name": ('start[capture=""]: "a"', 1, 15, "`capture` takes a name"),
    "capture by a pattern": ('start[capture=/x/]: "a"', 1, 7, "`capture` takes a name in quotes"),
    "nothing stops": ('start[stop_capture="x"]: "a"', 1, 7, "needs `stop` or `suffix`"),
    "stop_capture without a name": ('start[stop="x", stop_capture]: "a"', 1, 17, "takes a name in quotes"),
    "capture within a terminal": ('start[lazy]: x\nx[capture]: "a"', 2, 3, "in a rule that is part of a terminal"),
    "captured without end": ('start: x\nx[capture]: x | y\ny: z* x | "a"\nz: "b"', 2, 1, "may consist of itself alone"),
    "extended": ('start: y\ny[lazy]: "a"\n%extend y[lazy]: "b"', 3, 9, "cannot be given attributes by `%extend`"),
    "shared too often": (
        "start[lazy]: x0\n" + "".join(f"x{n}[lazy]: x{n + 1} x{n + 1}\n" for n in range(30)) + 'x30: "a"',
        23, 16, "pieces",  # each level has four times as many pieces: 4⁹ in x21 is the first number beyond 100,000
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_show_their_place(name: str) -> None:
    assert_refused(*ERRORS[name])


@pytest.mark.parametrize("elsewhere", [False, True])
def test_more_alternatives(elsewhere: bool) -> None:
    """`%extend` adds alternatives under the attributes that the rule has where it is defined."""
    body = 'y[suffix="c"]: "a" | "b" "a"\n'
    text = "start: y\n" + ("%import m.y\n" if elsewhere else body) + '%extend y: "b" | "bb"\n%extend y: "ca"'
    same = 'start: y\ny[suffix="c"]: "a" | "b" "a" | "b" | "bb" | "ca"'
    extended, written = Grammar.from_lark(text, loader={"m": body}), Grammar.from_lark(same)
    found = [text for text in strings("abc", 4) if we_accept(extended, text)]
    assert found == [text for text in strings("abc", 4) if we_accept(written, text)]
    assert set(found) == {"ac", "bac", "bc", "bbc"}
