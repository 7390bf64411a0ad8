"""Random grammars, patterns, vocabularies and walks, for Hypothesis and for the campaign.

Everything is drawn from a `random.Random`.  The campaign passes one seeded by a number; Hypothesis passes its own
(`st.randoms`), whose choices it records and shrinks.  A grammar is data (`GrammarSketch`), so that a difference can
also be shrunk here, by dropping parts (`smaller`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from support.shrinking import smaller_patterns

# --- patterns --------------------------------------------------------------------------------------------------------

CLASSES = [
    "[a-c]", "[^a]", "[^b-z]", r"\w", r"\d", r"[\w-]", "[à-ü]", "[a1é]", ".", r"[^\"\\\n]", r"[一-龥ぁ-ん]",
    r"[^\x00-\x7f]", "(?i:b)", "(?i:é)", r"[\U0001f300-\U0001faff]", r"\s", r"[\S]", r"[^\W\d]",
    "(?i:[a-k])", r"(?a:\w)", r"\w(?<![ab])", r"[^\n](?<=[\w\"])",
]  # fmt: skip
LITERALS = [
    "a",
    "b",
    "ab",
    "aa",
    "abc",
    "ba",
    "é",
    "日本",
    "😀",
    "0",
    "1",
    "12",
    "_",
    " ",
    "ß",
    "(?i:ab)",
    r"\+",
    r"\.",
    "the",
]
COUNTS = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"]


def make_pattern(rng: Random, depth: int = 2, lazy: bool = True) -> str:
    """Make a pattern of Python's `re` without lookarounds; it may match the empty text."""
    roll = rng.randrange(10) if depth else rng.randrange(5)
    if roll < 3:
        return rng.choice(LITERALS)
    if roll < 5:
        return rng.choice(CLASSES)
    if roll < 7:
        return "".join(make_pattern(rng, depth - 1, lazy) for _ in range(rng.randint(2, 3)))
    if roll < 8 and rng.randrange(4) == 0:  # two ranges of counts, with or without a gap between them
        body, first, second = make_pattern(rng, depth - 1, lazy=False), rng.randint(1, 4), rng.randint(2, 6)
        return f"(?:(?:{body}){{{first}}}|(?:{body}){{{second},{second + rng.randrange(3)}}})"
    if roll < 8:
        return "(?:" + "|".join(make_pattern(rng, depth - 1, lazy) for _ in range(rng.randint(2, 3))) + ")"
    repeated = f"(?:{make_pattern(rng, depth - 1, lazy)}){rng.choice(COUNTS)}"
    return repeated + ("?" if lazy and rng.randrange(4) == 0 else "")


@st.composite
def patterns(draw: st.DrawFn, lazy: bool = True) -> str:
    return make_pattern(draw(st.randoms(use_true_random=False)), draw(st.integers(0, 3)), lazy)


