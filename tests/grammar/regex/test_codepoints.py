"""Sets of code points, categories and case folding agree with `re` over all of Unicode."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earleymask.grammar.regex import codepoints, unicode_tables
from earleymask.grammar.regex.python import parse

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))
CASED = "".join(char for char in EVERYTHING if char.lower() != char or char.upper() != char)

codes = st.one_of(st.integers(0, 130), st.integers(0, 0x10FFFF), st.sampled_from([ord(char) for char in CASED]))
pairs = st.lists(st.tuples(codes, codes).map(lambda pair: (min(pair), max(pair))), max_size=8)


def members(ranges):
    """Return the code points as a Python set: slow and plain."""
    return {code for first, last in ranges for code in range(first, last + 1)}


def matched(pattern, flags=0):
    """Return the code points that `re` matches, as ranges."""
    spans = re.finditer(f"(?:{pattern})+", EVERYTHING, flags)
    return tuple((match.start(), match.end() - 1) for match in spans)


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("name", "dDsSwW")
def test_categories_are_those_of_re(name, ascii_only):
    assert codepoints.category(name, ascii_only) == matched(f"\\{name}", re.ASCII if ascii_only else 0)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_each_cased_character_folds_as_in_re(ascii_only):
    flags = re.IGNORECASE | (re.ASCII if ascii_only else 0)
    for char in CASED:
        found = re.compile(re.escape(char), flags).findall(CASED)
        ranges = codepoints.fold_char(ord(char), ascii_only)
        assert ranges == codepoints.normalize([(ord(other), ord(other)) for other in found]), ascii(char)
        assert codepoints.fold(((ord(char), ord(char)),), ascii_only) == ranges


def test_only_cased_characters_fold():
    every_cased = codepoints.normalize([(ord(char), ord(char)) for char in CASED])
    assert codepoints.fold(every_cased, False) == every_cased
    uncased = codepoints.complement(every_cased)
    assert codepoints.fold(uncased, False) == uncased
    assert matched("[" + "".join(map(re.escape, CASED)) + "]", re.IGNORECASE) == every_cased


@pytest.mark.parametrize("name", "dDsSwW")
@pytest.mark.parametrize("flags", ["i", "ia"])
def test_categories_beside_letters_under_ignorecase(name, flags):
    # `re` looks for the lower case of a character in such a class, and categories contain it, too.
    bits = re.IGNORECASE | (re.ASCII if "a" in flags else 0)
    for pattern in (f"[k\\{name}]", f"[^k\\{name}]"):
        assert parse(pattern, flags).ranges == matched(pattern, bits)


@pytest.mark.parametrize("flags", ["", "i", "ia"])
@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z]", "[^a-z]", "[A-Z]", "[^i]", "[h-j]", "[K-S]", "[\u0130]", "[\u212a]", "[\u017f-\u0190]", "[^\u00b5]",
        "[\x00-\xff]",
        "[\u0370-\u03ff]", "[\u1e00-\u2fff]", "[\\x00-\uffff]", "[\U00010400-\U00010410]", "[a-\U00010410]",
        "[@-\\[]", "[.-a]", ".", "[\\s\\S]", "[^\\s\\S]", "[^\\W\\d_]",
    ],
)  # fmt: skip
def test_classes_over_all_of_unicode(pattern, flags):
    if flags == "ia" and "\U00010410" in pattern:
        pytest.skip("re folds ranges beyond the BMP although the ASCII flag is on; see below")
    bits = sum({"i": re.IGNORECASE, "a": re.ASCII}[letter] for letter in flags)
    node = parse(pattern, flags)
    ranges = getattr(node, "ranges", None)
    if ranges is None:
        ranges = ((ord(node.text), ord(node.text)),)
    assert ranges == matched(pattern, bits)


def test_beyond_the_bmp_we_differ_from_re():
    """`_optimize_charset` of re/_compiler.py does not fold such members of a class: capitals then never match, because
    `re` looks for their lower case, and ranges are folded by Unicode's rules even under the ASCII flag."""
    assert parse("[\U00010400-\U00010410]", "ia").ranges == ((0x10400, 0x10410),)
    assert parse("[\U00010400x]", "i").ranges == ((0x58, 0x58), (0x78, 0x78), (0x10400, 0x10400), (0x10428, 0x10428))


@given(pairs, pairs)
def test_algebra(left, right):
    small = [[(first % 300, first % 300 + (last - first) % 20) for first, last in side] for side in (left, right)]
    a, b = map(codepoints.normalize, small)
    assert members(a) == members(small[0])
    assert all(a[i][1] + 1 < a[i + 1][0] for i in range(len(a) - 1))
    assert codepoints.intersection(a, b) == codepoints.normalize([(code, code) for code in members(a) & members(b)])
    assert codepoints.complement(codepoints.complement(a)) == a
    assert codepoints.intersection(a, codepoints.complement(a)) == ()
    assert codepoints.normalize(a + codepoints.complement(a)) == codepoints.ALL
    for code in (0, 5, 150, 299, 0x10FFFF):
        assert codepoints.contains(a, code) == (code in members(a))


@given(pairs, st.booleans())
def test_folding_a_set_folds_its_members(some, ascii_only):
    ranges = codepoints.normalize(some)
    letters = codepoints.intersection(ranges, codepoints.normalize([(ord(char), ord(char)) for char in CASED]))
    folded = [codepoints.fold_char(code, ascii_only) for code in members(letters)]
    assert codepoints.fold(ranges, ascii_only) == codepoints.normalize(ranges + sum(folded, ()))


def test_collected_tables_are_the_tables_in_use():
    tables = unicode_tables.collect()
    assert tables["MADE_FOR"][:2] == sys.version_info[:2]
    for name in ("WORD", "DIGIT", "SPACE", "CASES"):
        assert codepoints._tables()[name] == tables[name]


def test_source_of_the_built_tables_reads_back():
    built = {}
    exec(unicode_tables.source(), built)
    for name, value in unicode_tables.collect().items():
        assert built[name] == value
