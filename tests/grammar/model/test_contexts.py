"""Terminals that look at what follows: they agree with the definition and with Lark, or are refused."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, LimitError, Matcher, Vocabulary
from earleymask.trie import Vocabulary as Tokens
from support.effort import effort
from support.lark_oracle import lark_accepts, lark_parser, strings, we_accept
from support.lexemes import Definition

BYTES = Vocabulary.bytes()
EOS = 256


def no_dead_ends(grammar: Grammar, alphabet: str, longest: int) -> None:
    """After every viable prefix over `alphabet`, something may follow."""
    matcher = Matcher(grammar, BYTES)

    def walk(depth: int) -> None:
        mask = matcher.mask()
        assert mask.any(), bytes(matcher.tokens)
        if depth < longest:
            for char in alphabet.encode():
                if mask[char]:
                    assert matcher.accept(char)
                    walk(depth + 1)
                    matcher.rollback(1)

    walk(0)


CASES = [
    ({"start": [["if\\b", "[a-i]+"]]}, [" "], "if a"),
    ({"start": [["a(?!b)", "[ab]"], ["b"]]}, [], "ab"),
    ({"start": [["a(?=b)", "x"]], "x": [["[ab]", "x"], []]}, ["b", " "], "ab "),
    ({"start": [["a(?!b)", "x"]], "x": [["a"], []]}, ["b", " "], "ab "),
    ({"start": [["x", "start"], []], "x": [["a\\b"], ["b", "y"]], "y": [[], [" "]]}, [], "ab "),
    ({"start": [["x", "y", "x"]], "x": [["a(?!a)"], []], "y": [["b?"], ["a"]]}, [" "], "ab "),
    ({"start": [["a(?= |b)", "[ab]"]]}, [" (?=a)", "b"], "ab "),
    ({"start": [["a\\Z"], ["a", "start"]]}, [" "], "a "),
    ({"start": [["(?:a(?=b))?", "(?:b(?!b))?", "[ab ]*"]]}, [], "ab "),
    ({"start": [["[ab]+\\b", "start"], ["[ab]+\\b"]]}, [" +"], "ab "),
    ({"start": [["#[^\\n]*(?m:$)", "start"], ["\\n", "start"], ["a"]]}, [], "#a\n"),
    ({"start": [["start", "a(?!b)"], ["b"]]}, [], "ab"),
    ({"start": [["(?!ab\\b)[ab]+\\b", "start"], ["ab\\b"]]}, [" "], "ab "),
    ({"start": [["(?!ab\\b)[ab]+", "start"], ["(?!ab\\b)[ab]+"]]}, [" "], "ab "),
    ({"start": [["(?!ab\\b|ba\\b)[ab]+", "x"]], "x": [["=", "start"], []]}, [" +"], "ab ="),
    ({"start": [["(?!(?:a|bab)\\b)[ab]+", "x"]], "x": [["bab", "start"], [], ["a"]]}, [" "], "ab "),
    ({"start": [["(?!ab$)[ab\\n]+", "x"]], "x": [["b"], [], ["\\n", "x"]]}, [], "ab\n"),
    ({"start": [["a$", "x"]], "x": [["\\n", "x"], ["\\n?"], ["b"]]}, [], "ab\n"),
    ({"start": [["a(?=bb|ab)", "x"]], "x": [["[ab]", "x"], []]}, ["b", " "], "ab "),
    ({"start": [["a(?!.{3}b)", "start"], ["b", "start"], []]}, [], "ab"),
    ({"start": [["(?:a(?!b.b))?", "x"]], "x": [["b", "x"], ["a(?=ba)", "x"], []]}, [" "], "ab "),
    ({"start": [["x"]], "x": [["a", "x"], ["b"], ["a"]]}, [" (?!a )", "a(?= b)"], "ab "),
    ({"start": [["a(?=é.)", "x"], ["a(?!éé)", "x"]], "x": [["é", "x"], ["è"], []]}, [], "aéè"),
    ({"start": [["a*?(?!a)", "b"], ["(?>a|ab)(?!b)", "[ab]"]]}, [], "ab"),
    # Every text of these terminals demands something.
    ({"start": [["[ab]+(?! ?(?:ab|b)\\b)", "x"]], "x": [["=", "start"], []]}, ["[ =]"], "ab ="),
    ({"start": [["[ab]+(?!\\w)(?! ?(?:a|ba)\\b)", "x"]], "x": [["ab", "start"], []]}, ["[ ,]+"], "ab ,"),
    ({"start": [["x", "start"], ["x"]], "x": [["a(?! b)", "y"]], "y": [["b"], [",", "x"], []]}, [" "], "ab ,"),
    ({"start": [["x", "start"], ["x"]], "x": [["a(?! b)", "y"]], "y": [[" "], [",", "x"]]}, [], "ab ,"),
    # And what the lookahead reads on at is all that may follow.
    ({"start": [["[ab]+(?! (?:ab|b)\\b)"], ["start", " ", "[ab]+(?! (?:ab|b)\\b)"]]}, [], "ab "),
    ({"start": [["[ab]+(?! b\\b)", "x"]], "x": [["x", " ", "[ab]+(?! b\\b)"], []]}, [], "ab "),
    ({"start": [["start", " ", "x"], ["x"]], "x": [["[ab]+(?! b)"], ["x", "=", "[ab]+(?! b)"]]}, [], "ab ="),
    (
        {"start": [["x", " ", "b"], ["x", "="]], "x": [["a", "b", "y"]], "y": [["a(?! b)"], ["y", " ", "a(?! b)"]]},
        [],
        "ab =",
    ),
    ({"start": [["x", " ", "start"], ["x"]], "x": [["a", "=", "[ab](?! b)"]]}, [], "ab ="),
    # More text must follow such a name, and all of it begins with what the lookahead reads on at.
    ({"start": [["[ab]+(?! b\\b)", " ", "[ab]+(?! b\\b)"]]}, [], "ab "),
    ({"start": [["x", "[ab]+(?! (?:ab|b)\\b)"]], "x": [[], ["x", "[ab]+(?! (?:ab|b)\\b)", " "]]}, [], "ab "),
    ({"start": [["[ab]+(?! (?:a|b)\\b)", " ", "start"], ["[ab]", " ", "[ab]+"]]}, [], "ab "),
    ({"start": [["x", "x"], ["x", "x", "x"]], "x": [["[ab]+(?! ?a)"]]}, [" "], "ab "),
    ({"start": [["[ab]+(?!  b)", "  ", "x"]], "x": [["[ab]", ",", "start"], ["[ab]+"]]}, [], "ab ,"),
    ({"start": [["[ab]+(?! ?(?:a|bb))", " ", "x", "start"], ["b"]], "x": [["ba?", ","], ["a", ","]]}, [], "ab ,"),
    ({"start": [["(?!ab\\b)[ab]+(?! ab\\b)", "x"]], "x": [[" ", "abb?", ","], [" ", "ba", " "]]}, [], "ab ,"),
    ({"start": [["[ab]+(?=[ ,](?:a|b,))", "x", "start"], ["a"]], "x": [[" "], [","], [" ", "b"]]}, [], "ab ,"),
    ({"start": [["x"], ["start", "x"]], "x": [["[ab]+(?! (?:ab|b)\\b)", " "]]}, [], "ab "),
    ({"start": [["x"], ["start", "x"]], "x": [["[ab]+(?! ?(?:a|bb))", " ", ","]]}, [], "ab ,"),
    ({"start": [["[ab](?! a\\b)", " ", "[ab](?! a\\b)", " "]]}, [], "ab ,"),
    # Nothing is demanded before a name ends, but nothing else may stand there.
    ({"start": [["x", "start", " b "], [" b ", "x"]], "x": [["(?:[ab]+(?!,? (?:a|ba)$)|,)"]]}, [], "ab ,"),
    # In one production all that may follow is excluded, so another one counts.
    ({"start": [["[ab]+(?! (?:a|b)\\b)", " ", "b"], ["[ab]+(?! (?:a|b)\\b)", " ", "bb"]]}, [], "ab "),
    ({"start": [["x", " ", "b"], ["x", " ", "ab"]], "x": [["[ab](?! b)"], ["x", ",", "[ab](?! b)"]]}, [], "ab ,"),
    # At some place all that may follow is excluded. It does not count that the symbol may stand elsewhere: in a list
    # that is to go on, in the middle of its own production, inside the start symbol.
    ({"start": [["x", " b"], ["b"]], "x": [["x", "c(?! b|c)"], ["a(?=c)"]]}, [], "abc "),
    ({"start": [["x", "b(?! b)", " b"], [",", "x", "[cd]"], ["b"]], "x": [["a(?!c)"]]}, [], "abc, "),
    (
        {"start": [["x", ", b"]], "x": [["a", "x", "z"], ["b"], ["c(?=,)"]], "z": [[";"], [",(?!;|,|  )"]]},
        [],
        "abc,; ",
    ),
    ({"start": [[",", "start", "b"], ["a", "z"], ["b"]], "z": [["c(?=b)"], ["a(?! b)", " b"]]}, [], "abc, "),
    # Only the end may follow there, and the name demands more.
    ({"start": [["c(?=a)", "a(?= b)|;;", " b"], [",", "c(?=a)", "a(?= b)|;;"]]}, [], "abc,; "),
    # Some texts of the name demand something else than the others, which what follows never meets.
    ({"start": [["a(?! a)|b(?! |;a)", " ", "[ab]"]]}, [], "ab ;"),
    ({"start": [["b(?! a)|c(?=;a)", "a"]]}, [], "abc ;"),
    ({"start": [["|".join(f"{text}(?!  |{text})" for text in "abcdefgh") + "|i(?! bb)", " ", "bb"]]}, [], "abi "),
    # `aaa` begins no sentence, though names can be nested without end. So there are infinitely many positions.
    (
        {
            "start": [["aa?(?= (?:aaa)\\b|[ ,]?a)", "[ ,]", "start"], ["x"]],
            "x": [["aa?(?!(?:a|aa|aaa)\\b)", "x", "aa?(?!(?:a|aa|aaa)\\b)"], [" "]],
        },
        ["[ ,]"],
        "a ,",
    ),
]


@pytest.mark.parametrize(("rules", "ignored", "alphabet"), CASES)
def test_every_short_text(rules, ignored, alphabet):
    definition = Definition(rules, ignored)
    grammar = Grammar.from_lark(definition.text())
    accepted = 0
    for text in strings(alphabet, 5):
        expected = definition.accepts(text)
        assert we_accept(grammar, text) == expected, text
        accepted += expected
    assert accepted
    no_dead_ends(grammar, alphabet, 4)


PIECES = [
    "a",
    "b",
    " ",
    "a\\b",
    "a(?!b)",
    "a(?=b)",
    "ab?(?!a)",
    "[ab]+\\b",
    "b(?= |a)",
    "b\\Z",
    "(?:a(?=b))?",
    "(?!b)",
    "a\\B",
    "(?!ab\\b)[ab]+",
    "(?!ba?$)[ab]{1,2}",
    "a(?!bb|a )",
    "b(?= a?b)",
]
IGNORED = [" ", " +", "b", " (?=a)", "b(?!b)"]
symbols = st.sampled_from([*PIECES, "x", "y"])
alternatives = st.lists(st.lists(symbols, max_size=3), min_size=1, max_size=3)


@settings(max_examples=effort(100, 400), suppress_health_check=[HealthCheck.too_slow])
@given(alternatives, alternatives, alternatives, st.lists(st.sampled_from(IGNORED), max_size=2, unique=True))
def test_random_grammars(start, x, y, ignored):
    definition = Definition({"start": start, "x": x, "y": y}, ignored)
    texts = list(strings("ab ", 4))
    expected = [definition.accepts(text) for text in texts]
    try:
        grammar = Grammar.from_lark(definition.text())
    except GrammarError as error:
        if "no sentence" not in error.message or any(expected):
            raise
        return
    for text, wanted in zip(texts, expected, strict=True):
        assert we_accept(grammar, text) == wanted, (definition.text(), text)
    no_dead_ends(grammar, "ab ", 3)


CONSUMING = ["a", "b", "[ab]", " ", "[ab]+", "(?:a|ab)", "b?", "[^a]", "(?:ab?){1,2}"]
ENDINGS = ["", r"\b", r"\B", "$", r"\Z", "(?m:$)", "(?!a)", "(?= |b)"]
inner = st.builds(
    "{}{}{}".format,
    st.lists(st.sampled_from(CONSUMING), max_size=2).map("".join),
    st.sampled_from(["a", "b", "[ab]", "."]),
    st.sampled_from(ENDINGS),
)
lookaheads = st.builds("(?{}{})".format, st.sampled_from("=!"), st.lists(inner, min_size=1, max_size=2).map("|".join))
looking = st.builds(
    "{}{}{}".format,
    lookaheads,
    st.lists(st.one_of(st.sampled_from(CONSUMING), lookaheads), min_size=1, max_size=3).map("".join),
    st.sampled_from(ENDINGS[:1] + ENDINGS[-2:]),
)


def test_random_lookaheads():
    """They agree with the definition; most look several characters beyond their end. Few are refused: those that look
    further than a bound."""
    refused: Counter[str] = Counter()

    @settings(max_examples=effort(125, 500), suppress_health_check=[HealthCheck.too_slow])
    @given(looking, looking | st.sampled_from(["a", "b", "[ab ]", "[ab]+"]), st.sampled_from(["", " ", " +", "b"]))
    def check(first: str, second: str, ignored: str) -> None:
        definition = Definition(
            {"start": [["x", "start"], ["x"]], "x": [[first, second], [second, first, "a?"]]},
            [ignored] if ignored else [],
        )
        texts = list(strings("ab ", 5))
        expected = [definition.accepts(text) for text in texts]
        try:
            grammar = Grammar.from_lark(definition.text())
        except GrammarError as error:
            refused[error.message[:60]] += 1
            event(f"refused: {error.message[:60]}")
            if "64 characters beyond" not in error.message and ("no sentence" not in error.message or any(expected)):
                raise
            return
        for text, wanted in zip(texts, expected, strict=True):
            assert we_accept(grammar, text) == wanted, (definition.text(), text)
        no_dead_ends(grammar, "ab ", 3)

    check()
    assert sum(n for reason, n in refused.items() if "no sentence" not in reason) <= effort(40, 150), refused


def test_lark_sees_the_rest_of_the_text_as_well():
    """Lark agrees if a lexeme has one length only; for shorter lexemes it hides the text after them."""
    for grammar, alphabet in [
        ('start: /if(?!\\w)/ /[a-i]+/ | /[a-i]+/ "f"\n%ignore " "', "if a"),
        ('start: "a" /[?](?![a-z])/ /[a-z]/? "1"?', "a?1"),
        ("start: (/a(?=b)/ | /b/)+", "ab"),
        ("start: /a\\b/ (/ / | /a/ | /-/)*", "a -"),
    ]:
        parser = lark_parser(grammar)
        ours = Grammar.from_lark(grammar)
        for text in strings(alphabet, 5):
            assert we_accept(ours, text) == lark_accepts(parser, text), (grammar, text)


def test_what_lark_takes_beyond():
    """`[a-z]+(?![a-z])` never ends before a letter; Lark hides the `c` after `ab`, and lets it end there."""
    grammar = 'start: /[a-z]+(?![a-z])/ "c"'
    assert lark_accepts(lark_parser(grammar), "abc")
    with pytest.raises(GrammarError, match="never follows"):
        Grammar.from_lark(grammar)


def test_a_special_token_is_the_end_of_the_text():
    tokens = Tokens.from_tokens(
        [bytes([i]) for i in range(256)] + [b"<|s|>", b""], eos_token_id=257, special_token_ids=[256]
    )

    def accepts(grammar, ids):
        return Matcher(Grammar.from_lark(grammar), tokens).validate(ids) == len(ids)

    assert accepts("start: /a(?!b)/ <|s|> /b/", [97, 256, 98, 257])
    with pytest.raises(GrammarError, match="never follows"):
        Grammar.from_lark("start: /a(?=b)/ <|s|> /b/")
    assert accepts('start: /a(?!b)/ <|s|>\n%ignore " "', [97, 32, 256, 257])


@pytest.mark.parametrize(
    ("terminal", "column", "message"),
    [
        (r"/\bif/", 1, "before the terminal"),
        (r"/^a/", 1, "before the terminal"),
        (r"/\Aa/", 1, "before the terminal"),
        (r"/b?(?<=ab)c/", 3, "before the terminal"),
        (r"/a(?=.{65})/", 2, "more than 64 characters beyond"),
        (r"/a(?=b*c)/", 2, "more than 64 characters beyond"),
        (r"/(?!.*b)a/", 1, "more than 64 characters beyond"),
        (r"/ab(?<=(?=bb)b)/", 7, "lookahead inside a lookbehind"),
        (r"/(a)\1/", 4, "backreferences are not supported"),
    ],
)
def test_refused_with_its_place(terminal, column, message):
    for grammar in (f'start: {terminal} "x"', f"start: A\nA: {terminal}"):
        with pytest.raises(GrammarError) as caught:
            Grammar.from_lark(grammar)
        assert message in caught.value.message
        assert caught.value.column == grammar.splitlines()[-1].index("/") + 1 + column
        assert caught.value.hint


def test_a_grammar_without_such_terminals_is_left_alone():
    plain = Grammar.from_lark('start: A "b"\nA: /(?!x)[a-z]{2}(?<!z)/\n%ignore " "')
    same = Grammar.from_lark('start: A "b"\nA: /[a-z]{2}/\n%ignore " "')
    assert plain.engine.stats()["symbols"] == same.engine.stats()["symbols"]


def test_what_decides_nothing_leaves_the_grammar_alone():
    """No word follows a name here, so `(?!if\\b)` only says that the name is not `if`, and adds no symbols."""
    rest = '\nNAME: /{}[a-z]+/\n%ignore " "'
    grammar = Grammar.from_lark("start: (NAME /[=;]/)+" + rest.format("(?!if\\b)"))
    plain = Grammar.from_lark("start: (NAME /[=;]/)+" + rest.format(""))
    assert grammar.engine.stats()["symbols"] == plain.engine.stats()["symbols"]
    assert we_accept(grammar, "iff = i ;")
    assert not we_accept(grammar, "iff = if ;")


def test_many_keywords():
    """Many keywords work, written in the way that is usual for programming languages."""
    words = ["and", "as", "assert", "break", "class", "continue", "def", "del", "elif", "else", "except", "for", "if"]
    grammar = Grammar.from_lark(
        "start: expression\n"
        'expression: NAME | expression " if " expression " else " expression | NAME "(" expression ")"\n'
        f"NAME: /(?!(?:{'|'.join(words)})\\b)[a-z_]\\w*/"
    )
    for text, expected in [
        ("iffy", True),
        ("if", False),
        ("a if b else c", True),
        ("a if else else c", False),
        ("classy(as_) if b else c", True),
        ("classy(as) if b else c", False),
        ("class(a)", False),
    ]:
        assert we_accept(grammar, text) == expected, text
    no_dead_ends(grammar, "asif( )", 4)


def test_too_many_conditions_are_a_limit():
    """Each `a` demands a `b` 15 places later, so any set of places may be pending."""
    with pytest.raises(LimitError, match="4096 different demands") as caught:
        Grammar.from_lark("start: (A | B)+\nA: /a(?=.{15}b)/\nB: /b/")
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize("n", [31, 32, 33, 64, 65])
def test_more_conditions_than_a_word_has_bits(n):
    """Each name must not stand before a blank and the name after it in the alphabet."""
    names = [chr(97 + i // 26) * 2 + chr(97 + i % 26) for i in range(n)]
    rules = [f"N{i}: /{name}[0-9]*(?! ?{names[(i + 1) % n]}\\b)/" for i, name in enumerate(names)]
    start = 'start: (n x)+ ";"\nx: " " | " " y | ";"\ny: n | n " " y\nn: ' + " | ".join(f"N{i}" for i in range(n))
    grammar = Grammar.from_lark("\n".join([start, *rules]))
    for i in range(n):
        for step in (1, 2, n - 1):
            text = f"{names[i]} {names[(i + step) % n]} ;"
            assert we_accept(grammar, text) == (step != 1), text


def test_demands_found_by_the_parser_have_no_such_limit():
    """If some text of the terminal demands nothing, only the demands of the text that is read are kept."""
    grammar = Grammar.from_lark("start: A+\nA: /a(?=.{15}b)|b/")
    matcher = Matcher(grammar, BYTES)
    rng = random.Random(5)
    text = ""
    while len(text) < 200:
        mask = matcher.mask()
        allowed = "".join(char for char in "ab" if mask[ord(char)])
        due = len(text) >= 16 and text[-16] == "a"
        assert allowed == ("b" if due else "ab")
        text += rng.choice(allowed)
        assert matcher.accept(ord(text[-1]))


def test_an_identifier_that_is_no_keyword():
    grammar = Grammar.from_lark(
        "start: (KEYWORD | NAME)+\n"
        "KEYWORD.2: /(?:if|else|while)\\b/\n"
        "NAME: /(?!(?:if|else|while)\\b)[a-z]+\\b/\n"
        "%ignore / +/"
    )
    for text in ("if", "iff", "if x else y", "elsewhile  if"):
        assert we_accept(grammar, text), text
    # Every word is one lexeme, so a text can be read in one way only.
    assert not we_accept(grammar, "")
    only_names = Grammar.from_lark("start: NAME+\nNAME: /(?!(?:if|else)\\b)[a-z]+\\b/\n%ignore / +/")
    assert we_accept(only_names, "iff elsewhere")
    assert not we_accept(only_names, "iff if")


def a_thousand_words(rng: random.Random, *some: str) -> set[str]:
    """Return some words and random ones."""
    words = set(some)
    while len(words) < 1000:
        words.add("".join(rng.choices("aeinorst", k=rng.randint(3, 8))))
    return words


def test_a_thousand_keywords_before_names_that_stand_side_by_side():
    """The grammar does not grow with the words: what their beginnings demand is found while a text is read."""
    rng = random.Random(3)
    words = a_thousand_words(rng, "select", "from", "where", "as", "asc")

    def query(words: list[str]) -> Grammar:
        return Grammar.from_lark(
            'start: "select"i NAME ("," NAME)* "from"i NAME NAME? ("where"i NAME "=" NAME)?\n'
            f"NAME: /(?!(?:{'|'.join(words)})\\b)[a-z_][a-z_0-9]*/i\n"
            '%ignore " "'
        )

    grammar = query(sorted(words))
    assert grammar.engine.stats()["symbols"] <= query(["select", "from"]).engine.stats()["symbols"] < 60
    names = re.compile(f"(?!(?:{'|'.join(words)})\\b)[a-z_]+", re.IGNORECASE)
    for word in [*rng.sample(sorted(words), 200), "selec", "fromage", "AS", "asx", "Where"]:
        for text in (f"select {word} from t", f"select a from {word} b", f"select a from b {word}"):
            assert we_accept(grammar, text) == (names.fullmatch(word) is not None), text


def test_a_thousand_keywords_after_names_that_demand_something_in_any_case():
    """A comma may follow each name, so the demands that begin with a blank are found while a text is read."""
    rng = random.Random(4)
    words = a_thousand_words(rng, "as")

    def aliases(words: list[str]) -> Grammar:
        name = rf"[a-z]+(?!\w)(?! ?(?:{'|'.join(words)})\b)"
        return Grammar.from_lark(f'start: NAME ("as" NAME)*\nNAME: /{name}/\n%ignore /[ ,]+/')

    grammar = aliases(sorted(words))
    assert grammar.engine.stats()["symbols"] <= aliases(["as", "in"]).engine.stats()["symbols"] < 60
    for text, expected in [
        ("x as y", False),
        ("x  as y", True),
        ("x,as y", True),
        ("xas y", False),
        ("as, as as", True),
    ]:
        assert we_accept(grammar, text) == expected, text
    for word in [*rng.sample(sorted(words), 100), "a", "zz"]:
        assert we_accept(grammar, f"x,as,{word}") and not we_accept(grammar, f"x,as {word} as {word}"), word
    no_dead_ends(grammar, "as, ", 4)


def test_a_thousand_words_after_names_and_a_written_blank():
    """Only the blank, at which the lookahead reads on, may follow a name; demands are found while a text is read."""
    rng = random.Random(6)
    words = a_thousand_words(rng, "as", "order")

    def listed(words: list[str]) -> Grammar:
        return Grammar.from_lark(f'start: NAME (" " NAME)*\nNAME: /[a-z]+(?! (?:{"|".join(words)})\\b)/')

    grammar = listed(sorted(words))
    assert grammar.engine.stats()["symbols"] == listed(["as"]).engine.stats()["symbols"] < 20
    for text, expected in [("as", True), ("x as", False), ("x asx", True), ("x y order", False), ("x order y", False)]:
        assert we_accept(grammar, text) == expected, text
    for word in rng.sample(sorted(words), 100):
        assert we_accept(grammar, f"{word} x {word}x") and not we_accept(grammar, f"x {word} x"), word
    no_dead_ends(grammar, "as x", 4)


@pytest.mark.parametrize(
    ("rules", "blank", "text"),
    [
        ('start: NAME (" " NAME)+', " ", "{} {} z"),
        ('start: (NAME " ")* NAME', " ", "{} {}"),
        ('start: NAME " " NAME', " ", "{} {}"),
        ('start: NAME " " NAME "," NAME', " ", "{} {},z"),
        ('start: NAME "=" NAME " " NAME', "[= ]", "{}={} z"),
        ('start: NAME " " NAME', " ?", "{} {}"),
        ('start: NAME ("  " NAME)+', "  ", "{}  {}"),
        ("start: NAME (WS NAME)+\nWS: / +/", " ", "{} {}  as"),
        ('start: NAME (" " (KW | NAME))+\nKW: /x?(?:as|order)\\b/', " ", "{} {}"),
        ('start: NAME NAME\n%ignore " "', " ", "{} {}"),
        ("start: NAME+\n%ignore / +/", " ", "{} {}"),
        ('start: (NAME " ")+', " ", "{} {} "),
        ('start: (NAME "\\n")* NAME "\\n"', r"\n", "{}\n{}\n"),
    ],
)
def test_a_thousand_words_after_names_that_must_be_followed(rules, blank, text):
    """Some text that meets the demand can always follow, such as one that begins no word."""
    rng = random.Random(8)
    words = a_thousand_words(rng, "as", "order")

    def grammar_of(words: list[str]) -> Grammar:
        return Grammar.from_lark(f"{rules}\nNAME: /[a-z]+(?!{blank}(?:{'|'.join(words)})\\b)/")

    grammar = grammar_of(sorted(words))
    assert grammar.engine.stats()["symbols"] == grammar_of(["as"]).engine.stats()["symbols"] < 40
    for word in [*rng.sample(sorted(words), 50), "as"]:
        for second, expected in ((word, False), (f"{word}z", True), (f"z{word}", True)):
            assert we_accept(grammar, text.format(word, second)) == expected, (word, second)
    no_dead_ends(grammar, "as z,=", 3)


def test_a_thousand_words_after_names_ignored_text_and_a_comma():
    """A comma and a letter are no way to meet the demand, but a comma, ignored text and a letter are."""
    rng = random.Random(8)
    words = a_thousand_words(rng, "as", "order")

    def grammar_of(words: list[str]) -> Grammar:
        name = rf"[a-z]+(?![\w ])(?!,\w|, (?:{'|'.join(words)})\b|=[0-9])"
        return Grammar.from_lark(f'start: NAME "," NAME "=="\nNAME: /{name}/\n%ignore " "')

    grammar = grammar_of(sorted(words))
    assert grammar.engine.stats()["symbols"] == grammar_of(["as"]).engine.stats()["symbols"] < 40
    for word in [*rng.sample(sorted(words), 50), "as"]:
        for text, expected in ((f"x, {word}==", False), (f"x, z{word}==", True), (f"x,z{word}==", False)):
            assert we_accept(grammar, text) == expected, text
    no_dead_ends(grammar, "as ,=", 4)


def test_a_thousand_words_after_names_that_stand_side_by_side():
    """The witness of the first name begins with ignored text."""
    rng = random.Random(9)
    words = a_thousand_words(rng, "as", "order")

    def grammar_of(words: list[str]) -> Grammar:
        name = rf"[a-z]+(?![\w!])(?! (?:{'|'.join(words)})\b)"
        return Grammar.from_lark(f'start: NAME NAME / /\nNAME: /{name}/\n%ignore " "')

    grammar = grammar_of(sorted(words))
    assert grammar.engine.stats()["symbols"] == grammar_of(["as"]).engine.stats()["symbols"] < 40
    for word in [*rng.sample(sorted(words), 50), "as"]:
        for text, expected in (
            (f"x {word} ", False),
            (f"x z{word} ", True),
            (f"x  {word} ", True),
            (f"x {word}!", False),
        ):
            assert we_accept(grammar, text) == expected, text
    no_dead_ends(grammar, "as o", 4)


def test_names_after_which_all_is_excluded_have_no_sentence():
    """Every sentence would begin with such a name: nothing is demanded before it, and nothing can come."""
    with pytest.raises(GrammarError, match="no sentence: what must follow a terminal never follows it"):
        Grammar.from_lark("start: /a(?! b)/ / b/")


NAMES = [
    r"(?!(?:ab|aba|b)\b)[ab]+",
    r"(?!(?:ab|ba))[ab]+",
    r"[ab]+(?! ?(?:ab|b)\b)",
    r"a[ab]*(?!\w)(?! a)",
    r"(?!aab\b)[ab]{1,3}",
]


@pytest.mark.parametrize("name", NAMES)
def test_budgets_beside_demands_found_by_the_parser(name):
    """A mask has the tokens that `accept` takes, and there is no dead end, wherever a budget ends."""
    tokens = Vocabulary.from_tokens([*strings_of("ab ,", 3), b"</s>"], eos_token_id=84)
    assert tokens.size == 85
    for rest in ("", "x: n y | y", "x: n x | n", 'x: "b" n | n "ba"'):
        for most in (1, 2):
            text = (
                f'start: n x ("," start)?\n{rest or "x: n?"}\nn[max_tokens={most}]: /{name}/\ny: /{name}/\n%ignore " "'
            )
            grammar = Grammar.from_lark(text)
            rng = random.Random(most)
            for _ in range(3):
                matcher = Matcher(grammar, tokens)
                for _ in range(7):
                    mask = matcher.mask()
                    assert mask.any(), (text, matcher.tokens)
                    assert [matcher.fork().accept(token) for token in range(84)] == mask[:84].tolist(), (
                        text,
                        matcher.tokens,
                    )
                    allowed = mask[:84].nonzero()[0].tolist()
                    if allowed:
                        assert matcher.accept(rng.choice(allowed))


@pytest.mark.parametrize("rules", ["n / / n", "n (/ / n)+", "(n / /)* n", "n / / n /,/ n", "n / / (n | k) /,/? n"])
@pytest.mark.parametrize("name", [r"[ab]+(?! (?:ab|b)\b)", r"[ab]+(?! ?(?:ab|bb)\b)", r"(?!ba\b)[ab]{1,3}(?! b)"])
def test_masks_of_names_that_must_be_followed(rules, name):
    """A mask has the tokens that `accept` takes, and there is no dead end."""
    tokens = Vocabulary.from_tokens([*strings_of("ab ,", 3), b"</s>"], eos_token_id=84)
    grammar = Grammar.from_lark(f"start: {rules}\nn: /{name}/\nk: /b?a/")
    rng = random.Random(rules)
    for _ in range(6):
        matcher = Matcher(grammar, tokens)
        for _ in range(6):
            mask = matcher.mask()
            assert mask.any(), matcher.tokens
            assert [matcher.fork().accept(token) for token in range(84)] == mask[:84].tolist(), matcher.tokens
            allowed = mask[:84].nonzero()[0].tolist()
            if not allowed:
                break
            assert matcher.accept(rng.choice(allowed))


def strings_of(alphabet: str, longest: int) -> list[bytes]:
    return [text.encode() for text in strings(alphabet, longest) if text]


def test_a_budget_ends_a_name_where_it_may_end():
    """`sel` is a name unless `ect` and the end of a word follow. So it ends there, or goes on until it is another name;
    `x` has to end."""
    texts = [b"x", b"e", b"sel", b"ect", b",", b"</s>"]
    tokens = Vocabulary.from_tokens(texts, eos_token_id=5)
    grammar = Grammar.from_lark('start: n "e"? ","\nn[max_tokens=1]: /(?!(?:select|from)\\b)[a-z]{1,6}/')
    for first, expected in [(0, [b"e", b","]), (2, [b"x", b"e", b","])]:
        matcher = Matcher(grammar, tokens)
        assert matcher.accept(first)
        assert [texts[token] for token in matcher.mask().nonzero()[0]] == expected


@pytest.mark.parametrize("name", ["[xyz]+", r"(?!(?:xy|xz)\b)[xyz]+", r"[xyz]+(?! ?(?:xy|xz)\b)"])
def test_a_lexeme_whose_state_recurs_has_spent_its_budget_all_the_same(name):
    """After each `ab`, the lexeme is in the state in which it began. The names do not matter for it."""
    texts = [b"ab", b"c", b" ", b"x", b"</s>"]
    tokens = Vocabulary.from_tokens(texts, eos_token_id=4)
    grammar = Grammar.from_lark(f"start: n / / NAME NAME?\nn[max_tokens=2]: /(?:ab)*c{{1,3}}/\nNAME: /{name}/")
    for taken, expected in [([0], [b"ab", b"c"]), ([0, 0, 1], [b" "]), ([0, 1], [b" "]), ([1], [b"c", b" "])]:
        matcher = Matcher(grammar, tokens)
        assert all(matcher.accept(token) for token in taken)
        assert [texts[token] for token in matcher.mask().nonzero()[0]] == expected, taken


@pytest.mark.parametrize("name", NAMES)
def test_captures_beside_demands_found_by_the_parser(name):
    """In a grammar without ambiguity, the captures of a sentence are the only ones that the definition allows."""
    grammar = Grammar.from_lark(f"start: n (/,/ n)*\nn[capture]: /{name}/")
    definition = Definition({"start": [[name], [name, "x"]], "x": [[",", name], [",", name, "x"]]}, [])
    accepted = 0
    for text in strings("ab,", 6):
        if not definition.accepts(text):
            continue
        accepted += 1
        matcher = Matcher(grammar, BYTES)
        assert all(matcher.accept(byte) for byte in text.encode()), text
        assert matcher.captures() == [("n", part.encode()) for part in text.split(",")], text
    assert accepted > 20


def test_captures_of_names_that_must_be_followed():
    name = r"[ab]+(?! (?:ab|b)\b)"
    grammar = Grammar.from_lark(f"start: n (/ / n)+\nn[capture]: /{name}/")
    definition = Definition({"start": [["x", " ", name]], "x": [[name], ["x", " ", name]]}, [])
    accepted = 0
    for text in strings("ab ", 7):
        if not definition.accepts(text):
            continue
        accepted += 1
        matcher = Matcher(grammar, BYTES)
        assert all(matcher.accept(byte) for byte in text.encode()), text
        assert matcher.captures() == [("n", part.encode()) for part in text.split(" ")], text
    assert accepted > 20


def test_captures_of_names_side_by_side():
    """The first name of the reading that is reported is the longest that leaves a reading."""
    names = r"(?!(?:ab|aba)\b)[ab]+", r"(?!(?:b|ba)\b)[ab]+"
    grammar = Grammar.from_lark(f'start: a b\na[capture]: /{names[0]}/\nb[capture]: /{names[1]}/\n%ignore " "')
    definition = Definition({"start": [[*names]]}, [" "])
    accepted = 0
    for text in strings("ab ", 6):
        if not definition.accepts(text):
            continue
        accepted += 1
        begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
        found = []
        for place in range(begin + 1, end):
            next_ = place + len(text[place:]) - len(text[place:].lstrip(" "))
            if definition.lexeme(names[0], text, begin, place) and definition.lexeme(names[1], text, next_, end):
                found = [("a", text[begin:place].encode()), ("b", text[next_:end].encode())]
        matcher = Matcher(grammar, BYTES)
        assert all(matcher.accept(byte) for byte in text.encode()), text
        assert matcher.captures() == found, text
    assert accepted > 100


@pytest.mark.parametrize("attribute", ["max_tokens=20", "capture", "temperature=0.5"])
def test_attributes_beside_a_thousand_keywords(attribute):
    words = [f"w{i:03}x" for i in range(1000)]
    grammar = Grammar.from_lark(
        f'start: x NAME?\nx[{attribute}]: NAME\nNAME: /(?!(?:{"|".join(words)})\\b)[a-z_][a-z_0-9]*/i\n%ignore " "'
    )
    assert grammar.engine.stats()["symbols"] < 40
    for text in ("w000x", "w999x", "a w500x", "w000", "w000xy", "w00 x"):
        assert we_accept(grammar, text) == (not set(text.split()) & set(words)), text


def test_names_that_do_not_end_in_a_word():
    """A lookbehind by words longer than the shortest name is refused; the hint says how to write it."""
    with pytest.raises(GrammarError, match="lookbehind may look at the text before the terminal") as caught:
        Grammar.from_lark("start: NAME\nNAME: /[a-z]+(?<!from|into)/")
    assert caught.value.hint is not None and "at least as many characters" in caught.value.hint
    grammar = Grammar.from_lark("start: NAME\nNAME: /[a-z]{1,3}|[a-z]{4,}(?<!from|into)/")
    for text in ["a", "into", "xinto", "intox", "fro", "form", "from"]:
        assert we_accept(grammar, text) == (re.fullmatch(r"[a-z]+(?<!from)(?<!into)", text) is not None)


def test_names_beside_each_other_with_many_words():
    """A text is accepted exactly if none of its words is excluded: a name may end anywhere, but begins with no word."""
    words = [text for text in strings("abcd", 4) if len(text) == 4]
    grammar = Grammar.from_lark(f"start: NAME+\nNAME: /(?!(?:{'|'.join(words)})\\b)[a-z]+/\n%ignore / /")
    for text in ["abcd", "abcde", "abc", "abcd abcx", "abcx abcd", "abcx  dcbax", "a dddd b", "zzabcd"]:
        assert we_accept(grammar, text) == words_allowed(text, words), text


def words_allowed(text: str, words: list[str]) -> bool:
    return not any(word in words for word in text.split())


def test_few_rows_are_made_before_demands_are_decided_without_them():
    """The rows of a search grow without end here; it took a second to make the 512 smallest of them."""
    grammar = Grammar.from_lark("start: start N | start start /c/ | N\nN: /c(?! b)|b(?= a| bb|b)/")
    assert we_accept(grammar, "c") and we_accept(grammar, "ccc") and not we_accept(grammar, "b")
    assert grammar.stats()["skeletons"] < 150