# --- grammars as data ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ref:
    """A rule or a named terminal."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Str:
    text: str
    any_case: bool = False

    def __str__(self) -> str:
        escaped = self.text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"' + ("i" if self.any_case else "")


@dataclass(frozen=True)
class Re:
    pattern: str
    flags: str = ""

    def __str__(self) -> str:
        return "/" + self.pattern.replace("/", r"\/") + "/" + self.flags


@dataclass(frozen=True)
class Span:
    """`"a".."z"`: one character of a range."""

    first: str
    last: str

    def __str__(self) -> str:
        return f"{Str(self.first)}..{Str(self.last)}"


@dataclass(frozen=True)
class Many:
    """A repetition: `op` is `*`, `+`, `?`, `~2`, `~0..2` and the like."""

    body: Element
    op: str

    def __str__(self) -> str:
        return f"({self.body}){self.op}"


@dataclass(frozen=True)
class Choice:
    """`(a b | c)`, or `[a b | c]` if it is optional."""

    alternatives: tuple[Alternative, ...]
    optional: bool = False

    def __str__(self) -> str:
        inside = " | ".join(" ".join(map(str, alternative)) for alternative in self.alternatives)
        return f"[{inside}]" if self.optional else f"({inside})"


@dataclass(frozen=True)
class Use:
    """`name{argument, argument}`: an instance of a template."""

    name: str
    arguments: tuple[Element, ...]

    def __str__(self) -> str:
        return f"{self.name}{{{', '.join(map(str, self.arguments))}}}"


@dataclass(frozen=True)
class Token:
    """One token out of a set, named by ids or by name, as each syntax writes it."""

    lark: str
    gbnf: str

    def __str__(self) -> str:
        return self.lark


Element = Ref | Str | Re | Span | Many | Choice | Use | Token
Alternative = tuple[Element, ...]
Definition = tuple[str, tuple[Alternative, ...]]


@dataclass(frozen=True)
class GrammarSketch:
    rules: tuple[Definition, ...]
    terminals: tuple[Definition, ...] = ()
    ignored: tuple[Element, ...] = ()
    imported: tuple[str, ...] = ()  # terminals of lark's `common`
    decorations: int = 0  # seed of additions that do not change the language; 0: none
    templates: tuple[tuple[str, str, str], ...] = ()  # name, parameters, right-hand side

    @property
    def text(self) -> str:
        rng = Random(self.decorations) if self.decorations else None
        lines = [f"%import common.{name}" for name in self.imported]
        for name, alternatives in self.rules + self.terminals:
            bodies = [" ".join(map(str, a)) for a in alternatives]
            if rng is not None:
                name, bodies = _decorated(rng, name, bodies)
            lines.append(f"{name}: " + "\n    | ".join(bodies))
        lines += [f"{name}{{{parameters}}}: {body}" for name, parameters, body in self.templates]
        return "\n".join(lines + [f"%ignore {element}" for element in self.ignored]) + "\n"

    @property
    def gbnf(self) -> str:
        """Write the language in llama.cpp's syntax; it must consist of strings, classes, repetitions and groups."""
        lines = []
        for name, alternatives in self.rules:
            bodies = [" ".join(map(_gbnf, a)) for a in alternatives]
            bodies[-1] = bodies[-1] or '""'  # a line that ends with `|` would continue on the next one
            lines.append(f"{'root' if name == 'start' else name} ::= " + " | ".join(bodies))
        return "\n".join(lines) + "\n"

    def elements(self) -> Iterator[Element]:
        agenda: list[Element] = [e for _, alternatives in self.rules + self.terminals for a in alternatives for e in a]
        agenda += self.ignored
        while agenda:
            element = agenda.pop()
            yield element
            if isinstance(element, Many):
                agenda.append(element.body)
            elif isinstance(element, Choice):
                agenda += [e for a in element.alternatives for e in a]
            elif isinstance(element, Use):
                agenda += element.arguments


def _gbnf(element: Element) -> str:
    if isinstance(element, Ref):
        return "root" if element.name == "start" else element.name
    if isinstance(element, Many):
        counts = element.op[1:].replace("..", ",")
        return f"({_gbnf(element.body)})" + (f"{{{counts}}}" if element.op[0] == "~" else element.op)
    if isinstance(element, Choice):
        inside = " | ".join(" ".join(map(_gbnf, alternative)) for alternative in element.alternatives)
        return f"({inside})" + "?" * element.optional
    if isinstance(element, Span):
        return f"[{element.first}-{element.last}]"
    if isinstance(element, Re):
        return element.pattern  # a class, which both syntaxes write alike
    if isinstance(element, Token):
        return element.gbnf
    assert isinstance(element, Str) and not element.any_case
    return str(element)


def _decorated(rng: Random, name: str, bodies: list[str]) -> tuple[str, list[str]]:
    """Add priorities, `?` and `!`, aliases and comments: in lark they shape trees, and no language."""
    priority = rng.choice(["", "", ".2", ".-1"])
    if name.isupper():
        return name + priority, [body + rng.choice(["", "", "  // a comment"]) for body in bodies]
    bodies = [body + rng.choice(["", "", f" -> alias_{i}"]) for i, body in enumerate(bodies)]
    return rng.choice(["", "", "?", "!"]) + name + priority, bodies


