"""Hostile and clumsy grammars as texts: Lark's syntax, GBNF, regexps, and choices.

Each family is a function of a `Random` and a size, and returns a text. A size of some thousands makes the largest
texts, so that limits on time and memory are reached as well as those on numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from fuzz.targets import WORDS, seeds, text_of
from support.paths import ROOT
from support.strategies import SMALL, make_gbnf, make_grammar, make_pattern, make_small_grammar

Family = Callable[[Random, int], str]

PIECES = [
    '"a"', '"ab"', "/a/", "/[ab]/", "/[a-c]*b?/", "/(a|b)+/", '"b"i', "/a{0,9}/", "A", "B", "(A|B)", "[A]", "start",
]  # fmt: skip
LOOKS = [
    "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", r"\b", r"\B", "(?=[ab]{2})", "(?!a*b)", "(?<!ab)", "(?=.*c)", "(?!.*ab)",
    "$", "^",
]  # fmt: skip
TERMINALS = 'A: /a+b*/\nB: "b" | /[ab]{1,3}/\n'


def operators(rng: Random, text: str, n: int, wrap: list[str]) -> str:
    """Put `text` within `n` operators, each a format with `{}` in it."""
    before, after = [], []
    for _ in range(n):
        left, right = rng.choice(wrap).split("{}")
        before.append(left)
        after.append(right)
    return "".join(reversed(before)) + text + "".join(after)


# --- Lark's syntax ---------------------------------------------------------------------------------------------------


def nested(rng: Random, n: int) -> str:
    wrap = rng.choice(
        [["[{}]"], ["[{}]", "({})*", "({})+"], ["({})~0..3", "({})?"], ["({} | )"], ["({})*"], ["[{}]", '({} "x")*']]
    )
    return f"start: {operators(rng, rng.choice(PIECES[:8]), min(n, 110), wrap)}\n"


def in_a_row(rng: Random, n: int) -> str:
    kinds = rng.sample(['"a"*', "/a/*", "/a*/", "[A]", "(A|B)*", '["a" "b"]', "/.*?/", "/.*/", "B?", "(A B?)*"], 3)
    return f"start: {' '.join(rng.choice(kinds) for _ in range(n))}\n{TERMINALS}"


def chain(rng: Random, n: int) -> str:
    step = rng.choice(['r{} "a"', 'r{} | "a"', "r{}", '"a" r{} "b" |', "[r{}] r{}", 'r{} r{} | "a"', "r{}*"])
    rules = [f"r{i}: {step.replace('{}', str(i + 1))}\n" for i in range(n)]
    return "start: r0\n" + "".join(rules) + f'r{n}: "z"\n'


def tangle(rng: Random, n: int) -> str:
    """Rules that derive each other and nothing, in circles, hidden left recursion included."""
    rules = []
    for i in range(n):
        ways = []
        for _ in range(rng.randint(1, 3)):
            names = [f"r{rng.randrange(n)}" for _ in range(rng.randint(0, 3))]
            ways.append(" ".join(rng.choice(["{}", "{}", "[{}]", "{}*", "{}~0..2"]).format(name) for name in names))
        rules.append(f"r{i}: {' | '.join(ways)} | {rng.choice(['', rng.choice(PIECES[:8])])}\n")
    return "start: r0 r1?\n" + "".join(rules) + ("r1: \n" if n == 1 else "")


AMBIGUOUS = [
    'start: start start | start start start | "a" |',
    'start: "a" start "a" | "b" start "b" | "a" | "b" |',
    'start: "a" start | start "a" | start "a" start |',
    'start: x x x x\nx: x "a" | "a" x | "a" |',
    "start: (/a*/ /a+/ /[ab]*/)*",
    'start: ("a" | "aa" | "aaa" | "aaaa")*',
    'start: x*\nx: "a" y | y\ny: "a"* | "b"* x',
    "start: (A | B | /[ab]{2,70}/ | /a.*?b/)*\n" + TERMINALS,
    'start: x "c" | y "d"\nx: "a" x "b" |\ny: "a" y "b" "b" |',
    'start: "a"~0..60 "a"~0..60 "a"~0..60',
]


def ambiguous(rng: Random, n: int) -> str:
    return rng.choice(AMBIGUOUS) + "\n"


def overlapping(rng: Random, n: int) -> str:
    names = [f"T{i}" for i in range(min(n, 3000))]
    terminals = "".join(f"{name}: /{make_pattern(rng, 2).replace('/', '')}x?/\n" for name in names)
    return f"start: ({' | '.join(names)}){rng.choice('*+')}\n{terminals}"


def counted(rng: Random, n: int) -> str:
    def count() -> str:
        least = rng.choice([0, 1, rng.randrange(n + 1)])
        return f"~{least}..{least + rng.randrange(n + 1)}"

    text = rng.choice(PIECES[:8])
    for _ in range(rng.randint(1, 4)):
        text = f"({text}){count()}"
    return f"start: {text} {rng.choice(PIECES[:8])}{count()}\n"


def words(rng: Random, n: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"[: rng.choice([2, 5, 26])]
    listed = sorted({"".join(rng.choices(letters, k=rng.randint(1, 8))) for _ in range(max(1, n))})
    kind = rng.choice(
        ["(?!(?:{})\\b)[a-z]+", "[a-z]+(?<!{})", "[a-z]+(?!{})", "(?!(?:{})[^a-z])[a-z]+ ?", "[a-z]+(?! (?:{})\\b)"]
    )
    name = kind.format("|".join(listed))
    rule = rng.choice(["NAME+", 'NAME ("," NAME)*', "KW | NAME", "(KW NAME)* NAME", 'NAME (" " NAME)*'])
    some = " | ".join(f'"{word}"' for word in listed[: rng.randint(1, len(listed))])
    ignored = rng.choice(["", "%ignore / +/\n"])
    return f"start: {rule}\nNAME: /{name}/{rng.choice(['', 'i'])}\nKW: {some}\n{ignored}"


def looking(rng: Random, n: int) -> str:
    """Terminals that look at the text around them, next to each other. Some look too far, or before themselves."""
    looks = LOOKS if rng.random() < 0.2 else [look for look in LOOKS if "*" not in look]
    first = "" if rng.random() < 0.2 else rng.choice(["a", "[ab]", r"\w"])
    lines = []
    for i in range(min(n, 60)):
        parts = [
            rng.choice(looks) if rng.random() < 0.4 else make_pattern(rng, 1, lazy=False)
            for _ in range(rng.randint(1, 5))
        ]
        lines.append(f"T{i}: /{first}{''.join(parts).replace('/', '')}/\n")
    names = [f"T{i}" for i in range(len(lines))]
    return f"start: ({' | '.join(names)} | /[ab]/)*\n" + "".join(lines)


def templates(rng: Random, n: int) -> str:
    step = rng.choice(['_t{{x "a"}}', "_t{{x, x}} | x", "_t{{_t{{x}}}}", "x _t{{(x | x)}}", 'x "b" _u{{x}}'])
    return f'start: _t{{"a"~{n % 50}}}\n_t{{x}}: x | {step.format()}\n_u{{y}}: _t{{[y]}} | y\n'


ATTRIBUTES = ["capture", 'capture="x"']
TERMINALS_ONLY = ["temperature=0.5", "max_tokens=3", "lazy", 'stop="b"', 'suffix="ab"', "commit"]


def attributed(rng: Random, n: int) -> str:
    """Rules with attributes; some have an attribute that only a rule of one terminal may have."""
    names = [f"r{i}" for i in range(min(n, 40))]
    rules = []
    for name in names:
        if rng.random() < 0.5:
            body = rng.choice(["/.*/", "/[a-c]*/", "/a+b/", "/(?s:.)+/"])
            chosen = rng.sample(ATTRIBUTES, rng.randint(0, 1)) + rng.sample(TERMINALS_ONLY, 1)
        else:
            body = rng.choice(['"a"*', f"{rng.choice(names)} /b?/", f"({rng.choice(names)} | /a+/)*"])
            chosen = rng.sample(TERMINALS_ONLY if rng.random() < 0.02 else ATTRIBUTES, rng.randint(0, 1))
        attributes = f"[{', '.join(chosen)}]" if chosen else ""
        rules.append(f"{name}{attributes}: {body}\n")
    return f"start: ({' | '.join(names)})*\n" + "".join(rules)


def valued(rng: Random, n: int) -> str:
    width = rng.choice([2, 8, 32, 64])
    act = rng.choice([f"incr([0:{width}])", f"set_bit({n % width})", f"incr([{width // 2}:{width}])", "decr([0:2])"])
    when = rng.choice(
        ["", f" %if lt([0:{width}], {n})", f" %if bit_count_lt([0:{width}], {n % 64})", " %if is_zeros([0:1])"]
    )
    return f'start: x::0\nx::_: "a" x::{act}{when} | "b" x::_ | x::{act} x::_ "c"{when} | ""\n'


def marks(rng: Random, n: int) -> str:
    """Texts that only a reader of grammars meets: brackets, quotes, comments and operators without end."""
    return "start: " + "".join(
        rng.choice(
            ['"', "/", "(", "[", "{", "|", "~", "\\", "//", "%", "\n", "a: ", "é", "\x00", "&", "~1..", "<[", "::"]
        )
        for _ in range(n)
    )


def wide(rng: Random, n: int) -> str:
    body = rng.choice(['"{0}"', "/{0}[a-z]/", "W{0}", '"{0}" start', "/[^{0}]/"])
    ways = " | ".join(body.format(i) for i in range(n))
    return f"start: {ways}\n" + ("".join(f"W{i}: /{i}x*/\n" for i in range(n)) if body == "W{0}" else "")


def random_lark(rng: Random, n: int) -> str:
    return make_grammar(rng).text if rng.random() < 0.5 else make_small_grammar(rng, rng.choice(list(SMALL))).text


@cache
def examples(language: str) -> list[str]:
    """Return grammars in a language: those of the bench, of the fuzzer, and of the documentation."""
    target = language if language in ("lark", "gbnf", "regex") else ""
    found = [text_of(seed) for seed in seeds(target)] if target else []
    for page in sorted((ROOT / "docs").glob("*.md")):
        found += re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        if language == "lark":
            found += re.findall(r'"""\n( *start: .*?)"""', page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return found


def mutated(rng: Random, text: str, language: str, n: int) -> str:
    """Change a text in some places: leave out, repeat, insert, exchange, enlarge numbers."""
    words = WORDS.get(language) or list('{}[]",:')
    for _ in range(rng.choice([1, 1, 1, 2, 6])):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice([1, 3, 20, 200]))
        piece = text[begin:end]
        roll = rng.randrange(6)
        if roll == 0:
            text = text[:begin] + text[end:]
        elif roll == 1:
            text = text[:begin] + piece * rng.randint(2, max(2, min(n, 100_000 // (len(piece) + 1)))) + text[end:]
        elif roll == 2:
            text = text[:begin] + rng.choice(words) + text[begin:]
        elif roll == 3:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + piece + text[at:]
        elif roll == 4:
            text = (
                text[:begin]
                + re.sub(r"\d+", lambda _: str(rng.choice([0, n, 10 ** rng.randint(1, 30)])), piece)
                + text[end:]
            )
        else:
            text = (
                text[:begin]
                + chr(rng.choice([0, 10, 34, 92, 0x7F, 0x2028, 0xD800, 0x10FFFF, rng.randrange(256)]))
                + text[begin + 1 :]
            )
    return text[:300_000]


def changed_lark(rng: Random, n: int) -> str:
    return mutated(rng, rng.choice(examples("lark")), "lark", n)


LARK: dict[str, Family] = {
    family.__name__: family
    for family in (
        nested, in_a_row, chain, tangle, ambiguous, overlapping, counted, words, looking, templates, attributed, valued,
        marks, wide, random_lark, changed_lark,
    )
}  # fmt: skip

# --- GBNF ------------------------------------------------------------------------------------------------------------


def gbnf_nested(rng: Random, n: int) -> str:
    wrap = rng.choice([["({})*"], ["({})?", "({})+"], ["({})COUNT"], ['({} "a")*', "({} | )"]])
    text = operators(rng, "[ab]", min(n, 300), wrap).replace("COUNT", "{0,3}")
    return f"root ::= {text}\n"


def gbnf_chain(rng: Random, n: int) -> str:
    step = rng.choice(["r{}", 'r{} "a"?', "r{} r{} | [a]", "(r{} | [b])*", '"a" r{} "b" | ""'])
    return (
        "root ::= r0\n" + "".join(f"r{i} ::= {step.replace('{}', str(i + 1))}\n" for i in range(n)) + f'r{n} ::= "z"\n'
    )


def gbnf_row(rng: Random, n: int) -> str:
    kinds = rng.sample(["[a]*", "[ab]*", '"a"?', '("a" | "b")*', ".*", "[^a]*", '"ab"{0,3}', "[a-z]{1,99}"], 3)
    return "root ::= " + " ".join(rng.choice(kinds) for _ in range(n)) + "\n"


def gbnf_random(rng: Random, n: int) -> str:
    return make_gbnf(rng).gbnf


def gbnf_changed(rng: Random, n: int) -> str:
    return mutated(rng, rng.choice(examples("gbnf")), "gbnf", n)


GBNF: dict[str, Family] = {
    family.__name__: family for family in (gbnf_nested, gbnf_chain, gbnf_row, gbnf_random, gbnf_changed)
}

# --- regexps ---------------------------------------------------------------------------------------------------------


def regex_nested(rng: Random, n: int) -> str:
    wrap = rng.choice(
        [["(?:{})*"], ["({})?", "(?:{})+"], ["(?:{}x?)*"], ["(?:{}|a)*", "(?:{}){0,2}"], ["(?={})"], ["(?!{})a?"]]
    )
    return operators(rng, rng.choice(["a", "[ab]", "a*", "a|b", ".", "a?b?"]), min(n, 150), wrap)


def regex_row(rng: Random, n: int) -> str:
    kinds = rng.sample(
        ["a*", "[ab]*", ".*", ".*?", "a?", "(a|b)*", r"\w+", r"\d?", "(?:ab?)*", ".{0,9}", r"[^a]*", "(?i:k)?"], 3
    )
    return "".join(rng.choice(kinds) for _ in range(n))


def regex_counts(rng: Random, n: int) -> str:
    text = rng.choice(["a", "[ab]", ".", r"\w", "a|bb", "a?"])
    for _ in range(rng.randint(1, 4)):
        least = rng.choice([0, 1, rng.randrange(n + 1)])
        text = f"(?:{text}){{{least},{least + rng.randrange(n + 1)}}}"
    return rng.choice([".*", "", "[ab]*a", "(?:a|b)*"]) + text


def regex_looks(rng: Random, n: int) -> str:
    return "".join(rng.choice([*LOOKS, *[""] * 3 * len(LOOKS)]) + make_pattern(rng, 1) for _ in range(min(n, 400)))


def regex_lists(rng: Random, n: int) -> str:
    listed = ["".join(rng.choices("abcé", k=rng.randint(0, 9))) for _ in range(n)]
    return rng.choice(["(?:{})*", "(?!{}).*", "{}", "(?i:{})", ".*(?:{}).*", "(?:(?:{}),)*"]).format("|".join(listed))


def regex_random(rng: Random, n: int) -> str:
    return make_pattern(rng, rng.randint(1, 6))


def regex_changed(rng: Random, n: int) -> str:
    return mutated(rng, make_pattern(rng, 4) if rng.random() < 0.5 else rng.choice(examples("regex"))[1:], "regex", n)


REGEX: dict[str, Family] = {
    family.__name__: family
    for family in (regex_nested, regex_row, regex_counts, regex_looks, regex_lists, regex_random, regex_changed)
}

# --- choices: one text a line ----------------------------------------------------------------------------------------


def choices_many(rng: Random, n: int) -> str:
    letters = rng.choice(["a", "ab", "abcdefghij", "é日😀", "ab\ud800"])
    return "\n".join("".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in range(n * 10))


def choices_long(rng: Random, n: int) -> str:
    return "\n".join(rng.choice("ab") * rng.randrange(n * 50 + 1) + str(i) for i in range(rng.randint(1, 20)))


CHOICES: dict[str, Family] = {family.__name__: family for family in (choices_many, choices_long)}
