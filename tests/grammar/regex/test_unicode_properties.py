"""`Script_Extensions` follows its rules, and agrees with Perl if that has the same version of Unicode."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from earleymask.grammar.regex.unicode_properties import UnknownProperty, find
from earleymask.grammar.regex.unicode_scripts import EXTENSIONS, SCRIPTS

NAMES = [line.partition(":")[0].split()[0] for line in SCRIPTS.strip().split("\n") if not line.startswith(" ")]
PERL = """use Unicode::UCD qw(prop_invmap);
print Unicode::UCD::UnicodeVersion(), "\\n";
my ($begins, $values) = prop_invmap("Script_Extensions");
for my $i (0 .. $#$begins) { my $v = $values->[$i]; print "$begins->[$i] ", (ref $v ? join(" ", @$v) : $v), "\\n" }"""


def members(name: str) -> set[int]:
    return {code for first, last in find(name, loose=False) for code in range(first, last + 1)}


def test_extensions_hold_the_script_but_for_what_is_common() -> None:
    everywhere: set[int] = set()
    for name in NAMES:
        script, extended = members(f"Script={name}"), members(f"Script_Extensions={name}")
        if name in ("Common", "Inherited"):
            assert extended < script
            everywhere |= script - extended
        else:
            assert script <= extended
    assert everywhere
    # Characters taken from these two belong to some scripts; all that scripts have beside their own comes from them.
    others = [members(f"scx={name}") - members(f"sc={name}") for name in NAMES if name not in ("Common", "Inherited")]
    assert everywhere <= set().union(*others)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (0x0660, {"Arabic", "Thaana", "Yezidi"}),  # ARABIC-INDIC DIGIT ZERO
        (0x30FC, {"Hiragana", "Katakana"}),  # KATAKANA-HIRAGANA PROLONGED SOUND MARK
        (0x0342, {"Greek"}),  # COMBINING GREEK PERISPOMENI
        (0x0041, {"Latin"}),
        (0x0020, {"Common"}),
    ],
)
def test_characters_of_several_scripts(code: int, names: set[str]) -> None:
    assert {name for name in NAMES if code in members(f"scx={name}")} == names


def test_names_are_those_of_scripts() -> None:
    listed = {line.partition(":")[0] for line in EXTENSIONS.strip().split("\n") if not line.startswith(" ")}
    assert listed <= set(NAMES)
    assert find("Script_Extensions=Grek", loose=False) == find("script extensions: greek", loose=True)
    with pytest.raises(UnknownProperty, match="Script_Extensions=Nowhere"):
        find("Script_Extensions=Nowhere", loose=False)
    with pytest.raises(UnknownProperty):
        find("script_extensions=Greek", loose=False)


def test_perl_has_the_same_sets() -> None:
    perl = shutil.which("perl")
    asked = subprocess.run([perl, "-e", PERL], capture_output=True, text=True, check=False) if perl else None
    lines = asked.stdout.splitlines() if asked is not None else []
    if not lines or lines[0] != "14.0.0":
        pytest.skip("there is no Perl with Unicode 14")
    rows = [line.split() for line in lines[1:]]
    found: dict[str, set[int]] = {}
    for (begin, *names), after in zip(rows, [*[row[0] for row in rows[1:]], "1114112"], strict=True):
        for name in names:
            found.setdefault(name, set()).update(range(int(begin), int(after)))
    for name in NAMES:
        assert members(f"scx={name}") == found[name], name
