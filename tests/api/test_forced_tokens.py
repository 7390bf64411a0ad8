"""`Matcher.forced_tokens` against the cuts of all texts of small grammars, and of random ones with real tokenizers."""

from __future__ import annotations

import pickle
import re
from random import Random

import pytest

from earleymask import Grammar, Matcher, Vocabulary, VocabularyError, VocabularyWarning
from support import vocabularies
from support.effort import effort
from support.small_tokenizers import byte_pairs, some_byte_pairs, some_unigram, unigram

ALPHABET = b"abc"
# Pieces at which the regular expressions of tokenizers take decisions.
PIECES = [
    *(" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n", "\n ", "\n  \n", "\u00a0", "\u3000", "\u200d"),
    *("'", "'s", "'t", "'re", "don", "t", "re", "12", "123", "1234", "7", " 12", "²", "½"),
    *("a", "A", "AB", "ab", "name", "Name", "NAME", " the", " The", "ing", "http", "é", "É", "ß", " é", "e\u0301"),
    *("_", "-", "--", '"', '":', '": "', '",', '{"', "]}", "();", "...", ";\n", "});\n", "://", "/\n", "。"),
    *("中", "文字", "🙂", "👍🏽", "ἐ", "ا", "و", "ก", "<s>", "</s>", "<think>"),
]


def common(cuts: list[list[int]]) -> list[int]:
    """Return the ids with which all lists begin."""
    n = 0
    while all(len(cut) > n for cut in cuts) and len({cut[n] for cut in cuts}) == 1:
        n += 1
    return cuts[0][:n]


def within(vocabulary: Vocabulary, ids: list[int], n_bytes: int) -> list[int]:
    """Return the first ids whose text has at most so many bytes."""
    while len(vocabularies.spell(vocabulary, ids)) > n_bytes:
        ids = ids[:-1]
    return ids


def beginnings(texts: list[str], known: str, longest: int) -> list[str]:
    """Return what texts may begin with: all up to `longest` characters after `known`, at least one unless a text
    ends."""
    found = {text[: len(known) + n] for text in texts for n in range(1, longest + 1) if len(text) >= len(known) + n}
    return sorted([each for each in found | (set(texts) & {known}) if each.startswith(known)])


@pytest.mark.parametrize("kind", ["pairs", "unigram"])
def test_all_texts_of_small_grammars(kind: str) -> None:
    # Every token that all cuts share is given, and no other one: the oracle cuts every text that the grammar allows, up
    # to the length of the longest token after what is known.
    rng = Random(5)
    n_given = n_less = 0
    for _ in range(effort(600, 20_000)):
        vocabulary = (some_byte_pairs if kind == "pairs" else some_unigram)(rng, ALPHABET)
        assert vocabulary.encode is not None
        start = "".join(rng.choices("abc", k=rng.randrange(1, 8)))
        texts = sorted({start + "".join(rng.choices("abc", k=rng.randrange(0, 7))) for _ in range(rng.randrange(1, 6))})
        grammar = Grammar.from_choices(texts)
        history = vocabulary.encode(rng.choice(texts))
        history = history[: rng.randrange(len(history))]
        matcher = Matcher(grammar, vocabulary)
        assert matcher.accept_tokens(history) == len(history)
        known = (vocabularies.spell(vocabulary, list(history)) + matcher.forced_bytes()).decode()
        cuts = [list(vocabulary.encode(text)) for text in beginnings(texts, known, vocabulary.trie.max_depth)]
        expected = within(vocabulary, common(cuts), len(known))
        if expected[: len(history)] != history or not matcher.forced_bytes():
            expected = list(history)
        found = matcher.forced_tokens()
        assert found == expected[len(history) :], (texts, history)
        n_given += len(found) > 0
        n_less += len(expected) < len(vocabulary.encode(known))
    assert n_given > 100 < n_less


