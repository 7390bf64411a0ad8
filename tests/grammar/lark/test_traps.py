"""Warnings about grammars that mean something else than their authors may think, and that the cures they show work."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support.strategies import make_grammar

ROOT = Path(__file__).parents[3]
BYTES = Vocabulary.bytes()
GLUED = "no white space is needed"
FREE = "constrains nothing"
AGAIN = "belongs to the rule"


def warned(text: str, about: str = "") -> list[str]:
    """Return the warnings of this module's kinds, or those that say `about`."""
    kinds = (about,) if about else (GLUED, FREE, AGAIN)
    return [str(found) for found in Grammar.from_lark(text).warnings if any(kind in found.message for kind in kinds)]


def accepts(text: str, *strings: str) -> list[bool]:
    grammar = Grammar.from_lark(text)
    found = []
    for string in strings:
        tokens = [*string.encode(), 256]
        found.append(Matcher(grammar, BYTES).validate(tokens) == len(tokens))
    return found


SPACES = "\n%ignore / +/"
NAME = "\nNAME: /[a-z_]+/i"


@pytest.mark.parametrize(
    ("text", "spaced", "glued"),
    [
        ('start: "select"i NAME' + NAME, "select abc", "selectabc"),
        ('start: SELECT NAME\nSELECT: "SELECT" | "select"' + NAME, "SELECT abc", "SELECTabc"),
        ("start: /select/ NAME" + NAME, "select abc", "selectabc"),
        ("start: /select\\b/i NAME" + NAME, "select abc", "selectabc"),
        ("start: /select(?![a-z_])/i NAME" + NAME, "select abc", "selectabc"),
        ('start: "in" "order" | NAME' + NAME, "in order", "inorder"),
        ('start: "in" ("," | x) | NAME\nx: y?  "z"\ny: "order"' + NAME, "in order z", "inorder z"),
        ('start: "in" "," "order" | NAME' + NAME, "in , order", "in,order"),
        ('start: "limit" /[0-9]+/ | /[a-z]+/', "limit 10", "limit10"),  # `limit1` is no name
        ('start: "limit" /[0-9]+/ | /[a-z][a-z0-9]*/', "limit 10", "limit10"),
        ('start: NAME "from"i "." \nNAME: /[a-z]+/', "abc from.", "abcfrom."),
        ('start: NAME "from"i "." \nNAME: /[a-z]+\\b/', "abc from.", "abcfrom."),
        ("start: NAME /from\\b/i '.' \nNAME: /[a-z]+/".replace("'", '"'), "abc from.", "abcfrom."),
        ('start: "select" NAME\nNAME: /(?!(?:select|from)\\b)[a-z]+/', "select abc", "selectabc"),
        ('start: "select" (NAME & ~KW)\nNAME: /[a-z]+/\nKW: "select" | "from"', "select abc", "selectabc"),
        ('start: "+" NAME | "x" NAME' + NAME, "+ abc", "+abc"),  # no keyword; one letter is none, either
        ('start: "true" ("," "true")*', "true , true", "true,true"),
    ],
)
def test_a_warning_where_a_keyword_and_a_name_may_be_glued(text: str, spaced: str, glued: str) -> None:
    spaced_ok, glued_ok = accepts(text + SPACES, spaced, glued)
    assert spaced_ok
    like_a_name = re.fullmatch("[a-z_]+[a-z0-9 .]*", glued, re.IGNORECASE) and "limit10" not in glued
    expected = glued_ok and (bool(like_a_name) or "[a-z0-9]*" in text)
    assert bool(warned(text + SPACES, GLUED)) == expected
    if "\\b" not in text and "(?!" not in text:  # these demand the white space that would be missing
        assert warned(text, GLUED) == []


