"""The targets of fuzzing: each is a function of any bytes that raises only if something is wrong.

Text from strangers may be refused with an `EarleymaskError`, and with nothing else. For text that is accepted, masks
must agree with `accept`, must not be empty, and must agree with a slow oracle if there is one.
"""

from __future__ import annotations

import random
import re
import tempfile
import warnings
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import earleymask
from earleymask import EarleymaskError, Grammar, GrammarError, Matcher, Vocabulary
from earleymask.trie import prebuilt
from support.gbnf_twin import Twin
from support.paths import ROOT

FOUND = Path(__file__).resolve().parent / "found"
"""Inputs that once failed, in a folder for each target; the test suite runs them all."""

STEPS = 12
MOST_CALLS = 40
TOKENS = [*(bytes([byte]) for byte in range(256)), b"ab", b"\xc3\xa9", b"e\xcc", b'"a', b": ", b"00", b"  ", b"</s>"]


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens(TOKENS, eos_token_id=len(TOKENS) - 1)


def text_of(data: bytes) -> str:
    """Return any bytes as text; malformed UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def loaded(make: Callable[[], Grammar]) -> Grammar | None:
    """Return the grammar, or None if it is refused with a proper error."""
    try:
        return make()
    except EarleymaskError as error:
        message = str(error)
    assert message
    return None


def walk(grammar: Grammar, seed: int) -> None:
    """Write a few tokens under the grammar; masks must agree with what is accepted and with the plain walk."""
    rng = random.Random(seed)
    try:
        matcher = Matcher(grammar, vocabulary())
        for _ in range(STEPS):
            mask = matcher.mask()
            allowed = mask.nonzero()[0].tolist()
            assert allowed, "a mask is empty"
            for token in rng.sample(range(len(TOKENS)), 4):
                assert matcher.validate([token]) == bool(mask[token]), f"token {token}"
            token = rng.choice(allowed)
            assert matcher.accept(token), f"token {token} was allowed"
            if matcher.is_finished():
                return
    except EarleymaskError:
        return


def accepts(grammar: Grammar, text: str) -> bool | None:
    """Return whether the text is a sentence; None if a limit is reached."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return Matcher(grammar, vocabulary()).validate([*data, len(TOKENS) - 1]) == len(data) + 1
    except EarleymaskError:
        return None


def lark(data: bytes) -> None:
    grammar = loaded(lambda: Grammar.from_lark(text_of(data)))
    if grammar is not None:
        walk(grammar, zlib.crc32(data))


def gbnf(data: bytes) -> None:
    text = text_of(data)
    grammar = loaded(lambda: Grammar.from_gbnf(text))
    if grammar is None:
        return
    walk(grammar, zlib.crc32(data))
    # The twin knows no tokens and no other ends of lines; large counts and nested repetitions take it forever.
    few = len(text) < 200 and len(re.findall(r"[*+?{]", text)) < 10
    if few and not re.search(r"[<!\r]|[0-9]{2}|[5-9]", text):
        twin = Twin.read(text)
        for tried in ("", "a", "ab", "b", "aa", "1", '"', " a"):
            assert accepts(grammar, tried) in (None, twin.matches(tried)), tried