def smaller(sketch: GrammarSketch) -> Iterator[GrammarSketch]:
    """Yield the sketches with one part dropped or made plainer, for shrinking a difference."""
    used = {e.name for e in sketch.elements() if isinstance(e, Ref)} | {"start"}
    if sketch.decorations:
        yield replace(sketch, decorations=0)
    instances = {e.name for e in sketch.elements() if isinstance(e, Use)}
    for i, (name, _, body) in enumerate(sketch.templates):
        if name not in instances and not any(name in other for _, _, other in sketch.templates if other != body):
            yield replace(sketch, templates=sketch.templates[:i] + sketch.templates[i + 1 :])
    if not used.issuperset(sketch.imported):
        yield replace(sketch, imported=tuple(name for name in sketch.imported if name in used))
    for kind in ("rules", "terminals"):
        definitions: tuple[Definition, ...] = getattr(sketch, kind)
        for i, (name, alternatives) in enumerate(definitions):

            def put(
                *new: Definition, kind: str = kind, i: int = i, old: tuple[Definition, ...] = definitions
            ) -> GrammarSketch:
                return replace(sketch, **{kind: old[:i] + new + old[i + 1 :]})

            if name not in used:
                yield put()
            for fewer in _smaller_alternatives(alternatives):
                if fewer:
                    yield put((name, fewer))
    for i, element in enumerate(sketch.ignored):
        yield replace(sketch, ignored=sketch.ignored[:i] + sketch.ignored[i + 1 :])
        for plainer in _smaller_element(element):
            yield replace(sketch, ignored=(*sketch.ignored[:i], plainer, *sketch.ignored[i + 1 :]))


def _smaller_alternatives(alternatives: tuple[Alternative, ...]) -> Iterator[tuple[Alternative, ...]]:
    for i, alternative in enumerate(alternatives):
        yield alternatives[:i] + alternatives[i + 1 :]
        for j, element in enumerate(alternative):
            yield (*alternatives[:i], alternative[:j] + alternative[j + 1 :], *alternatives[i + 1 :])
            for plainer in _smaller_element(element):
                yield (*alternatives[:i], (*alternative[:j], plainer, *alternative[j + 1 :]), *alternatives[i + 1 :])


def _smaller_element(element: Element) -> Iterator[Element]:
    if isinstance(element, Str):
        if len(element.text) > 1:
            yield Str(element.text[:1])
            yield Str(element.text[1:])
        if element.any_case:
            yield Str(element.text)
    elif isinstance(element, Re):
        yield Str("a")
        yield from (Re(p, element.flags) for p in smaller_patterns(element.pattern))
        if element.flags:
            yield Re(element.pattern)
    elif isinstance(element, Span):
        yield Str(element.first)
    elif isinstance(element, Many):
        yield element.body
        yield from (Many(body, element.op) for body in _smaller_element(element.body))
    elif isinstance(element, Choice):
        for alternative in element.alternatives:
            if len(alternative) == 1:
                yield alternative[0]
        yield from (Choice(fewer, element.optional) for fewer in _smaller_alternatives(element.alternatives) if fewer)
    elif isinstance(element, Use):
        yield from element.arguments
        for i, argument in enumerate(element.arguments):
            for plainer in _smaller_element(argument):
                yield Use(element.name, (*element.arguments[:i], plainer, *element.arguments[i + 1 :]))


# --- making grammars -------------------------------------------------------------------------------------------------

WORDS = ["a", "b", "ab", "aa", "abc", "c", "(", ")", "[", "]", ",", ";", ":", "+", "-", "=", "if", "ifx", "in", "int",
         "é", "日本", "😀", "the", " ", "\"", "0", "1", "ß", "null", "nullable"]  # fmt: skip