def test_endless_continuations() -> None:
    # "abcab" may be followed by any letters. "ca" was learned first, so it stands whatever follows; the last "b" joins
    # a "c" that follows.
    vocabulary = byte_pairs([(b"c", b"a"), (b"b", b"c"), (b"a", b"b")], ALPHABET)
    assert vocabulary.encode is not None
    matcher = Matcher('start: "abcab" /[abc]*/ "a"', vocabulary)
    # "ab" "ca" "b": with "c" after it "ab" "ca" "bc"; with "ca" after it, "b" again.
    assert [vocabulary.token_bytes(t) for t in vocabulary.encode("abcabca")] == [b"ab", b"ca", b"b", b"ca"]
    assert [vocabulary.token_bytes(t) for t in vocabulary.encode("abcabcb")] == [b"ab", b"ca", b"bc", b"b"]
    assert [vocabulary.token_bytes(t) for t in matcher.forced_tokens()] == [b"ab", b"ca"]
    closed = Matcher('start: "abcab" ("a" | "b")', vocabulary)
    assert [vocabulary.token_bytes(t) for t in closed.forced_tokens()] == [b"ab", b"ca", b"b"]


def test_a_continuation_may_change_the_first_token() -> None:
    # The best cut of "abb" is "a" "bb", that of "abba" is "ab" "ba": the last letter decides about the first token.
    vocabulary = unigram({b"a": -1, b"b": -3, b"c": -5, b"ab": -2, b"bb": -2, b"ba": -1})
    assert [vocabulary.token_bytes(t) for t in vocabulary.encode("abb")] == [b"a", b"bb"]  # type: ignore[misc]
    assert [vocabulary.token_bytes(t) for t in vocabulary.encode("abba")] == [b"ab", b"ba"]  # type: ignore[misc]
    assert Matcher('start: "abb" ("a" | "c")', vocabulary).forced_tokens() == []
    assert [vocabulary.token_bytes(t) for t in Matcher('start: "abb" "c"', vocabulary).forced_tokens()] == [
        *(b"a", b"bb"),
        b"c",
    ]


def test_none_after_a_history_that_the_tokenizer_would_not_write() -> None:
    vocabulary = byte_pairs([(b"a", b"b")], ALPHABET)
    a, b, c, ab = range(4)
    matcher = Matcher('start: "ab" ("a" | "b") "cab" ("a" | "c")', vocabulary)
    assert matcher.forced_tokens() == [ab]
    assert matcher.accept_tokens([ab, b]) == 2
    assert matcher.forced_tokens() == [c, ab]
    matcher.rollback(2)
    assert matcher.accept_tokens([a, b, b]) == 3
    assert matcher.forced_tokens() == []
    assert matcher.fork().forced_tokens() == []
    matcher.rollback(3)  # what was remembered of the other history is not used
    assert matcher.forced_tokens() == [ab]


def test_special_tokens_separate_texts() -> None:
    # "a" and "b" do not join across a special token. What is before it must be a cut as well.
    vocabulary = byte_pairs([(b"a", b"b"), (b"b", b"b")], ALPHABET)
    tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
    vocabulary = Vocabulary.from_tokens(
        [*tokens, b""], eos_token_id=5, special_tokens={"<|x|>": 6}, encode=vocabulary.encode
    )
    a, b, ab, bb, x = 0, 1, 3, 4, 6
    matcher = Matcher('start: ("ab" | "a") <|x|> "bb" ("a" | "c")', vocabulary)
    assert matcher.accept_tokens([a, x]) == 2 and matcher.forced_tokens() == [bb]
    matcher.reset()
    assert matcher.accept_tokens([ab, x]) == 2 and matcher.forced_tokens() == [bb]
    matcher.reset()
    assert matcher.accept_tokens([a, b, x]) == 3 and matcher.forced_tokens() == []
    assert Matcher('start: "ab" <|x|>', vocabulary).forced_tokens() == [ab]