def test_the_cure_of_keywords_and_names() -> None:
    text = 'start: "select"i NAME ("," NAME)* "from"i NAME ("where"i NAME)?\nNAME: /[a-z_]+/i' + SPACES
    found = warned(text)
    assert found == [
        'line 1, column 8: no white space is needed after `"select"i` (and 2 other keywords): `selectz` is read as '
        "`select` and `z`, although white space is ignored; to demand it, end the keyword with `\\b`: /select\\b/i",
        "line 2, column 7: no white space is needed between `NAME` and the keywords after it: `xfrom` is read as `x` "
        "and `from`, although white space is ignored; to demand it, end `NAME` with `\\b`",
    ]
    good, bad = "select a , b from c where d", ("selecta from b", "select afrom b", "select a fromb")
    assert accepts(text, good, *bad) == [True] * 4
    cured = re.sub(r'"(\w+)"i', r"/\1\\b/i", text)
    assert warned(cured) == [found[1]] and accepts(cured, good, *bad) == [True, False, True, False]
    cured = cured.replace("+/i", "+\\b/i")
    assert warned(cured) == [] and accepts(cured, good, *bad) == [True, False, False, False]


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ('start: (line "\\n")+\nline[stop="\\n"]: /[^\\n]*/', True),
        ('start: line ("\\n" line)*\nline[stop="\\n", capture]: /[^\\n]*/', True),
        ('start: item+\nitem: "-" line END\nline[stop="\\n"]: /[^\\n]*/\nEND: "\\n" | "\\n\\n"', True),
        ('start: line+\nline[stop="\\n"]: /[^\\n]+/', False),
        ('start: line "." \nline[stop="\\n"]: /[^\\n]+/', False),
        ('start: (line | blank)*\nline[stop="\\n"]: /[^\\n]+/\nblank: "\\n"', False),  # a blank line is no slip
        ('start: (line "\\n")+\nline[suffix="\\n"]: /[^\\n]*/', False),  # which says that it includes the text
    ],
)
def test_a_warning_where_the_text_of_stop_follows_once_more(text: str, again: bool) -> None:
    assert bool(warned(text, AGAIN)) == again


def test_the_cure_of_stop() -> None:
    text = 'start: (line "\\n")+\nline[stop="\\n"]: /[^\\n]*/'
    assert warned(text) == [
        'line 2, column 6: the text of `stop` belongs to the rule `line`, so "\\n" after the rule is a second one; '
        "remove it there, or write the rule without `stop`"
    ]
    assert accepts(text, "a\nb\n", "a\n\nb\n\n") == [False, True]
    for cured in (text.replace('(line "\\n")', "line"), text.replace('[stop="\\n"]', "")):
        assert accepts(cured, "a\nb\n") == [True] and warned(cured) == []


CALL = 'call: upto "=" /[a-z]+/ ";"\nupto[suffix="<f"]: /(?s:.*)/'
KEEPING_OUT = "/(?s:.*)/ & ~/(?s:.*)<f(?s:.*)/"


@pytest.mark.parametrize(
    ("text", "free"),
    [
        (f"start: call* rest\n{CALL}\nrest: /(?s:.*)/", True),
        (f"start: call* rest\n{CALL}\nrest: {KEEPING_OUT}", False),
        (f"start: call* rest\n{CALL}\nrest: /(?s:.)/+", True),
        (f"start: call* rest\n{CALL}\nrest: /[^<]*/", False),
        (f"start: call* rest\n{CALL}\nrest: /(?s:.)/~0..9", False),  # too short for most texts
        (f"start: call* rest\n{CALL}\nrest: char*\nchar: /(?s:.)/", True),
        (f"start: call+\n{CALL}", False),
        (f"start: call* rest\n{CALL}\nrest: NAME\nNAME: /[a-z]+/", False),
        (f"start: call | TEXT\n{CALL}\nTEXT: /(?s:.+)/", True),
        (f"start: TEXT (call TEXT)*\n{CALL}\nTEXT: /(?s:.*)/", True),
        (f"start: TEXT call\n{CALL}\nTEXT: /(?s:.*)/", False),  # a call must come all the same
        (f"start: call* rest\n{CALL.replace('suffix', 'stop')}\nrest: /(?s:.*)/", True),
        (f"start: call* rest\n{CALL.replace('upto[suffix', 'upto[capture, suffix')}\nrest: /(?s:.*)/", True),
        ('start: head* rest\nhead[lazy]: /(?s:.*)<f>/\nrest: /(?s:.*)/', True),
        ('start: head* rest\nhead[lazy]: /(?s:.*)<f>/\nrest: /[^<]*/', False),
        ('start: think answer\nthink[stop="</t>"]: /(?s:.*)/\nanswer: /(?s:.*)/', False),
        ('start: think? answer\nthink[stop="</t>"]: /(?s:.*)/\nanswer: /(?s:.*)/', True),
        ('start: (quoted | /[a-z]+/)*\nquoted[lazy]: "\\"" /(?s:.*)/ "\\""', False),
    ],
)  # fmt: skip
def test_a_warning_where_free_text_stands_beside_a_rule_that_ends_it(text: str, free: bool) -> None:
    assert bool(warned(text, FREE)) == free