COMMON = [
    "INT",
    "SIGNED_NUMBER",
    "CNAME",
    "ESCAPED_STRING",
    "WS_INLINE",
    "HEXDIGIT",
    "NEWLINE",
    "SQL_COMMENT",
    "C_COMMENT",
]
SPANS = [Span("a", "c"), Span("0", "9"), Span("é", "ü"), Span(" ", "~"), Span("あ", "ん")]
BLANKS: list[Element] = [
    Str(" "),
    Re(r"\s+"),
    Re(r"[ \t\n]+"),
    Re(r"#[^\n]*"),
    Re(r"/\*(.|\n)*?\*/"),
    Str("_"),
    Re("a+"),
    Re("(?:ab)+"),
]
TERMINALS = [
    r"[a-z]+", r"[a-zA-Z_]\w*", r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", r'"[^"\\]*"', r'".*?"', r'".*?(?<!\\)(\\\\)*?"',
    r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u[0-9a-f]{4})*"', r"[0-9a-f]{2,4}", r"\w{1,5}", r"[^\W\d_]+", r".{2,3}",
    r"[一-龥]+", r"[\U0001f600-\U0001f64f]+", r"(?:ab|a)(?:bc|c)?", r"\S+", r"(?:a|aa){1,4}", r"a*", r"[^,]+",
    r"/\*(?:.|\n)*?\*/",
]  # fmt: skip
SHAPES = [
    (("start", ((Ref("r0"),), (Ref("start"), Str(","), Ref("r0")))),),  # left-recursive list
    (("start", ((Ref("r0"),), (Ref("r0"), Str(","), Ref("start")))),),  # right-recursive list
    # mutually right-recursive
    (
        ("start", ((Ref("x"),),)),
        ("x", ((Ref("r0"),), (Ref("r0"), Ref("y")))),
        ("y", ((Str(";"), Ref("x")), (Ref("x"),))),
    ),
    # ambiguous
    (("start", ((Ref("start"), Str("+"), Ref("start")), (Str("("), Ref("start"), Str(")")), (Ref("r0"),))),),
    (("start", ((Ref("x"),), (Ref("r0"),))), ("x", ((Ref("start"),), (Str("["), Ref("x"), Str("]"))))),  # a cycle
    (("start", ((Str("("), Ref("start"), Str(")"), Ref("start")), ())), ),  # nested, nullable
    # right-recursive with a nullable tail
    (("start", ((Ref("r0"), Ref("start"), Ref("ws")), (Ref("r0"),))), ("ws", ((Many(Str(" "), "*"),),))),
    # a list in braces, as in JSON
    (("start", ((Str("{"), Choice(((Ref("r0"), Many(Choice(((Str(","), Ref("r0")),)), "*")),), True), Str("}")),)),),
]  # fmt: skip


def make_grammar(rng: Random, *, plain: bool = False) -> GrammarSketch:
    """Make a grammar; a `plain` one, for lark as the oracle, has no nullable terminals or overlapping ignored text."""
    terminals: list[Definition] = []
    for i in range(rng.randint(0, 3)):
        known = [name for name, _ in terminals]
        terminals.append((f"{'_' * (rng.randrange(5) == 0)}T{i}", _make_terminal(rng, plain, known)))
    imported = tuple(rng.sample(COMMON, rng.choice([0, 0, 0, 1, 2])))
    terminal_names = [name for name, _ in terminals] + list(imported)
    names = [f"r{i}" for i in range(rng.randint(1, 3))]
    rules: list[Definition] = []
    if rng.randrange(3):
        rules += rng.choice(SHAPES)
    else:
        rules.append(("start", _make_alternatives(rng, ["start", *names], terminal_names, plain)))
    for name in names:
        rules.append((name, _make_alternatives(rng, ["start", *names], terminal_names, plain)))
    ignored: tuple[Element, ...] = ()
    if rng.randrange(3) == 0:
        ignored = (Str("~"),) if plain else tuple(rng.sample(BLANKS, rng.randint(1, 2)))
    decorations = rng.choice([0, 0, rng.randrange(1, 1000)])
    return GrammarSketch(tuple(rules), tuple(terminals), ignored, imported, decorations)


