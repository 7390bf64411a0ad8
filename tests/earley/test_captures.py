"""`Matcher.captures` equals an enumeration of all readings (`capture_oracle`), however the text is split or made."""

from __future__ import annotations

import pickle
import random
from itertools import product

import pytest

from earleymask import Limits
from earleymask.earley import LimitError, Matcher
from earleymask.grammar import Grammar, GrammarError
from earleymask.trie import Vocabulary
from support.capture_oracle import Oracle, Rules, lark_text
from support.effort import effort

BYTES = Vocabulary.bytes()
EOS = 256

PATTERNS = ["/a/", "/b/", "/a+/", "/[ab]+/", "/ab?/", "/b*a/", "/ab/"]
IGNORED = ["", "", "/ /", "/ +/", "/b/"]


def captured(grammar: str | Grammar, text: str, **options: object) -> list[tuple[str, bytes]]:
    """Return the captures of a text, which must be a viable prefix."""
    if isinstance(grammar, str):
        grammar = Grammar.from_lark(grammar, **options)  # type: ignore[arg-type]
    matcher = Matcher(grammar, BYTES)
    for byte in text.encode():
        assert matcher.accept(byte), text
    return matcher.captures()


def test_texts_beyond_ascii() -> None:
    grammar = 'start: x y\nx[capture="x"]: /[à-ç]+/\ny[capture="y"]: /[^a]{1,3}/'
    assert captured(grammar, "àçéß🙂") == [("x", "àç".encode()), ("y", "éß🙂".encode())]


def random_rules(rng: random.Random) -> tuple[Rules, set[str], str]:
    names = ["start", "x", "y", "z"][: rng.randint(2, 4)]
    rules = {
        name: [
            tuple(
                rng.choice(PATTERNS) if rng.random() < 0.5 else rng.choice(names[1:])
                for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))
            )
            for _ in range(rng.randint(1, 3))
        ]
        for name in names
    }
    return rules, {name for name in names if rng.random() < 0.6}, rng.choice(IGNORED)


EMBEDDED = '\n%extend start: "#" %json {"type": "null"}'
"""No text that is tried begins with "#". But beside an embedded grammar, ignored text stands in productions."""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beside", ["", EMBEDDED])
def test_all_short_texts_of_random_grammars(seed: int, beside: str) -> None:
    rng = random.Random(seed)
    n_compared = n_several = 0
    for _ in range(12):
        rules, names, ignored = random_rules(rng)
        text = lark_text(rules, names, ignored) + beside
        try:
            grammar = Grammar.from_lark(text)
        except GrammarError:  # no sentence, or a rule that could be captured infinitely often
            continue
        matcher = Matcher(grammar, BYTES)
        for length in range(effort(4, 5)):
            for letters in product("ab " if " " in ignored else "ab", repeat=length):
                matcher.reset()
                string = "".join(letters)
                if all(matcher.accept(ord(letter)) for letter in letters):
                    found = matcher.captures()
                    expected = Oracle(rules, names, ignored, string).captures()
                    if beside:
                        if not matcher.is_accepting():
                            continue  # ignored text at the end belongs to a rule there, which may still go on
                        # What is empty may stand before or after ignored text.
                        expected, found = ([each for each in one if each[1]] for one in (expected, found))
                    assert found == expected, (text, string)
                    n_compared += 1
                    n_several += len(found) > 1
    assert n_compared > effort(30, 100) // (4 if beside else 1)
    assert beside or n_several > effort(1, 5)


def test_of_several_readings_the_one_that_begins_first_and_is_longest() -> None:
    assert captured("start: x y\nx[capture]: /a*/\ny[capture]: /a*/", "aa") == [("x", b"aa"), ("y", b"")]
    assert captured("start: x*\nx[capture]: /a+/", "aaa") == [("x", b"aaa")]
    assert captured('start: x | y\nx: "a" z\ny[capture]: "a" "b"\nz[capture]: "b"', "ab") == [("y", b"ab")]
    assert captured('start: x | y\nx[capture="b"]: "a"\ny[capture="a"]: "a"', "a") == [("a", b"a")]