def regex(data: bytes) -> None:
    """A pattern of `re`; the first byte gives the flags."""
    flags = data[0] % 32 if data else 0
    pattern = text_of(data[1:])
    bits = [re.I, re.M, re.S, re.X, re.A]
    wanted = sum(bit for index, bit in enumerate(bits) if flags >> index & 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(pattern, wanted)
        except (re.error, OverflowError, RecursionError, ValueError):
            compiled = None
    grammar = loaded(lambda: Grammar.from_regex(pattern, flags=wanted))
    if grammar is None:
        return
    if compiled is None:
        assert re.search(r"\\[pP]", pattern), "only properties go beyond re"
        return
    walk(grammar, zlib.crc32(data))
    # Nested repetitions and counts may take `re` forever.
    if len(pattern) < 60 and not re.search(r"[0-9]{2}", pattern) and len(re.findall(r"[*+{]", pattern)) < 4:
        for tried in ("", "a", "ab", "b", "aa", "1", "\n", " a", "é", "A", pattern[:4]):
            if not re.search("[\ud800-\udfff]", tried):
                assert accepts(grammar, tried) in (None, compiled.fullmatch(tried) is not None), tried


def choices(data: bytes) -> None:
    texts = text_of(data).split("\n")
    try:
        grammar = Grammar.from_choices(texts)
    except GrammarError:
        assert re.search("[\ud800-\udfff]", "".join(texts))
        return
    walk(grammar, zlib.crc32(data))
    for text in texts[:5]:
        assert accepts(grammar, text)
        assert accepts(grammar, text + "a") == (text + "a" in texts)


LETTERS = b"aaazx019\xc3\xa9\xa9\xe2\x00\xff "
WORDS_OR_NUMBER = re.compile(rb"(?:[a-z]|\xc3\xa9)*|[0-9]+x")
BEGUN = re.compile(rb"(?:[a-z]|\xc3\xa9)*\xc3?|[0-9]+x?")
"""The prefixes of these texts."""


def tokens(data: bytes) -> None:
    """A vocabulary of any tokens. The fuzzer sees no coverage of the core, so each input also seeds random tokens."""
    rng = random.Random(zlib.crc32(data))
    parts = [part for part in data.split(b"\0") if part or rng.random() < 0.1]
    parts += [
        bytes(rng.choices(LETTERS, k=rng.choice((1, 1, 2, 3, 5, 9, 40)))) for _ in range(rng.choice((0, 3, 30, 300)))
    ]
    rng.shuffle(parts)
    try:
        made = Vocabulary.from_tokens([*parts, b"</s>"], eos_token_id=len(parts))
    except EarleymaskError:
        return
    matcher = Matcher(Grammar.from_regex("[a-zé]*|[0-9]+x", flags=re.A), made)
    text = b""
    for _ in range(STEPS):
        *allowed, ends = matcher.mask().tolist()
        assert allowed == [bool(part and BEGUN.fullmatch(text + part)) for part in parts], text
        assert ends == bool(WORDS_OR_NUMBER.fullmatch(text)), text
        if not any(allowed):
            return
        token = rng.choice([token for token, is_allowed in enumerate(allowed) if is_allowed])
        assert matcher.accept(token)
        text += parts[token]


@cache
def saved() -> tuple[bytes, list[int]]:
    """Return the file of what was prepared for the vocabulary, and a mask to compare with."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Vocabulary.from_tokens(TOKENS, eos_token_id=len(TOKENS) - 1)
        earleymask.prepare(fresh, folder)
        data = prebuilt.path_of(folder, fresh.fingerprint).read_bytes()
    return data, expected_tokens(fresh)


def expected_tokens(made: Vocabulary) -> list[int]:
    grammar = Grammar.from_lark("start: ESCAPED_STRING | INT | /[a-z]+/ \n%import common (ESCAPED_STRING, INT)\n")
    matcher = Matcher(grammar, made)
    found: list[int] = matcher.mask().nonzero()[0].tolist()
    matcher.accept(ord('"'))
    return found + matcher.mask().nonzero()[0].tolist()


def prepared(data: bytes) -> None:
    """A file of what was prepared, overwritten by the input, which is pairs of (place, byte), with a new checksum.

    As for `tokens`, the input also seeds random changes at other places."""
    original, expected = saved()
    file = bytearray(original)
    rng = random.Random(zlib.crc32(data))
    for _ in range(rng.choice((0, 0, 1, 3, 30))):
        place = rng.randrange(len(file) - 3)
        word = rng.choice((0, 1, rng.randrange(256), 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32)))
        width = rng.choice((1, 4))
        file[place : place + width] = (word & (256**width - 1)).to_bytes(width, "little")
    for at in range(0, len(data) - 3, 4):
        place = int.from_bytes(data[at : at + 3], "little") % len(file)
        file[place] = data[at + 3]
    magic, size, _, header = prebuilt.PREAMBLE.unpack_from(file)
    checksum = zlib.crc32(memoryview(file)[prebuilt.CHECKED :])
    prebuilt.PREAMBLE.pack_into(file, 0, magic, size, checksum, header)
    fresh = Vocabulary.from_tokens(TOKENS, eos_token_id=len(TOKENS) - 1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        prebuilt.path_of(folder, fresh.fingerprint).write_bytes(file)
        earleymask.prepare(fresh, folder)
    found = expected_tokens(fresh)
    # A file that is wrong but consistent may make masks wrong; it must not make anything read out of bounds.
    assert file != original or found == expected


class Spent(Exception):
    """All bytes of the input are used."""


class Drawn(random.Random):
    """A `Random` that draws from the input, so that the fuzzer makes the choices."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self.data = data
        self.at = 0

    def getrandbits(self, k: int) -> int:
        size = (k + 7) // 8
        if self.at + size > len(self.data):
            raise Spent
        number = int.from_bytes(self.data[self.at : self.at + size], "little")
        self.at += size
        return number & ((1 << k) - 1)

    def random(self) -> float:
        return self.getrandbits(16) / (1 << 16)


def calls(data: bytes) -> None:
    """Small grammars and a sequence of all API calls, as the campaign makes them, each compared with the twin."""
    from campaign.fronts import Source
    from campaign.sessions import Session
    from campaign.walks import calling, make_bounds, small
    from support.mask_paths import limits
    from support.strategies import SMALL, make_small_grammar
    from support.twin import TooMuchWork

    rng = Drawn(data)
    try:
        alphabet = rng.choice(list(SMALL))
        sources = tuple(Source.lark(make_small_grammar(rng, alphabet)) for _ in range(2))
        with limits(**make_bounds(rng)):
            session = Session(sources, small(alphabet), 200_000)
            for number in range(len(sources)):
                session.do("new", number)
            for _ in range(MOST_CALLS if session.pairs else 0):
                session.do(*calling(rng, session))
    except (Spent, TooMuchWork):
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    "lark": lark,
    "gbnf": gbnf,
    "regex": regex,
    "choices": choices,
    "tokens": tokens,
    "prepared": prepared,
    "calls": calls,
}

