"""What is prepared for a vocabulary changes no mask, serves grammars that are written differently, and is made once."""

import json
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earleymask import Grammar, Matcher, Vocabulary, prepare
from earleymask.prepare import FORMATS, TERMINALS
from earleymask.trie import prebuilt
from support import vocabularies
from support.effort import effort
from support.mask_paths import USUAL, filled, limits

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
    return fresh(request.param)


def fresh(name: str) -> Vocabulary:
    """Return the vocabulary of this name, with nothing remembered for it."""
    if name == "made up":
        return made_up()
    found = vocabularies.load(name)
    found.trie.learned = None
    return found


def made_up() -> Vocabulary:
    return Vocabulary.from_tokens([*PIECES, b"</s>"], eos_token_id=len(PIECES))


def cut(vocabulary: Vocabulary, text: str) -> list[int]:
    """Split the text into tokens: long ones, and now and then a single byte."""
    ids = vocabularies.ids(vocabulary)
    data, at, tokens = text.encode(), 0, []
    while at < len(data):
        longest = 1 if len(tokens) % 5 == 4 else 16
        end = next(end for end in range(min(len(data), at + longest), at, -1) if data[at:end] in ids)
        tokens.append(ids[data[at:end]])
        at = end
    return tokens


def compare_masks(vocabulary: Vocabulary, name: str) -> None:
    """Compare every mask of the text with the merged walk, which uses no parts."""
    for row, walked in masks(vocabulary, name):
        assert np.array_equal(row, walked)


def masks(vocabulary: Vocabulary, name: str) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
    """Yield before each token of the text its mask and that of the merged walk."""
    source, text = GRAMMARS[name]
    matcher = Matcher(Grammar.from_lark(source), vocabulary)
    row, walked = np.zeros((2, -(-vocabulary.size // 32)), np.int32)
    for token in cut(vocabulary, text):
        matcher.fill_bitmask(row)
        matcher.walk_bitmask(walked)
        yield row, walked
        assert matcher.accept(token)
    assert matcher.is_accepting()


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_the_same(vocabulary: Vocabulary, name: str) -> None:
    assert prepare(vocabulary)["built"] > 200
    compare_masks(vocabulary, name)


def test_grammars_find_what_was_prepared() -> None:
    """Grammars with other orders and groups, or terminals composed of named ones, use the same parts."""
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
        with limits(**USUAL):  # a debug build makes parts below small nodes, too: those after a quote are not prepared
            filled(matcher)
        assert learned.n_built == before, written


def test_formats_are_prepared() -> None:
    """Along each example, a member with that format makes hardly any part: what is special is the last quote."""
    vocabulary = fresh("tekken")
    prepare(vocabulary)
    learned = vocabulary.trie.learned
    ids = vocabularies.ids(vocabulary)
    for name, texts in FORMATS.items():
        grammar = Grammar.from_json_schema({"properties": {"a": {"type": "string", "format": name}}})
        for text in texts:
            matcher = Matcher(grammar, vocabulary)
            beginning = b'{"a":'
            before = 0
            with limits(**USUAL):
                for at, byte in enumerate(beginning + json.dumps(text).encode()):
                    if at == len(beginning):
                        before = learned.n_built
                    filled(matcher)
                    assert matcher.accept(ids[bytes([byte])]), (name, text, byte)
            assert learned.n_built - before < 5, (name, text)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ('{"b":1,"a', {"type": "object", "properties": {"a": {}}}),
        ('{"b":1,"a', {"type": "object", "patternProperties": {"^[ab]$": {}}, "additionalProperties": False}),
        ('["b","a"', {"type": "array", "uniqueItems": True, "items": {"type": "string"}}),
        ("[1,12", {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}),
        ('{"b":[1]', {"additionalProperties": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}}),
    ],
)
def test_tokens_that_are_tried_one_by_one_are_found_before(text: str, schema: dict[str, object]) -> None:
    """Along an object or an array, no list of tokens is made that depends on the vocabulary alone."""
    n_lists = []
    for is_prepared in (True, False):
        vocabulary = made_up()
        if is_prepared:
            prepare(vocabulary)
        before = vocabulary.stats().get("doubtful_lists", 0)  # none if nothing is known of the vocabulary
        matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
        filled(matcher)
        for character in text:
            assert matcher.accept(cut(vocabulary, character)[0])
            filled(matcher)
        n_lists.append(vocabulary.stats()["doubtful_lists"] - before)
    assert n_lists[0] == 0 < n_lists[1]