def _make_alternatives(rng: Random, names: list[str], terminals: list[str], plain: bool) -> tuple[Alternative, ...]:
    found: list[Alternative] = []
    for _ in range(rng.randint(1, 3)):
        length = rng.choice([0, 1, 1, 2, 2, 2, 3, 4])
        alternative = tuple(_make_element(rng, names, terminals, plain, depth=2) for _ in range(length))
        if alternative not in found:
            found.append(alternative)
    if all(any(isinstance(e, Ref) and e.name in names for e in a) for a in found):
        found.append((_make_leaf(rng, terminals, plain),))  # most grammars should have sentences
    return tuple(found)


def _make_element(rng: Random, names: list[str], terminals: list[str], plain: bool, depth: int) -> Element:
    roll = rng.randrange(12)
    if roll < 4:
        return Ref(rng.choice(names))
    if roll < 9 or not depth:
        return _make_leaf(rng, terminals, plain)
    inside = _make_element(rng, names, terminals, plain, depth - 1)
    if roll < 11:
        return Many(inside, rng.choice(["*", "+", "?", "~2", "~0..2", "~1..3", "~2..5"]))
    second = _make_element(rng, names, terminals, plain, depth - 1)
    return Choice(((inside, second),) if rng.randrange(2) else ((inside,), (second,)), rng.randrange(2) == 0)


def _make_leaf(rng: Random, terminals: list[str], plain: bool) -> Element:
    roll = rng.randrange(8)
    if terminals and roll < 3:
        return Ref(rng.choice(terminals))
    if roll < 6:
        return Str(rng.choice(WORDS), rng.randrange(8) == 0)
    return rng.choice(SPANS) if rng.randrange(6) == 0 else _make_regexp(rng, plain)


def _make_regexp(rng: Random, plain: bool) -> Re:
    pattern = rng.choice(TERMINALS) if rng.randrange(2) else make_pattern(rng, rng.randint(0, 2))
    if re.match(f"(?:{pattern})\\Z", "") and (plain or rng.randrange(6)):
        pattern = rng.choice("abc1") + pattern
    return Re(pattern, rng.choice(["", "", "", "i", "s"]))


def _make_terminal(rng: Random, plain: bool, known: list[str]) -> tuple[Alternative, ...]:
    def atom() -> Element:
        roll = rng.randrange(6)
        if roll == 0 and known and rng.randrange(2):
            return Ref(rng.choice(known))
        if roll == 1 and rng.randrange(3) == 0:
            return rng.choice(SPANS)
        if roll < 2:
            return Str(rng.choice(WORDS), rng.randrange(4) == 0)
        if roll < 4:
            return _make_regexp(rng, plain)
        body = Str(rng.choice(WORDS)) if rng.randrange(2) else _make_regexp(rng, plain)
        return Many(body, rng.choice(["+", "~1..3", "~2"] if plain else ["+", "~1..3", "?", "*", "~2"]))

    return tuple(tuple(atom() for _ in range(rng.choice([1, 1, 2]))) for _ in range(rng.choice([1, 1, 2, 3])))


SMALL: dict[str, tuple[int, list[Element]]] = {
    "ab": (7, [Str("a"), Str("b"), Str("ab"), *map(Re, ["a+", "(ab)+", "[ab]{1,3}", "a+b?", "a*?b"])]),
    "ab()": (4, [*map(Str, ["a", "(", ")", "(", ")", "b", "()"]), Re("a+"), Re("[ab]+")]),
    "abc": (5, [*map(Str, ["a", "b", "c", "ab", "ca"]), *map(Re, ["a+", "[ab]+", "[bc]{1,3}", "a.*?c", "c{2,}"])]),
    "aé日": (3, [*map(Str, ["a", "é", "日", "aé"]), *map(Re, ["[à-ÿa]+", "[^a]", "[一-龥]{1,2}a?", ".é", "[^é]*?日"])]),
    "ab ": (5, [*map(Str, ["a", "b", "ab", " "]), *map(Re, ["a+", "[ab]+", " +", "a b", "[^b]{1,4}b"])]),
    'a"\\,': (4, [*map(Str, ["a", '"', ",", '",']), *map(Re, ['"[^"]*"', '"[^"]{0,3}"', r'"([^"\\]|\\.)*"', '".*?"',
                r'[^"a]+', '"[^"]{2,4}",?'])]),
    "ab-_ ": (4, [*map(Str, ["-", "a-"]), *map(Re, ["[ab_]+", "[ab_][ab_-]*", "-+", r"[ab_]+(?<!_)", " {1,2}",
                "[a_]+?b", "(?:a|a_|_b){1,3}", r"(?:a-)+"])]),
}  # fmt: skip
"""Alphabet -> the length up to which all its strings are tokens, and the elements of small grammars."""
SMALL_BLANKS: list[Element] = [
    Str(" "), Re(" +"), Re(" *"), Re("(ab)+"), Str("b"), Re("a+"), Re('"[^"]*"'), Re("-+"), Re(r"\s*"), Re("é+"),
    Str(","), Re("(?: |a )+"), Re(" a?"),
]  # fmt: skip


