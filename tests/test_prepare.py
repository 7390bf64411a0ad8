"""What is prepared for a vocabulary changes no mask, is found by grammars written otherwise, and is made once."""

import threading

import numpy as np
import pytest
import vocabularies

from earleymask import Grammar, Matcher, Vocabulary, prepare
from earleymask.prepare import TERMINALS

PIECES = [
    *(bytes([byte]) for byte in range(256)),
    *(
        blank + word + end
        for blank in (b"", b" ", b"  ", b'"', b"'", b"(", b"\n", b"--", b"// ")
        for word in (b"name", b"Na_me", b"x1", b"SELECT", b"null", b"12", b"0.5", "größe".encode(), b"\\n", b"")
        for end in (b"", b" ", b'"', b"'", b"(", b",", b'": "', b"''", b" = ", b"\n", b"\xc3")
        if len(blank + word + end) > 1
    ),
]
NAMES = ("made up", "tekken", "mistral-spm-32k", "llama3")
GRAMMARS = {
    "data": (
        r"""
        start: value
        value: object | array | STRING | NUMBER | "true" | "false" | "null"
        object: "{" [STRING ":" value ("," STRING ":" value)*] "}"
        array: "[" [value ("," value)*] "]"
        STRING: /"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
        NUMBER: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/
        %ignore /[ \t\n\r]+/
        """,
        '{"größe": [1, -2.5e+10, null, true], "esc": "\\u00e9\\n😀", "Na_me": {"a": {}}}',
    ),
    "program": (
        r"""
        start: statement*
        statement: "let" NAME "=" sum ";" | NAME "(" [sum ("," sum)*] ")" ";"
        sum: item (("+" | "-") item)*
        item: NAME | NUMBER | ESCAPED_STRING | "(" sum ")"
        NAME: ("_" | LETTER) ("_" | LETTER | DIGIT)*
        %import common (LETTER, DIGIT, NUMBER, ESCAPED_STRING, WS, CPP_COMMENT)
        %ignore WS
        %ignore CPP_COMMENT
        """,
        'let Na_me = x1 + 12 - ("a \\" b" + 0.5);\n// a name\nprint(name, _x, "größe");\n',
    ),
    "query": (
        r"""
        start: "SELECT"i NAME ("," NAME)* "FROM"i NAME ["WHERE"i NAME "=" (STRING | /\d+/)]
        NAME: /[A-Za-z_]\w*/
        STRING: /'([^']|'')*'/
        %ignore /\s+/
        %ignore /--[^\n]*/
        """,
        "SELECT name, Na_me -- a name\n  FROM größe WHERE x1 = 'it''s 12'",
    ),
}


@pytest.fixture(params=NAMES)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    """One of them, with nothing learned about it."""
    if request.param == "made up":
        return made_up()
    found = vocabularies.load(request.param)
    found.trie.learned = None
    return found


def made_up() -> Vocabulary:
    return Vocabulary.from_tokens([*PIECES, b"</s>"], eos_token_id=len(PIECES))


def cut(vocabulary: Vocabulary, text: str) -> list[int]:
    """Tokens that spell the text: long ones, and now and then a byte by itself."""
    ids: dict[bytes, int] = {}
    for token_id in range(vocabulary.size):
        ids.setdefault(vocabulary.token_bytes(token_id), token_id)
    data, at, tokens = text.encode(), 0, []
    while at < len(data):
        longest = 1 if len(tokens) % 5 == 4 else 16
        end = next(end for end in range(min(len(data), at + longest), at, -1) if data[at:end] in ids)
        tokens.append(ids[data[at:end]])
        at = end
    return tokens


def compare_masks(vocabulary: Vocabulary, name: str) -> None:
    """Every mask of the text with the merged walk, which knows nothing of parts."""
    source, text = GRAMMARS[name]
    matcher = Matcher(Grammar.from_lark(source), vocabulary)
    row, walked = np.zeros((2, -(-vocabulary.size // 32)), np.int32)
    for token in cut(vocabulary, text):
        matcher.fill_bitmask(row)
        matcher.walk_bitmask(walked)
        assert np.array_equal(row, walked)
        assert matcher.accept(token)
    assert matcher.is_accepting()


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_the_same(vocabulary: Vocabulary, name: str) -> None:
    assert prepare(vocabulary)["built"] > 200
    compare_masks(vocabulary, name)


def test_grammars_find_what_was_prepared() -> None:
    """The same in other words: other orders, groups, terminals put together from named ones."""
    for written in (
        r"/[A-Za-z_][A-Za-z0-9_]*/",
        r'("_" | "a".."z" | "A".."Z") ("_" | /[a-z]|[A-Z]/ | /[0-9]/)*',
        r'/"(\\u[a-fA-F0-9]{4}|\\["\/\\bfnrt]|[^\x00-\x1f"\\])*"/',
        r"/(0|[1-9][0-9]*)/",
        r"/(--.*)/",
    ):
        vocabulary = made_up()
        prepare(vocabulary)
        learned = vocabulary.trie.learned
        assert learned is not None
        before = learned.n_built
        matcher = Matcher(Grammar.from_lark(f"start: A\nA: {written}\n"), vocabulary)
        row = np.zeros(-(-vocabulary.size // 32), np.int32)
        matcher.fill_bitmask(row)
        assert learned.n_built == before, written


def test_again_is_cheap() -> None:
    vocabulary = made_up()
    first = prepare(vocabulary)
    learned = vocabulary.trie.learned
    visited = learned.n_nodes
    assert first["known"] == 0
    assert prepare(vocabulary) == {"built": 0, "known": first["built"]}
    assert vocabulary.trie.learned is learned and learned.n_nodes == visited
    # What was dropped to save memory is made again.
    vocabulary.trie.learned = None
    assert prepare(vocabulary) == first


def test_from_several_threads() -> None:
    vocabulary = made_up()
    done: list[dict[str, int]] = []
    failed: list[BaseException] = []

    def work(name: str | None) -> None:
        try:
            if name is None:
                done.append(prepare(vocabulary))
            else:
                compare_masks(vocabulary, name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in (None, *GRAMMARS, None, None, *GRAMMARS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len({sum(result.values()) for result in done}) == 1


def test_small_vocabularies() -> None:
    """Nothing below a blank, hardly a byte, no byte at all."""
    for tokens in ([b"a", b"b", b"ab"], [b" "], [b"\xff", b"\xc3"], [b"", b""]):
        vocabulary = Vocabulary.from_tokens([*tokens, b"</s>"], eos_token_id=len(tokens))
        prepare(vocabulary)
        prepare(vocabulary)
        row, walked = np.zeros((2, 1), np.int32)
        matcher = Matcher(Grammar.from_lark('start: /[a-z]+/ " "'), vocabulary)
        matcher.fill_bitmask(row)
        matcher.walk_bitmask(walked)
        assert row == walked


def test_the_list_says_each_once() -> None:
    assert len(set(TERMINALS)) == len(TERMINALS)


def test_a_vocabulary_is_asked_for() -> None:
    with pytest.raises(TypeError, match="must be a Vocabulary, not list"):
        prepare([b"a"])  # type: ignore[arg-type]