WORDS: dict[str, list[str]] = {
    "lark": [
        "start: ", "%import common.", "%ignore ", "%declare ", "%extend ", "%override ", "%json {", "%regex {",
        "~1..3", "/[a-z]+/", '"a"i', '"a".."z"', " -> x", ".2: ", "_x{a, b}: ", "<|x|>", "<[1-5]>", "\\\n", "(?=",
        "(?<!", "(?i:", "NUMBER", "ESCAPED_STRING", " & ", "~", "[lazy]", "[stop=", "?x: ", "!x: ", "//", "{2,}",
        "[suffix=/b/]", "%lark { start: ", "x::_: ", "x::0x1", "::incr([0:3])", " %if lt(_, 3)", "and(", "@x",
    ],
    "gbnf": [
        "root ::= ", "\nx ::= ", "[^a-z]", "\\x41", "\\u00e9", "{1,2}", "{2}", "<think>", "<[12]>", "!<", "# ", " | ",
        "()",
    ],
    "regex": [
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i)", "(?P<a>", "(?P=a)", "(?(1)", "{1,3}", "*?", "++", "\\b",
        "\\B", "\\A", "\\Z", "[^", "\\w", "\\D", "\\N{", "\\x41", "\\u00e9", "\\1", "[a-z]", "$", "^", "(?#",
        "(?x-i:", "\\p{L}",
    ],
    "choices": [
        "\n", "ab", "é",
    ],
    "tokens": [
        "é", "</s>",
    ],
    "prepared": [],
    "calls": [],
}  # fmt: skip
"""Words of each target's language, which the fuzzer inserts."""


def seeds(target: str) -> list[bytes]:
    """Return the first inputs of a target."""
    if target == "lark":
        files = sorted((ROOT / "bench" / "grammars").glob("**/*.lark"))
        written = [
            'start: "a" x~2\nx: /b+/ | NUMBER\n%import common.NUMBER\n',
            'start: A & ~/b/ %regex {"substring_words": "a b"} x\nx[suffix="c"]: /.*/\nA: "a" | ~"b"+\n',
            'start: %lark { start: "a" x::0\nx::_: x::incr([0:2]) "b" %if bit_count_lt(_, 2)\n | ""\n%ignore " " }\n',
        ]
        return [file.read_bytes() for file in files] + [text.encode() for text in written]
    if target == "gbnf":
        return [
            b'root ::= "a" x* | [^b-d]{1,2}\nx ::= (x "b")? # c\n',
            b'root ::= "[" ws (v ("," ws v)*)? "]"\nv ::= [0-9]+ | root\nws ::= ([ \\t\\n] ws)?\n',
            b'root ::= <think> [\\x41-\\u00e9]* | | "\\"" .\n  | ("a" |\n "b")+',
        ]
    if target == "regex":
        patterns = [
            "a|b*",
            r"[^a-c\d]{2,3}?",
            r"(?i:k)\w+(?<=a)",
            r"(a)(?P<b>.)",
            "(?x) a # b\n",
            r"\x41[\]\-^]",
            "(?>a+)b",
        ]
        return [b"\0" + pattern.encode() for pattern in patterns]
    if target == "calls":
        return [random.Random(number).randbytes(600) for number in range(3)]
    return [b"a\nab\n\xc3\xa9", b"\0a\0b\0ab", b"\x40\0\0\1\x80\2\0\7"]