def test_ignored_text_stands_outside() -> None:
    grammar = 'start: x* "."\nx[capture]: "a" "b"?\n%ignore " "'
    assert captured(grammar, "  a  a b  ab .") == [("x", b"a"), ("x", b"a b"), ("x", b"ab")]
    # If a terminal looks at the next character, the productions contain the ignored text.
    assert captured('start: x* "."\nx[capture]: /a\\b/ "b"?\n%ignore " "', " a a  b .") == [("x", b"a"), ("x", b"a  b")]
    assert captured('start: x* "."\nx[capture]: /a(?! )/ /b\\b/?\n%ignore " "', " aab  .") == [
        ("x", b"a"),
        ("x", b"ab"),
    ]


def test_a_key_or_an_item_decides_between_readings() -> None:
    """A text with an equal key, or an equal item, is no document of the schema."""
    texts = """
    start: (document | text) "."
    document[capture]: %json SCHEMA
    text[capture]: /[{\\[][^.]*[}\\]]/
    %ignore " "
    """
    keys = texts.replace("SCHEMA", '{"type": "object", "additionalProperties": {"type": "integer"}}')
    items = texts.replace("SCHEMA", '{"type": "array", "items": {"type": "object"}, "uniqueItems": true}')
    for grammar, document, text in (
        (keys, '{"x": 1, "y": {}}', '{"x": 1, "x": {}}'),
        (items, '[{"x": 1}, {"x": {}}]', '[{"x": {}}, {"x": {}}]'),
    ):
        for place in ("{}.", " {} ."):
            one, two = document.replace("{}", "2"), text.replace("{}", "2")
            assert captured(grammar, place.format(one)) == [("document", one.encode())]
            assert captured(grammar, place.format(two)) == [("text", two.encode())]


def test_what_ends_a_text() -> None:
    rules = 'y[capture]: x "."\nx[capture, {}="<{}", stop_capture="end"]: /[a<]*/\n'
    for attribute, expected in ("stop", b"a<a"), ("suffix", b"a<a<{"):
        grammar = "start: y\n" + rules.format(attribute, "{")
        assert captured(grammar, "a<a<{.") == [("y", b"a<a<{."), ("x", expected), ("end", b"<{")]
    pattern = 'start: x\nx[capture, stop=/;+|a;/, stop_capture="end"]: /[a;]*/'
    assert captured(pattern, "aaa;") == [("x", b"aa"), ("end", b"a;")]  # the end takes as much as it can
    only = 'start: x\nx[suffix=";", stop_capture="end"]: /a*/'
    assert captured(only, "a;") == [("end", b";")]
    assert captured(only, "a") == []


def test_a_text_that_goes_on() -> None:
    grammar = 'start: name ("," name)* "."?\nname[capture]: /[a-z]+/'
    assert captured(grammar, "ab") == [("name", b"ab")]  # a sentence
    assert captured(grammar, "ab,") == [("name", b"ab")]
    assert captured('start: name ("," name)* "."\nname[capture]: /[a-z]+/', "ab,c") == [("name", b"ab")]
    nested = 'start: x "."\nx[capture]: "(" x ")" | "y"'
    assert captured(nested, "((y)") == [("x", b"(y)"), ("x", b"y")]
    assert captured(nested, "((y") == [("x", b"y")]


def test_recursion_that_the_parser_of_masks_forgets() -> None:
    right = "start: list\nlist: item list | item\nitem[capture]: /[a-z]/"
    assert captured(right, "abc") == [("item", bytes([letter])) for letter in b"abc"]
    whole = 'start: list\nlist[capture]: "a" list | "a"'
    assert captured(whole, "aaa") == [("list", b"aaa"), ("list", b"aa"), ("list", b"a")]
    tail = 'start: list\nlist: item list ws | item\nitem[capture]: "a"\nws: " "*'
    assert captured(tail, "aaa  ") == [("item", b"a")] * 3
    ambiguous = 'start: e\ne: e "+" e | n\nn[capture]: /[0-9]/'
    assert captured(ambiguous, "1+2+3") == [("n", b"1"), ("n", b"2"), ("n", b"3")]


def test_back_and_forth() -> None:
    matcher = Matcher(Grammar.from_lark('start: (x ",")* "."\nx[capture]: /[a-z]+/'), BYTES)
    after: list[list[tuple[str, bytes]]] = [matcher.captures()]
    for byte in b"ab,c,":
        assert matcher.accept(byte)
        after.append(matcher.captures())
    assert after[-1] == [("x", b"ab"), ("x", b"c")]
    fork = matcher.fork()
    for n in range(5, 0, -1):
        assert matcher.captures() == after[n]
        matcher.rollback(1)
    assert matcher.captures() == after[0] == []
    assert matcher.accept(ord("z"))
    assert matcher.accept(ord(","))
    assert matcher.captures() == [("x", b"z")]
    assert fork.captures() == after[-1]
    assert pickle.loads(pickle.dumps(fork)).captures() == after[-1]
    matcher.reset()
    assert matcher.captures() == []