def test_budgets() -> None:
    # A rule whose budget is spent ends where it may end: not before its text is complete.
    vocabulary = byte_pairs([(b"a", b"b")], ALPHABET)
    matcher = Matcher('start: x "c"\nx[max_tokens=2]: /abca(b|c)/', vocabulary)
    assert matcher.forced_tokens() == [3, 2]  # "ab" "c"; what is next may be "ab"
    assert matcher.accept_tokens([3, 2, 3]) == 3
    assert matcher.forced_tokens() == [2]


def test_the_end_of_a_sequence() -> None:
    vocabulary = byte_pairs([(b"a", b"b")], ALPHABET)
    matcher = Matcher('start: "ab"', vocabulary)
    assert matcher.forced_tokens() == [3]  # and then EOS, which is no text
    assert matcher.accept(3) and matcher.forced_tokens() == []
    assert matcher.accept(vocabulary.eos_token_ids[0]) and matcher.forced_tokens() == []


def test_a_long_history_is_not_cut_again_and_again() -> None:
    asked: list[int] = []

    def encode(text: str) -> list[int]:
        asked.append(len(text))
        return [256 if letter == "\0" else ord(letter) for letter in text.replace("xy", "\0")]

    tokens = [*(bytes([byte]) for byte in range(256)), b"xy", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=257, encode=encode)
    matcher = Matcher('start: (("a" | "b") "xyz")*', vocabulary)
    for number in range(3000):
        assert matcher.accept(b"ab"[number % 2])
        assert matcher.forced_tokens() == [256, ord("z")]
        assert matcher.accept_tokens([256, ord("z")]) == 2
    assert max(asked) < 3000  # of 12,000 bytes
    matcher.rollback(2)
    assert matcher.accept_tokens([ord("x"), ord("y"), ord("z"), ord("a")]) == 4
    assert matcher.forced_tokens() == []


@pytest.mark.parametrize("unit", ["é中。", "имя ", "12", ".,", "²\u0301"])
def test_a_long_history_without_ascii_letters(unit: str) -> None:
    """A cut may begin at a letter of any script, or at a digit or a sign if there are no letters."""
    asked: list[int] = []

    def encode(text: str) -> list[int]:
        asked.append(len(text.encode()))
        return list(text.encode())

    vocabulary = Vocabulary.bytes().with_encode(encode)
    matcher = Matcher(Grammar.from_lark(f'start: (("[" | "]") "{unit}")*'), vocabulary)
    for number in range(1200):
        assert matcher.accept(b"[]"[number % 2])
        forced = matcher.forced_tokens()
        assert forced and unit.encode().startswith(bytes(forced))
        assert matcher.accept_tokens(unit.encode()) == len(unit.encode())
    assert matcher.n_tokens >= 3600 and max(asked) < 1000


@pytest.mark.parametrize("end", ["", "é", "中"])
def test_a_long_forced_text_is_cut_twice(end: str) -> None:
    asked: list[int] = []

    def encode(text: str) -> list[int]:
        asked.append(len(text.encode()))
        return list(text.encode())

    vocabulary = Vocabulary.bytes().with_encode(encode)
    text = "".join(Random(1).choices(PIECES[16:], k=4000)) + "."
    # What follows differs at once, or inside a character.
    texts = (
        [text + end + "a", text + "ê", text + "丱", text + "b"] if not end else [text + end, text + chr(ord(end) + 1)]
    )
    matcher = Matcher(Grammar.from_choices(texts), vocabulary)
    forced = matcher.forced_tokens()
    assert bytes(forced) == text.encode() and len(forced) > 8000
    assert sum(asked) < 6 * len(forced), "it was asked about all of the text for each token that may follow"
    assert matcher.accept_tokens(forced[:-1]) == len(forced) - 1
    assert matcher.forced_tokens() == forced[-1:]
    asked.clear()
    assert matcher.forced_tokens() == forced[-1:]
    assert max(asked) < 1000


def test_nothing_of_the_history_is_kept() -> None:
    """Many forks of a long sequence would keep it many times."""
    matcher = Matcher('start: ("a" "xyz")*', Vocabulary.bytes())
    assert matcher.accept_tokens(b"axyz" * 500 + b"a") == 2001 and matcher.forced_tokens() == list(b"xyz")
    assert matcher._cut is not None and all(isinstance(each, int) for each in matcher._cut)
    fork = matcher.fork()
    fork.rollback(1)
    assert fork._cut is None and matcher._cut is not None