def make_small_grammar(rng: Random, alphabet: str) -> GrammarSketch:
    """Make a grammar of few short rules that often name each other: ambiguous, nullable, with cycles, or all three."""
    terminals = SMALL[alphabet][1]
    names = ["start", *(f"r{i}" for i in range(rng.randint(0, 3)))]

    repeats = rng.random() < 0.5

    def element() -> Element:
        chosen = Ref(rng.choice(names)) if rng.random() < 0.45 else rng.choice(terminals)
        roll = rng.random() if repeats else 1
        if roll < 0.08:
            return Many(chosen, rng.choice(["*", "+", "?", "~2", "~1..3"]))
        return Choice(((chosen,), (rng.choice(terminals),)), rng.random() < 0.5) if roll < 0.13 else chosen

    rules: list[Definition] = []
    for name in names:
        lengths = rng.choices((0, 1, 2, 3, 4), (1, 2, 2, 2, 1), k=rng.randint(1, 3))
        alternatives = [tuple(element() for _ in range(length)) for length in lengths]
        if rng.random() < 0.6:
            alternatives.append((rng.choice(terminals),))
        rules.append((name, tuple(dict.fromkeys(alternatives))))
    if rng.random() < 0.25:  # two rules that end with the same one, distinguished by what follows
        end, first, second, third = Ref(rng.choice(names)), *rng.sample(terminals, 3)
        rules[0] = ("start", (*rules[0][1], (Ref("e0"), first), (Ref("e1"), second)))
        rules += [("e0", ((end,),)), ("e1", ((third, end), (end,)))]
    ignored = rng.sample(SMALL_BLANKS, rng.choice([1, 1, 1, 2, 3])) if rng.random() < 0.35 else []
    return GrammarSketch(tuple(rules), ignored=tuple(ignored))


TEMPLATES = [
    ("_list", "item, by", "item (by item)*"),
    ("_nested", "item", '"(" _nested{item} ")" | item'),
    ("_twice", "item", "item item | item"),
    ("_right", "item, by", "item | item by _right{item, by}"),
    ("_maybe", "item", "[item]"),
    ("_of", "t, item", "t{item}"),
    ("_left", "item", "_left{item} item | item"),
    ("_both", "item, other", "_list{_twice{item}, other} | _maybe{other}"),
]
"""Templates in Lark's syntax. Some name others, so a grammar gets all of them."""


def with_templates(rng: Random, sketch: GrammarSketch) -> GrammarSketch:
    """Make some elements of the rules the arguments of templates."""

    def instance(element: Element) -> Element:
        if rng.randrange(3):
            return element
        name, parameters, _ = rng.choice(TEMPLATES)
        if isinstance(element, (Many, Choice)):
            return element  # arguments are single symbols
        if name == "_of":
            return Use(name, (Ref(rng.choice(["_twice", "_maybe", "_left", "_nested"])), element))
        other = Str(rng.choice([",", ";", "a", " "]))
        return Use(name, (element, other)[: parameters.count(",") + 1])

    rules = tuple((name, tuple(tuple(map(instance, a)) for a in alternatives)) for name, alternatives in sketch.rules)
    return replace(sketch, rules=rules, templates=tuple(TEMPLATES))


