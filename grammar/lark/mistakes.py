"""Word the errors of `parse` and `expressions` about a malformed grammar text, with hints on what to write instead.

`at` is the index of the lexeme that the parser cannot use. These functions run once per error, so they may be slow.
"""

from __future__ import annotations

import re

from ..errors import GrammarError
from ..source import BYTE_ORDER_MARK, did_you_mean
from .scan import BAR, DIRECTIVE, END, LINE, NOTHING, TERMINAL
from .tree import ParsedGrammar

NEXT_LINE = (
    "a definition ends with its line, unless the next one begins with `|`; to continue it, end the line with `\\`"
)
CHARACTER_HINTS = {
    "'": 'write strings in double quotes: "..."',
    ";": "a definition ends with its line; there are no semicolons",
    "$": "only a regular expression, /.../, has anchors",
    "^": "only a regular expression, /.../, has anchors and negated classes",
    "-": "there is no difference operator; write A & ~B",
    "@": "write @name for a grammar that the caller gives; comments begin with `#` or `//`",
    "\\": "outside of strings, a backslash can only end a line",
    "?": "write the modifier `?` directly before the name of a rule; write a blank after the operator `?`",
    "!": "write `!` directly before the name of the rule that is being defined",
    "_": "names begin with a letter, or with one underscore and a letter",
    "\ufeff": BYTE_ORDER_MARK,
    "<": "write a special token as <|name|>, without blanks",
}
LLGUIDANCE = "%llguidance"

DIRECTIVES = ("%ignore", "%import", "%override", "%extend", "%declare")

BLOCKS = ("%json", "%lark", "%regex")
"""These are parts of rules, and braces follow them."""

_WORD = re.compile(r"%\w*")

MIXED_CASE_HINT = "write the name of a rule in lower case, and the name of a terminal in upper case"


def unexpected(parsed: ParsedGrammar, at: int, expected: str, hint: str | None) -> GrammarError:
    """Return the error about a lexeme. `expected` says what should be in its place."""
    lexeme = parsed.lexemes[at]
    if lexeme == END and at < len(parsed.lexemes) - 1:
        return unknown(parsed, at)
    kind = parsed.kinds[at]
    if kind in (LINE, NOTHING):
        shown = "the line ends"
    elif kind == BAR and lexeme != "|":
        shown = "the next line begins with `|`"
    else:
        shown = f"there is `{lexeme if len(lexeme) <= 40 else lexeme[:40] + '...'}`"
    return parsed.error(f"{expected}, but {shown}", at, hint)


def never_closed(parsed: ParsedGrammar, at: int, opener: int) -> GrammarError:
    """Return the error about a group, begun by lexeme `opener`, that is still open at the end of its definition."""
    ends_text = at >= len(parsed.lexemes) - 2
    hint = None if ends_text else "a group continues on the next line only if that begins with `|`"
    return parsed.error(f"`{parsed.lexemes[opener]}` is never closed", opener, hint)


def misplaced(parsed: ParsedGrammar, at: int, follows_item: bool) -> GrammarError:
    """Return the error about a lexeme that cannot continue an expression."""
    lexeme = parsed.lexemes[at]
    if lexeme in ("*", "+", "?", "~", "{"):
        if follows_item:
            return parsed.error(f"`{lexeme}` follows another operator", at, "put parentheses around the first")
        return parsed.error(f"there is nothing before `{lexeme}` to repeat", at)
    if lexeme == ":":
        return parsed.error("a definition begins inside another one", at, NEXT_LINE)
    if parsed.kinds[at] == DIRECTIVE:
        if lexeme in DIRECTIVES:
            return parsed.error(f"`{lexeme}` must begin a line", at)
        return not_a_directive(parsed, at)
    if lexeme == ",":
        return unexpected(parsed, at, "no comma is allowed here", "separate the parts of a sequence by blanks")
    return unexpected(parsed, at, "the expression cannot continue here", None)


def not_a_directive(parsed: ParsedGrammar, at: int) -> GrammarError:
    """Return the error about `%word`, lexeme `at`, which cannot be there."""
    match = _WORD.match(parsed.source.text, parsed.offset(at))
    word = parsed.lexemes[at] if match is None else match[0]
    if word in BLOCKS:
        return parsed.error(f"`{word}` has no braces after it", at, f"write `name: {word} {{...}}`")
    if word == LLGUIDANCE:
        return parsed.error(f"`{word}` has no braces after it", at, f"write `{word} {{}}` or remove the line")
    hint = did_you_mean(word, DIRECTIVES) or f"the directives are {', '.join(DIRECTIVES)}"
    return parsed.error(f"`{word}` is not a directive", at, hint)


def missing_colon(parsed: ParsedGrammar, at: int, begin: int, name: str) -> GrammarError:
    """Return the error about a line that begins with `name`, lexeme `begin`, and has no colon after it."""
    follower = parsed.lexemes[at]
    if parsed.kinds[at] <= TERMINAL:
        offset = parsed.offset(at)
        if offset == parsed.offset(begin) + len(parsed.lexemes[begin]):
            return parsed.error(mixed_case(name + follower), begin, MIXED_CASE_HINT)
    if parsed.kinds[at] == LINE or (parsed.kinds[at] == BAR and follower != "|"):
        return parsed.error(f"there is no colon after `{name}`", begin, "write a definition as `name: ...`")
    return unexpected(parsed, at, f"a colon is expected after `{name}`", "write a definition as `name: ...`")


def unknown(parsed: ParsedGrammar, at: int) -> GrammarError:
    """Return the error about text that is no lexeme."""
    offset = parsed.offset(at)
    source = parsed.source
    character = source.text[offset : offset + 1]
    if character == '"':
        hint = 'within it, write \\" for a quote and \\\\ for a backslash'
        return source.error("this string does not end on its line", offset, hint)
    if character == "/":
        return source.error("this regular expression does not end", offset, "within it, write \\/ for a slash")
    if character == "%":
        hint = "close it with a brace or parenthesis, and define inner grammars in a text of their own"
        return source.error("this block or condition does not end, or blocks are nested too deeply", offset, hint)
    message = f"unexpected character {character!r}"
    hints = CHARACTER_HINTS.get(character)
    if hints is None and character.isalpha():
        hints = "a name consists of letters, all in lower or all in upper case, of digits, `_` and `-`"
    return source.error(message, offset, hints)


def mixed_case(name: str) -> str:
    """Return the message about a name that Lark would read as two."""
    return f"`{name}` mixes lower and upper case"