def test_the_cure_of_free_text() -> None:
    text = f"start: call* rest\n{CALL}\nrest: /(?s:.*)/"
    assert warned(text) == [
        "line 3, column 1: `upto` constrains nothing: free text, `/(?s:.*)/`, may match the same in its place and go "
        f"on with anything; keep its ending out of that: `{KEEPING_OUT}`, or let it end where the rule has matched: "
        "`upto[commit, ...]`"
    ]
    texts = ("so", "so <f=abc; and", "so <f=ABC", "<f<f")
    assert accepts(text, *texts) == [True] * 4
    cured = text.replace("rest: /(?s:.*)/", f"rest: {KEEPING_OUT}")
    assert accepts(cured, *texts) == [True, True, False, False]
    committing = text.replace("upto[", "upto[commit, ")
    assert warned(committing) == []
    assert accepts(committing, *texts) == [True, True, False, False]


def test_rules_that_stand_for_each_other_in_a_circle() -> None:
    assert warned(f'start: call* | "x" | a*\n{CALL}\na: b | b\nb: a') == []


def test_alternatives_that_can_never_be_finished_do_not_count() -> None:
    text = 'start: "in" NAME NAME | x | NAME\nx: "out" NAME x' + NAME + SPACES
    assert [found.split(":")[1] for found in warned(text, "is needed after")] == [
        ' no white space is needed after `"in"`'
    ]
    assert warned('start: "." | x | NAME\nx: "out" NAME x' + NAME + SPACES, GLUED) == []


def test_large_grammars_are_not_looked_at() -> None:
    names = "\n".join(f'n{i}: "select{i}" NAME' for i in range(1001))
    text = f"start: {' | '.join(f'n{i}' for i in range(1001))}\n{names}{NAME}{SPACES}"
    assert warned(text) == []


@pytest.mark.parametrize("path", sorted((ROOT / "bench" / "grammars").rglob("*.lark")), ids=lambda path: path.stem)
def test_grammars_of_the_benches(path: Path) -> None:
    """Their keywords really need no white space, which is what the benches measure; nothing else is found."""
    text = path.read_text(encoding="utf-8")
    assert warned(text, FREE) == warned(text, AGAIN) == warned(text, "not used") == []
    assert bool(warned(text, GLUED)) == (path.stem not in ("json", "records", "features"))


@pytest.mark.parametrize(
    "text",
    [
        'start: NAME\nNAME: /[a-z]+/ & ~KW\nKW: "if"',
        'start: NAME\nNAME: /[a-z]+/ & ~(KW | K2)\nKW: K3\nK3: "if"\nK2: "in"',
        'start: /[a-z]+/ & ~KW\nKW: "if"',
        'start: x\nx[stop=END]: /[a-z]*/\nEND: ";"',
        "start: x\nx[lazy]: y\ny: T z\nz: T\nT: /[a-z]+;/",
        'start: x::0\nx::_: (NAME & ~KW) x::incr(_) %if lt(_, 3) | "."\nNAME: /[a-z]/\nKW: "i"',
    ],
)
def test_what_is_used_only_within_intersections_and_bodies_is_used(text: str) -> None:
    assert [found.message for found in Grammar.from_lark(text).warnings] == []


def test_what_is_not_used_is_still_found() -> None:
    text = 'start: x\nx[lazy]: y\ny: /[a-z]+;/\nz: "z"\nNAME: /[a-z]+/ & ~KW\nKW: "if"\nK2: "in"'
    assert [str(found) for found in Grammar.from_lark(text).warnings] == [
        "line 4, column 1: rule `z` is not reached from `start`",
        "line 5, column 1: terminal `NAME` is not used",
        "line 7, column 1: terminal `K2` is not used",
    ]


def test_warnings_of_random_grammars_are_found_without_an_error() -> None:
    n_loaded = 0
    for seed in range(120):
        rng = Random(seed)
        text = make_grammar(rng).text + ("\n%ignore / +/" if rng.random() < 0.5 else "")
        try:
            grammar = Grammar.from_lark(text)
        except GrammarError:
            continue
        n_loaded += 1
        assert all(warning.line is not None and warning.message for warning in grammar.warnings), seed
    assert n_loaded > 80


def test_free_text_that_looks_beyond_itself_is_left_alone() -> None:
    assert warned(f"start: call* rest\n{CALL}\nrest: /(?s:.*)(?!x)/", FREE) == []