def test_digits_that_are_grouped_from_the_right() -> None:
    """As some tokenizers do, so that the groups of a number depend on how many digits it has."""
    tokens = [*(bytes([byte]) for byte in range(256)), *(str(n).encode() for n in range(10, 1000)), b""]
    ids = {token: number for number, token in enumerate(tokens)}

    def encode(text: str) -> list[int]:
        pieces = re.findall(r"\d{1,3}(?=(?:\d{3})*(?!\d))|\D", text)
        return [ids.get(part, part[0]) for piece in pieces for part in _parts(piece)]

    def _parts(piece: str) -> list[bytes]:
        data = piece.encode()
        return [data] if data in ids else [data[i : i + 1] for i in range(len(data))]

    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=len(tokens) - 1, encode=encode)
    rng = Random(7)
    n_given = 0
    for _ in range(effort(300, 5000)):
        start = "".join(rng.choices(["x", "7", "12", "345", "a1", "0,"], k=rng.randrange(1, 5)))
        texts = sorted(
            {start + "".join(rng.choices("1234x", k=rng.randrange(0, 5))) for _ in range(rng.randrange(1, 5))}
        )
        cuts = [encode(text) for text in texts]
        history = rng.choice(cuts)
        history = history[: rng.randrange(len(history))]
        matcher = Matcher(Grammar.from_choices(texts), vocabulary)
        assert matcher.accept_tokens(history) == len(history)
        found = matcher.forced_tokens()
        known = vocabularies.spell(vocabulary, history)
        for text, cut in zip(texts, cuts, strict=True):
            if found and text.encode().startswith(known):
                assert cut[: len(history) + len(found)] == [*history, *found], (texts, history, found)
        n_given += len(found)
    assert n_given > 200
    assert Matcher('start: "1234" ("x" | "y")', vocabulary).forced_tokens() == [ids[b"1"], ids[b"234"]]
    assert Matcher('start: "x1234" ("5" | "y")', vocabulary).forced_tokens() == [ids[b"x"]]
    # With tokens of one digit there is nothing to group.
    assert Matcher('start: "x1234" ("5" | "y")', Vocabulary.bytes()).forced_tokens() == list(b"x1234")


def test_ends_inside_characters() -> None:
    # "é" and "è" share their first byte, for which there is a token; that the tokenizer cannot be asked about.
    tokens = [*(bytes([byte]) for byte in range(256)), "é".encode(), b"a\xc3", b""]
    letters = {"é": [256], "è": [0xC3, 0xA8], "a": [0x61]}
    vocabulary = Vocabulary.from_tokens(
        tokens, eos_token_id=258, encode=lambda text: [token for letter in text for token in letters[letter]]
    )
    matcher = Matcher('start: "aa" ("é" | "è")', vocabulary)
    assert matcher.forced_bytes() == b"aa\xc3"
    # The second "a" may be part of the token "a\xc3", as far as is known.
    assert matcher.forced_tokens() == [0x61]


def test_what_the_tokenizer_does_not_spell() -> None:
    lossy = Vocabulary.bytes().with_encode(lambda text: list(text.lower().encode()))
    assert Matcher('start: "abc" ("d" | "e")', lossy).forced_tokens() == list(b"abc")
    assert Matcher('start: "aBc" ("d" | "e")', lossy).forced_tokens() == []
    padding = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"", b""], eos_token_id=256).with_encode(
        lambda text: [*text.encode(), 257, 257]
    )
    assert Matcher('start: "abc" ("d" | "e")', padding).forced_tokens() == []
    beyond = Vocabulary.bytes().with_encode(lambda text: [300])
    assert Matcher('start: "abc" ("d" | "e")', beyond).forced_tokens() == []