GBNF_LEAVES: list[Element] = [
    *map(Str, ["a", "b", "ab", "aa", "é", "日本", "(", ")", ",", " ", '"', "\n", "0", "the", "\\"]),
    *map(Re, ["[a-c]", "[^a]", r"[^\"\\\n]", "[à-ü]", "[a-zA-Z_]", "[0-9]", r"[\]x]"]),
    Span("a", "c"),
    Span("あ", "ん"),
]


def make_gbnf(rng: Random) -> GrammarSketch:
    """Make a grammar that both Lark's syntax and GBNF can write."""
    names = ["start", *(f"r{i}" for i in range(rng.randint(0, 3)))]

    def element(depth: int = 2) -> Element:
        roll = rng.randrange(12)
        if roll < 4:
            return Ref(rng.choice(names))
        if roll < 9 or not depth:
            return rng.choice(GBNF_LEAVES)
        if roll < 11:
            return Many(element(depth - 1), rng.choice(["*", "+", "?", "~2", "~0..2", "~1..3", "~2..5"]))
        return Choice(((element(depth - 1),), (element(depth - 1), element(depth - 1))), rng.randrange(2) == 0)

    rules: list[Definition] = []
    for name in names:
        lengths = [rng.choice([0, 1, 1, 2, 2, 3]) for _ in range(rng.randint(1, 3))]
        alternatives = [tuple(element() for _ in range(length)) for length in lengths]
        alternatives.append((rng.choice(GBNF_LEAVES),))
        rules.append((name, tuple(dict.fromkeys(alternatives))))
    return GrammarSketch(tuple(rules))


@st.composite
def grammars(draw: st.DrawFn, plain: bool = False) -> GrammarSketch:
    return make_grammar(draw(st.randoms(use_true_random=False)), plain=plain)


# --- vocabularies ----------------------------------------------------------------------------------------------------

ALPHABET = set('abcdeint0123_ ()[]{},;:+-="~ABé日本😀ß\n\\/*#')
"""Most characters of the grammars above: half of the tokens of a sample consist of these alone."""


@dataclass(frozen=True)
class TokenPool:
    """The text tokens of a real vocabulary, sorted by their use in a test."""

    spelled: tuple[bytes, ...]  # made of ALPHABET alone
    long: tuple[bytes, ...]
    multibyte: tuple[bytes, ...]  # with bytes beyond ASCII: whole characters or parts of them
    others: tuple[bytes, ...]

    @classmethod
    def of(cls, tokens: Sequence[bytes]) -> TokenPool:
        spelled, long, multibyte, others = [], [], [], []
        for token in tokens:
            if len(token) < 2:
                continue
            text = token.decode("utf-8", errors="replace")
            if ALPHABET.issuperset(text):
                spelled.append(token)
            elif len(token) >= 12:
                long.append(token)
            elif not token.isascii():
                multibyte.append(token)
            else:
                others.append(token)
        return cls(tuple(spelled), tuple(long), tuple(multibyte), tuple(others))

    def sample(self, rng: Random, size: int) -> list[bytes]:
        """Draw `size` tokens: all single bytes and a mixture; now and then two tokens spell the same."""
        chosen = [bytes([b]) for b in range(256)]
        pools = [(self.spelled, 50), (self.long, 10), (self.multibyte, 15), (self.others, 25)]
        for pool, share in pools:
            chosen += rng.sample(pool, min(len(pool), (size - 256) * share // 100))
        while len(chosen) < size:
            chosen.append(rng.choice(chosen))
        rng.shuffle(chosen)
        return chosen


def choose_token(rng: Random, allowed: Sequence[int], spelling: Mapping[int, bytes] | Sequence[bytes]) -> int:
    """Choose the next token of a walk: often a short one, to get far, and often a long one, which spans lexemes."""
    roll = rng.randrange(10)
    if roll < 4:
        return min(rng.sample(allowed, min(4, len(allowed))), key=lambda t: len(spelling[t]))
    if roll < 7:
        return max(rng.sample(allowed, min(6, len(allowed))), key=lambda t: len(spelling[t]))
    return rng.choice(allowed)