def test_again_is_cheap() -> None:
    vocabulary = made_up()
    first = prepare(vocabulary)
    learned = vocabulary.trie.learned
    visited = learned.stats()["part_nodes_visited"]
    assert first["known"] == 0
    assert prepare(vocabulary) == {"built": 0, "taken": 0, "known": first["built"]}
    assert vocabulary.trie.learned is learned and learned.stats()["part_nodes_visited"] == visited
    # Parts that were dropped to save memory are made again.
    vocabulary.trie.learned = None
    assert prepare(vocabulary) == first


def test_memory_can_be_chosen() -> None:
    """The bound holds for all grammars from then on, also after parts were dropped."""
    vocabulary = made_up()
    prepare(vocabulary)
    matchers = [Matcher(Grammar.from_lark(source), vocabulary) for source, _ in GRAMMARS.values()]
    assert vocabulary.stats()["remembered_limit"] == 64 << 20
    with pytest.raises(ValueError, match=r"memory must be from 50331648 to .* bytes, got 1000"):
        prepare(vocabulary, memory=1000)
    with pytest.raises(ValueError, match="got 1180591620717411303424"):
        prepare(vocabulary, memory=1 << 70)
    with pytest.raises(TypeError, match="integer"):
        prepare(vocabulary, memory=1e9)  # type: ignore[arg-type]
    prepare(vocabulary, memory=56 << 20)
    prepare(vocabulary)
    matchers += [Matcher(Grammar.from_lark(source), vocabulary) for source, _ in GRAMMARS.values()]
    for matcher in matchers:
        filled(matcher)
    assert vocabulary.stats()["remembered_limit"] == 56 << 20
    assert vocabulary.stats()["parts_dropped"] == 0
    vocabulary.trie.learned.set_memory(1 << 12)
    for token in cut(vocabulary, GRAMMARS["data"][1]):
        filled(matchers[0])
        assert matchers[0].accept(token)
    assert vocabulary.stats()["parts_dropped"] > 0
    assert vocabulary.stats()["remembered_limit"] == 1 << 12