def test_without_encode() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b""], eos_token_id=1)
    with pytest.raises(VocabularyError, match=r"does not know how its tokenizer cuts a text.*with_encode\(encode\)"):
        Matcher('start: "a"', vocabulary).forced_tokens()
    matcher = Matcher('start: "a"', Vocabulary.bytes())
    assert matcher.forced_tokens() == [97]
    with pytest.raises(VocabularyError, match="a pickle does not keep it"):
        pickle.loads(pickle.dumps(matcher)).forced_tokens()


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_random_texts_with_real_tokenizers(name: str) -> None:
    # What is given begins the cut of every text that the grammar allows, and most of what these share is given.
    vocabulary = vocabularies.load(name)
    encode = vocabulary.encode
    assert encode is not None
    rng = Random(name)
    n_given = n_shared = 0
    for _ in range(effort(700, 30_000)):
        start = "".join(rng.choices(PIECES, k=rng.randrange(1, 7)))
        ends = ["".join(rng.choices(PIECES, k=rng.randrange(0, 6))) for _ in range(rng.randrange(1, 7))]
        texts = sorted({start + end for end in ends})
        cuts = {text: list(encode(text)) for text in texts}
        if any(vocabularies.spell(vocabulary, cut) != text.encode() for text, cut in cuts.items()):
            continue
        cut = cuts[rng.choice(texts)]
        history = cut[: rng.randrange(min(len(cut), 4))]
        matcher = Matcher(Grammar.from_choices(texts), vocabulary)
        assert matcher.accept_tokens(history) == len(history)
        known = vocabularies.spell(vocabulary, history) + matcher.forced_bytes()
        shared = common([cut for text, cut in cuts.items() if text.encode().startswith(known)])
        shared = within(vocabulary, shared, len(known))[len(history) :]
        found = matcher.forced_tokens()
        assert found == shared[: len(found)], (texts, history)
        n_given += len(found)
        n_shared += len(shared)
    assert n_given > 0.9 * n_shared > 0


@pytest.mark.parametrize("name", ["tekken", "llama3", "deepseek"])
def test_documents_of_a_schema(name: str) -> None:
    # The document is followed by the tokenizer's own tokens; what is forced must be the next ones.
    vocabulary = vocabularies.load(name)
    assert vocabulary.encode is not None
    schema = {
        "type": "object",
        "properties": {
            "description": {"const": 'a text, "quoted"'},
            "descriptor": {"type": "integer"},
            "prénom": {"type": "string"},
            "kinds": {"type": "array", "items": {"enum": ["first", "firstly", "second"]}},
        },
        "required": ["description", "descriptor", "prénom", "kinds"],
        "additionalProperties": False,
    }
    text = r'{"description": "a text, \"quoted\"", "descriptor": -17, "prénom": "Zoë\n", "kinds": ["first", "second"]}'
    tokens = list(vocabulary.encode(text))
    matcher = Matcher(Grammar.from_json_schema(schema, whitespace="spaced"), vocabulary)
    at = n_forced = 0
    while at < len(tokens):
        found = matcher.forced_tokens()
        assert found == tokens[at : at + len(found)]
        n_forced += len(found)
        found = found or [tokens[at]]
        assert matcher.accept_tokens(found) == len(found)
        at += len(found)
    assert n_forced > len(tokens) / 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["padding", "truncation", "both"])
