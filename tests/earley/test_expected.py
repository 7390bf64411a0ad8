"""`expected()`, `temperature()` and explanations name a lexeme exactly if a sentence goes on with it."""

from __future__ import annotations

import itertools

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support.lark_oracle import strings
from support.lexemes import compiled

BYTES = Vocabulary.bytes()
LONGEST = 6  # of the sentences that the definition looks at
READ = 3  # of the texts after which lexemes are expected


def by_definition(terminals: dict[str, str], ignored: str, alphabet: str) -> dict[str, set[str]]:
    """Return which terminals may begin or continue after each text that begins a sentence. A sentence is any list of
    lexemes; a lexeme counts if `re` matches it with the whole rest of the text in view."""
    patterns = {**terminals, **({"ignored 1": ignored} if ignored else {})}
    found: dict[str, set[str]] = {}
    for text in strings(alphabet, LONGEST):
        n = len(text)
        lexemes = [
            (name, begin, end)
            for begin, end in itertools.combinations(range(n + 1), 2)
            for name, pattern in patterns.items()
            if compiled(pattern, n - end).match(text, begin)
        ]
        leading, ending = {0}, {n}  # places to which lexemes lead, and from which they lead to the end
        for _, begin, end in lexemes:
            leading |= {end} if begin in leading else set()
        for _, begin, end in reversed(lexemes):
            ending |= {begin} if end in ending else set()
        if 0 in ending:
            for place in range(min(n, READ) + 1):
                found.setdefault(text[:place], set())
            for name, begin, end in lexemes:
                if begin in leading and end in ending:
                    for place in range(begin, min(end, READ + 1)):
                        found[text[:place]].add(name)
    return found


CASES = {
    "names beside each other": ({"NAME": "(?!(?:ab|ba)\\b)[ab]+", "DOT": "c"}, " ", "abc "),
    "what a name may not be followed by": ({"NAME": "[ab]+(?! ?(?:ab|b)\\b)", "DOT": "c"}, "", "abc "),
    "and blanks": ({"NAME": "a+(?! ?b\\b)", "B": "b", "BLANK": " b?"}, "", "ab "),
    "one text of a terminal is excluded": ({"A": "a(?!bb|ba)", "B": "b", "BB": "bbc?", "C": "c"}, "", "abc"),
    "what must follow": ({"A": "a(?=bb|cb)", "B": "b", "C": "c+"}, "", "abc"),
    "ignored text that is excluded": ({"A": "a(?! b)", "B": "b"}, " +", "ab "),
    "two demands": ({"A": "a(?!b.c)", "B": "b(?!cc)", "C": "c+"}, "", "abc"),
    "no lookahead": ({"A": "a+", "B": "ab", "C": "c"}, "", "abc"),
}


@pytest.mark.parametrize("case", CASES)
def test_terminals_that_demands_exclude_are_not_expected(case: str) -> None:
    terminals, ignored, alphabet = CASES[case]
    wanted = by_definition(terminals, ignored, alphabet)
    assert len(wanted) > 10
    ends = [*[f"{name}: /{pattern}/" for name, pattern in terminals.items()], f"%ignore /{ignored}/" if ignored else ""]
    check("\n".join([f"start: ({' | '.join(terminals)})*", *ends]), wanted, {})
    rules = {f"x{i}[temperature={i}]: {name}": f"x{i}" for i, name in enumerate(terminals)}
    source = "\n".join([f"start: ({' | '.join(rules.values())})*", *rules, *ends])
    named = dict(zip(terminals, rules.values(), strict=True))  # the parser knows such a terminal by the rule's name
    renamed = {text: {named.get(name, name) for name in names} for text, names in wanted.items()}
    check(source, renamed, {name: i for i, name in enumerate(rules.values())})


def check(source: str, wanted: dict[str, set[str]], temperatures: dict[str, int]) -> None:
    start = Matcher(Grammar.from_lark(source), BYTES)
    for text, names in wanted.items():
        matcher = start.fork()
        for byte in text.encode():
            assert matcher.accept(byte), text
        assert set(matcher.expected()) == names, text
        assert matcher.temperature() == max([temperatures[name] for name in names & temperatures.keys()], default=None)
        if len(text) < READ:
            assert {each.terminal for each in matcher.explain("#").expected} == names, text


def test_a_terminal_that_covers_a_tag_is_not_expected() -> None:
    """Where a tag commits, other text with the tag in it ends, so it cannot be what comes next."""
    grammar = Grammar.from_lark('start: tool | OTHER | TEXT\ntool[commit]: "<t>" TEXT\nOTHER: "<t>y"\nTEXT: /[^#]+/')
    matcher = Matcher(grammar, BYTES)
    assert set(matcher.expected()) == {'"<t>"', "TEXT"}
    for byte in b"<t":
        assert matcher.accept(byte)
    assert set(matcher.expected()) == {'"<t>"', "TEXT"}
    assert {each.terminal for each in matcher.explain("#").expected} == {'"<t>"', "TEXT"}
    assert matcher.accept(ord("y"))
    assert matcher.expected() == ["TEXT"]