def test_prepared_parts_stay(vocabulary: Vocabulary) -> None:
    """Only what was learned later is dropped to save memory. The prepared parts serve what comes after, too."""
    built = prepare(vocabulary)["built"]
    before = vocabulary.stats()
    for n in range(100):
        # A counted string, whose parts are made from a family that is prepared; a number; and something new.
        terminals = (
            rf"""/"([^"\\\x00-\x1f]){{3,{20 + n}}}"/ | /[A-Za-z_]\w*[{n % 10}]/ """
            rf"""| /[^{n:x}]{{2,{10 + n}}};/ | /-?[0-9]+/"""
        )
        matcher = Matcher(Grammar.from_lark(f"start: {terminals}"), vocabulary)
        if n == 79:
            vocabulary.trie.learned.set_memory(vocabulary.stats()["part_bytes"] * 15 // 16)
        for token in cut(vocabulary, '"ab 1')[:3]:
            filled(matcher)
            if n % 15 == 14:
                check(matcher)
            assert matcher.accept(token)
        assert vocabulary.stats()["parts"] >= before["parts"]
        assert vocabulary.stats()["part_families"] >= before["part_families"]
        vocabulary.trie.learned.set_memory(64 << 20)
    assert vocabulary.stats()["parts_dropped"] == 1
    assert prepare(vocabulary) == {"built": 0, "taken": 0, "known": built}
    for name in GRAMMARS:
        compare_masks(vocabulary, name)
    # What is more than the bound allows does not stay.
    vocabulary.trie.learned.set_memory(vocabulary.stats()["part_bytes"] // 16)
    compare_masks(vocabulary, "data")
    assert vocabulary.stats()["parts_dropped"] > 1
    assert prepare(vocabulary)["built"] > 0


@pytest.mark.parametrize("name", ["tekken", "llama3"])
def test_what_was_there_before_does_not_stay_for_ever(name: str) -> None:
    """`prepare` may come late. What it makes stays all the same, and much else that is there goes."""
    vocabulary = fresh(name)
    prepare(vocabulary)
    n_parts = vocabulary.stats()["parts"]
    vocabulary.trie.learned = None
    matchers = []
    while vocabulary.stats().get("part_bytes", 0) < 20 << 20:
        n = len(matchers)
        matchers.append(
            Matcher(Grammar.from_lark(f"start: /[^{n:x}]{{2,{10 + n}}};/ | /[A-Za-z_]\\w*[{n:x}]/"), vocabulary)
        )
        for token in cut(vocabulary, "ab"):
            filled(matchers[-1])
            assert matchers[-1].accept(token)
    assert prepare(vocabulary)["known"] == 0
    assert vocabulary.stats()["parts"] == n_parts
    for matcher in (matchers[0], matchers[-1]):
        check(matcher)
    compare_masks(vocabulary, "program")


def check(matcher: Matcher) -> None:
    row, walked = np.zeros((2, -(-matcher.vocabulary.size // 32)), np.int32)
    matcher.fill_bitmask(row)
    matcher.walk_bitmask(walked)
    assert np.array_equal(row, walked)


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
    """Preparing works with no token below a blank, with hardly a byte, and with no byte at all."""
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


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_was_saved_is_taken_up(name: str, tmp_path: Path) -> None:
    vocabulary = fresh(name)
    built = prepare(vocabulary, tmp_path)["built"]
    assert [path.suffix for path in tmp_path.iterdir()] == [".earleymask"]
    walked = vocabulary.trie.learned.stats()["part_nodes_visited"]
    again = fresh(name)
    assert prepare(again, tmp_path) == {"built": 0, "taken": built, "known": 0}
    learned = again.trie.learned
    assert learned is not None and learned.n_built == learned.stats()["part_nodes_visited"] == 0 < walked
    for grammar in GRAMMARS:
        compare_masks(again, grammar)
    # Now nothing is read or written.
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    assert prepare(again, tmp_path) == {"built": 0, "taken": 0, "known": built}


def test_what_is_there_already_is_kept(tmp_path: Path) -> None:
    built = prepare(made_up(), tmp_path)["built"]
    vocabulary = made_up()
    compare_masks(vocabulary, "program")
    learned = vocabulary.trie.learned
    done = prepare(vocabulary, tmp_path)
    assert vocabulary.trie.learned is learned
    assert done["built"] == 0 < min(done["taken"], done["known"]) and sum(done.values()) == built
    for grammar in GRAMMARS:
        compare_masks(vocabulary, grammar)


def test_what_is_there_already_is_saved(tmp_path: Path) -> None:
    vocabulary = made_up()
    prepare(vocabulary)
    assert prepare(vocabulary, tmp_path / "deep" / "er")["built"] == 0
    assert prepare(made_up(), tmp_path / "deep" / "er")["built"] == 0


def test_another_process_makes_the_same_file(tmp_path: Path) -> None:
    """The file does not depend on addresses, on the order of sets, or on what was there before."""
    program = "import sys, earleymask; earleymask.prepare(earleymask.Vocabulary.bytes(), sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "one")], check=True)
    vocabulary = Vocabulary.bytes()
    compare_masks(vocabulary, "query")
    prepare(vocabulary)
    compare_masks(vocabulary, "program")
    prepare(vocabulary, tmp_path / "other")
    one, other = (prebuilt.load(tmp_path / name, vocabulary.fingerprint) for name in ("one", "other"))
    assert one is not None and other is not None and list(one) == list(other)
    for name in one:
        assert np.array_equal(one[name], other[name]), name


def damage_file(data: bytearray) -> None:
    data[len(data) // 2] ^= 1


def damage_end(data: bytearray) -> None:
    del data[-1:]


def damage_all(data: bytearray) -> None:
    data[:] = b"something else"


@pytest.mark.parametrize("damage", [damage_file, damage_end, damage_all])
def test_a_damaged_file_is_replaced(damage: Any, tmp_path: Path) -> None:
    built = prepare(made_up(), tmp_path)["built"]
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="the file was replaced by a new one$") as told:
        assert prepare(made_up(), tmp_path) == {"built": built, "taken": 0, "known": 0}
    assert [warning.filename for warning in told] == [__file__]  # the warning names the caller's file
    assert str(path) in str(told[0].message) and "delete" not in str(told[0].message)
    assert prepare(made_up(), tmp_path)["taken"] == built


def test_a_file_of_another_vocabulary_is_replaced(tmp_path: Path) -> None:
    prepare(Vocabulary.bytes(), tmp_path)
    (path,) = tmp_path.iterdir()
    vocabulary = made_up()
    path.rename(prebuilt.path_of(tmp_path, vocabulary.fingerprint))
    with pytest.warns(RuntimeWarning, match="made for the vocabulary"):
        assert prepare(vocabulary, tmp_path)["taken"] == 0
    # The same if the file says otherwise.
    arrays = prebuilt.load(tmp_path, vocabulary.fingerprint)
    assert arrays is not None
    prebuilt.save(tmp_path, Vocabulary.bytes().fingerprint, arrays)
    with pytest.warns(RuntimeWarning, match="replaced by a new one"):
        assert prepare(Vocabulary.bytes(), tmp_path)["taken"] == 0


def test_a_quotient_without_parts(tmp_path: Path) -> None:
    vocabulary = made_up()
    prepare(vocabulary)
    prebuilt.save(tmp_path, vocabulary.fingerprint, vocabulary.trie.learned.quotient.arrays())
    again = made_up()
    assert prepare(again, tmp_path)["taken"] == 0 < prepare(made_up(), tmp_path)["taken"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    vocabulary = made_up()
    with pytest.raises(OSError, match="file"):
        prepare(vocabulary, tmp_path / "file")
    assert prepare(vocabulary)["built"] == 0


def saved_parts() -> dict[str, npt.NDArray[Any]]:
    with tempfile.TemporaryDirectory() as folder:
        prepare(made_up(), folder)
        arrays = prebuilt.load(folder, made_up().fingerprint)
        assert arrays is not None
        return arrays


SAVED = saved_parts()
VALUES = st.sampled_from([0, 1, 2, 31, 255, 2**16, 2**31, 2**32 - 2, 2**32 - 1]) | st.integers(0, 2**32 - 1)
# The numbers of the first records are near the beginning; small changes make values that are nearly right.
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 200) | st.integers(0, len(SAVED["parts"]) - 1),
        VALUES | st.integers(-3, 3).map(lambda step: -10 + step),
    ),
    min_size=1,
    max_size=4,
)


@given(CHANGES, st.none() | st.integers(0, len(SAVED["parts"])))
@settings(max_examples=effort(50, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wrong_words_are_no_harm(tmp_path: Path, changes: list[tuple[int, int]], end: int | None) -> None:
    """With a right checksum and wrong words, masks may be wrong, but only the vocabulary's own memory is read."""
    parts = SAVED["parts"].copy()
    for at, value in changes:
        parts[at] = value if value >= 0 else (int(parts[at]) + value + 10) % 2**32
    vocabulary = made_up()
    prebuilt.save(tmp_path, vocabulary.fingerprint, {**SAVED, "parts": parts[:end]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        done = prepare(vocabulary, tmp_path)
    assert sum(done.values()) == prepare(vocabulary)["known"]
    for name in GRAMMARS:
        for row, _ in masks(vocabulary, name):
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            assert len(bits) == -(-vocabulary.size // 32) * 32 and not bits[vocabulary.size :].any()
