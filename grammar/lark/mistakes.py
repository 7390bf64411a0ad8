"""What is said about a Lark grammar text that cannot be read: the errors of `parse` and `expressions`.

`at` is the lexeme that the reader has come to. All of it may be slow.
"""

from __future__ import annotations

import re

from ..errors import GrammarError
from ..source import BYTE_ORDER_MARK, did_you_mean
from .scan import BAR, DIRECTIVE, END, LINE, NOTHING, TERMINAL
from .tree import ParsedGrammar

NEXT_LINE = (
    "a definition ends with its line, unless the next one begins with `|`; to go on without, end the line with `\\`"
)
CHARACTER_HINTS = {
    "'": 'strings stand in double quotes: "..."',
    ";": "a definition ends with its line; there are no semicolons",
    "$": "only a regular expression, /.../, has anchors",
    "^": "only a regular expression, /.../, has anchors and negated classes",
    "-": "difference is not part of the syntax; use a regular expression, /.../",
    "@": "@name is a grammar that the caller gives; `#` and `//` begin comments",
    "\\": "a backslash outside a string may only end a line",
    "?": "leave a blank between `?` and the name that follows",
    "!": "`!` stands only directly before the name of the rule that is being defined",
    "_": "names begin with a letter, or with one underscore and a letter",
    "\ufeff": BYTE_ORDER_MARK,
    "<": "special tokens are written <|name|>, without blanks",
}
# Directives of relatives of Lark, and what to do without them.
DIRECTIVE_HINTS = {
    "%llguidance": "leave the line out",
}

DIRECTIVES = ("%ignore", "%import", "%override", "%extend", "%declare")

BLOCKS = ("%json", "%lark", "%regex")
"""What stands in rules, with braces behind it."""

_WORD = re.compile(r"%\w*")

MIXED_CASE_HINT = "names of rules are in lower case, of terminals in upper case, letters of ASCII both"


def unexpected(parsed: ParsedGrammar, at: int, expected: str, hint: str | None) -> GrammarError:
    """The error about a lexeme; `expected` says what would be right."""
    lexeme = parsed.lexemes[at]
    if lexeme == END and at < len(parsed.lexemes) - 1:
        return unknown(parsed, at)
    kind = parsed.kinds[at]
    if kind in (LINE, NOTHING):
        shown = "the line ends"
    elif kind == BAR and lexeme != "|":
        shown = "`|` begins the next line"
    else:
        shown = f"`{lexeme if len(lexeme) <= 40 else lexeme[:40] + '...'}` stands"
    return parsed.error(f"{expected}, but {shown}", at, hint)


def never_closed(parsed: ParsedGrammar, at: int, opener: int) -> GrammarError:
    """The error about a group, from lexeme `opener` on, that is open where the definition ends."""
    ends_text = at >= len(parsed.lexemes) - 2
    hint = None if ends_text else "a group may go on in the next line only before `|`"
    return parsed.error(f"`{parsed.lexemes[opener]}` is never closed", opener, hint)


def misplaced(parsed: ParsedGrammar, at: int, follows_item: bool) -> GrammarError:
    """The error about a lexeme that cannot go on an expression."""
    lexeme = parsed.lexemes[at]
    if lexeme in ("*", "+", "?", "~", "{"):
        if follows_item:
            return parsed.error(f"`{lexeme}` follows another operator", at, "put parentheses around one")
        return parsed.error(f"there is nothing before `{lexeme}` that it could repeat", at)
    if lexeme == ":":
        return parsed.error("a definition begins inside another one", at, NEXT_LINE)
    if parsed.kinds[at] == DIRECTIVE:
        if lexeme in DIRECTIVES:
            return parsed.error(f"`{lexeme}` must begin a line", at)
        return not_a_directive(parsed, at)
    if lexeme == ",":
        hint = "what follows each other is written with blanks between"
        return unexpected(parsed, at, "no comma belongs here", hint)
    return unexpected(parsed, at, "this cannot go on here", None)


def not_a_directive(parsed: ParsedGrammar, at: int) -> GrammarError:
    """The error about `%word`, which is lexeme `at`, where no directive of that name can stand."""
    match = _WORD.match(parsed.source.text, parsed.offset(at))
    word = parsed.lexemes[at] if match is None else match[0]
    if word in BLOCKS:
        return parsed.error(f"`{word}` has no braces behind it", at, f"write `name: {word} {{...}}`")
    if word in DIRECTIVE_HINTS:
        return parsed.error(f"`{word}` is not supported", at, DIRECTIVE_HINTS[word])
    hint = did_you_mean(word, DIRECTIVES) or f"the directives are {', '.join(DIRECTIVES)}"
    return parsed.error(f"`{word}` is not a directive", at, hint)


def missing_colon(parsed: ParsedGrammar, at: int, begin: int, name: str) -> GrammarError:
    """The error about `name` at the beginning of a line, which is lexeme `begin`, without its colon."""
    follower = parsed.lexemes[at]
    if parsed.kinds[at] <= TERMINAL:
        offset = parsed.offset(at)
        if offset == parsed.offset(begin) + len(parsed.lexemes[begin]):
            return parsed.error(mixed_case(name + follower), begin, MIXED_CASE_HINT)
    if parsed.kinds[at] == LINE or (parsed.kinds[at] == BAR and follower != "|"):
        return parsed.error(f"`{name}` is not followed by a colon", begin, "definitions are written `name: ...`")
    return unexpected(parsed, at, f"a colon is expected after `{name}`", "definitions are written `name: ...`")


def unknown(parsed: ParsedGrammar, at: int) -> GrammarError:
    """The error about text that is no lexeme."""
    offset = parsed.offset(at)
    source = parsed.source
    character = source.text[offset : offset + 1]
    if character == '"':
        hint = 'write \\" for a quote and \\\\ for a backslash in it'
        return source.error("this string does not end on its line", offset, hint)
    if character == "/":
        return source.error("this regular expression does not end", offset, "write \\/ for a slash in it")
    if character == "%":
        hint = "its last character is the brace that closes it"
        return source.error("this does not end, or is nested too deeply", offset, hint)
    message = f"unexpected character {character!r}"
    hints = CHARACTER_HINTS.get(character)
    if hints is None and character.isalpha():
        hints = "names consist of letters, all in lower or all in upper case, of digits, `_` and `-`"
    return source.error(message, offset, hints)


def mixed_case(name: str) -> str:
    """What to say about a name that Lark reads as two."""
    return f"`{name}` mixes lower and upper case"