def test_tokens_do_not_matter() -> None:
    words = ["a", "b", ",", ".", "ab", "b,", "a,b", ",.", "b,a,"]
    vocabulary = Vocabulary.from_tokens([word.encode() for word in words] + [b"</s>"], eos_token_id=len(words))
    grammar = Grammar.from_lark('start: (x ",")* "."\nx[capture]: /[ab]+/')
    rng = random.Random(7)
    for _ in range(40):
        matcher = Matcher(grammar, vocabulary)
        for _ in range(rng.randint(1, 6)):
            matcher.accept(rng.choice([int(token) for token in matcher.mask().nonzero()[0]]))
        text = "".join(words[token] for token in matcher.tokens if token < len(words))
        assert matcher.captures() == captured(grammar, text)


def test_special_tokens_and_the_end() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"b", b"<|x|>", b"</s>"],
        eos_token_id=3,
        special_token_ids=[2, 3],
        special_tokens={"<|x|>": 2, "</s>": 3},
    )
    grammar = Grammar.from_lark('start: x\nx[capture]: "a" y "b"\ny[capture]: <|x|> "a"* <|x|>')
    matcher = Matcher(grammar, vocabulary)
    for token in (0, 2, 0, 0, 2, 1, 3, 3):
        assert matcher.accept(token)
    assert matcher.captures() == [("x", b"aaab"), ("y", b"aa")]
    ids = Matcher(Grammar.from_lark("start: x /b?/\nx[capture]: <[0]> <[*]>"), vocabulary)
    for token in (0, 1, 3):  # tokens of text, named by a set of ids
        assert ids.accept(token)
    assert ids.captures() == [("x", b"ab")]
    named = Matcher(Grammar.from_lark('start: x </s>?\nx[capture]: "a" </s>'.replace("</s>", "<[3]>")), vocabulary)
    for token in (0, 3, 3, 3):  # the first 3 is a symbol of `x`, and EOS as well
        assert named.accept(token)
    assert named.captures() == [("x", b"a")]


def test_names_from_elsewhere() -> None:
    assert captured("start: x\n%import m.x", "a", loader={"m": 'x[capture]: "a"'}) == [("x", b"a")]
    assert captured('start: "<" @x ">"', "<a>", grammars={"x": 'start: y\ny[capture="é"]: "a"'}) == [("é", b"a")]
    permutation = (
        'start: perm::0\nperm::_: "" %if is_ones([0:2]) | a perm::set_bit(0) %if bit_clear(0)'
        ' | b perm::set_bit(1) %if bit_clear(1)\na[capture]: "a" c\nb[capture]: "b"\nc[capture]: up::0 \n'
        'up::_: "<" up::incr(_) | ">" down::_\ndown::_: "!" %if gt(_, 0)'
    )
    assert captured(permutation, "ba<>!") == [("b", b"b"), ("a", b"a<>!"), ("c", b"<>!")]


def test_none_without_attributes() -> None:
    assert captured('start: x\nx: "a"', "a") == []


def test_limits() -> None:
    grammar = 'start: x\nx[capture]: y\ny: y y | "a"'
    for limits, field in (
        (Limits(row_items=60), "row_items"),
        (Limits(matcher_bytes=20_000), "matcher_bytes"),
        (Limits(seconds=0.05), "seconds"),
        (Limits(matcher_bytes=1 << 24), "matcher_bytes"),  # of the objects that stand for the readings
    ):
        matcher = Matcher(Grammar.from_lark(grammar, limits=limits), BYTES)
        n = 0
        while n < 150:
            assert matcher.accept(ord("a"))
            n += 1
        with pytest.raises(LimitError) as caught:
            matcher.captures()
        assert caught.value.limit == field
        assert matcher.n_tokens == n
        assert matcher.is_accepting()


def test_thousands_of_captures() -> None:
    words = [b"%x" % (i * 7919 % 5003) for i in range(4500)]
    found = captured('start: (word ",")*\nword[capture]: /[a-f0-9]+/', b",".join(words).decode() + ",")
    assert found == [("word", word) for word in words]