def test_a_tokenizer_that_pads_or_truncates(what: str, when: str) -> None:
    """Tokenizers are shared: another call may switch it on at any time. It does not concern the tokenizer's cut."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = {letter: number for number, letter in enumerate("abcdefgh")}
    model = tokenizers.models.BPE({**letters, "ab": 8, "<pad>": 9, "</s>": 10}, [("a", "b")])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.add_special_tokens(["<pad>", "</s>"])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()

    def switch() -> None:
        if what != "truncation":
            tokenizer.enable_padding(length=16, pad_id=9, pad_token="<pad>")
        if what != "padding":
            tokenizer.enable_truncation(3)

    if when == "before":
        switch()
    with pytest.warns(VocabularyWarning):  # most bytes have no token
        vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=10)
    if when == "after":
        switch()
    assert vocabulary.encode is not None and list(vocabulary.encode("cabd")) == [2, 8, 3]
    assert Matcher('start: "cabdefg" ("a" | "h")', vocabulary).forced_tokens() == [2, 8, 3, 4, 5, 6]
    assert (tokenizer.padding is not None) == (what != "truncation"), "the caller's tokenizer stays as it is"
    assert (tokenizer.truncation is not None) == (what != "padding")


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_long_texts_with_real_tokenizers(name: str) -> None:
    """Texts of which only the end is cut, in the history and in what is forced."""
    vocabulary = vocabularies.load(name)
    encode = vocabulary.encode
    assert encode is not None
    rng = Random(name)
    n_given = n_long = 0
    for _ in range(effort(30, 2000)):
        pieces = PIECES if rng.random() < 0.5 else rng.sample(PIECES, 6)
        start = "".join(rng.choices(pieces, k=rng.randrange(100, 700)))
        ends = ["".join(rng.choices(PIECES, k=rng.randrange(0, 6))) for _ in range(rng.randrange(1, 5))]
        texts = sorted({start + end for end in ends})
        cuts = {text: list(encode(text)) for text in texts}
        if any(vocabularies.spell(vocabulary, cut) != text.encode() for text, cut in cuts.items()):
            continue
        cut = cuts[rng.choice(texts)]
        matcher = Matcher(Grammar.from_choices(texts), vocabulary)
        at = rng.choice([0, rng.randrange(len(cut))])
        assert matcher.accept_tokens(cut[:at]) == at
        while at < len(cut):
            known = vocabularies.spell(vocabulary, cut[:at]) + matcher.forced_bytes()
            found = matcher.forced_tokens()
            for text, other in cuts.items():
                if found and text.encode().startswith(known):
                    assert other[: at + len(found)] == [*cut[:at], *found], (texts, at)
            n_given += len(found)
            n_long += len(known) > 1000 and len(found) > 0
            step = rng.randrange(1, len(found) + 1) if found else 1
            assert matcher.accept_tokens(cut[at : at + step]) == step
            at += step
    assert n_given > 1000 < n_long * 1000


def test_a_unigram_model_of_tokenizers() -> None:
    # As T5 has it: spaces are "▁", and one is put before each text. The grammar's text begins with that space.
    tokenizers = pytest.importorskip("tokenizers")
    space = "\u2581"
    scores = {
        "<unk>": 0.0,
        "</s>": 0.0,
        space: -2.3,
        "a": -2.9,
        "b": -3.1,
        "c": -3.7,
        "ab": -4.2,
        "bc": -4.9,
        "ca": -5.3,
    }
    scores |= {f"{space}a": -4.1, f"{space}ab": -5.2, "abc": -7.7, "bca": -6.1, "cab": -8.3, f"{space}ca": -6.6}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(list(scores.items()), unk_id=0))
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = tokenizers.decoders.Metaspace(prepend_scheme="always")
    with pytest.warns(VocabularyWarning):  # most letters have no token
        vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=1)
    rng = Random(3)
    n_given = n_shared = 0
    for _ in range(effort(500, 10_000)):
        start = " " + "".join(rng.choices("abc ", k=rng.randrange(1, 9)))
        ends = ["".join(rng.choices("abc ", k=rng.randrange(0, 7))) for _ in range(rng.randrange(1, 6))]
        texts = sorted({start + end for end in ends})
        if any("  " in text for text in texts):
            continue  # the tokenizer itself joins a space of the text and the one that it puts before
        matcher = Matcher(Grammar.from_choices(texts), vocabulary)
        shared = common([tokenizer.encode(text[1:], add_special_tokens=False).ids for text in texts])
        shared = within(vocabulary, shared, len(matcher.forced_bytes()))
        found = matcher.forced_tokens()
        assert found == shared[: len(found)], texts
        n_given += len(found)
        n_shared += len(shared)
    assert n_given > 0.8 * n_shared > 0
