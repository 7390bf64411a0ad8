"""What to write instead: hints for the mistakes that people make in Lark grammars."""

from __future__ import annotations

from ..source import BYTE_ORDER_MARK

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

BLOCKS = ("%json", "%lark", "%regex")
"""What stands in rules, with braces behind it."""

MIXED_CASE_HINT = "names of rules are in lower case, of terminals in upper case, letters of ASCII both"


def mixed_case(name: str) -> str:
    """What to say about a name that Lark reads as two."""
    return f"`{name}` mixes lower and upper case"
