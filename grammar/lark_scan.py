"""The lexemes of a Lark grammar text.

One master expression splits the text; it keeps the lexical rules of Lark's own loader (`TERMINALS` in
`lark/load_grammar.py`), of which three surprise: a comment takes the line breaks before it along, so a commented line
is no line at all; `|` at the beginning of a line continues the definition above it; and `?` directly before a letter is
the modifier of a rule, never the operator. Two things are new: `<|name|>`, a special token, and `%word` for any word,
so that what we do not support is refused by its name.

`findall` is used because it makes one string a lexeme and nothing else: half the time of match objects. Offsets are
found by a second pass, and only for an error.

Time is linear in the text whatever it holds. Lark's expressions for strings (`(\\\\"|\\\\\\\\|[^"\\n])*?`) and for line
breaks (`(\\r?\\n)+\\s*\\|`) are exponential and quadratic on bad input; those here match the same lexemes.
"""

from __future__ import annotations

import re

_SKIPPED = r"[ \t]*(?:(?:\s*(?://|\#)[^\n]*|\\[ ]*\n)[ \t]*)*"

# The frequent ones come first.
_LEXEME = r"""
      _?[a-z][_a-z0-9]*                                 # rule
    | "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"i?                # string
    | [:|()\[\]{},~*]
    | _?[A-Z][_A-Z0-9]*                                 # terminal
    | \r?\n\s*\|?                                       # end of a definition, or `|` going on with it
    | /(?!/)[^/\\]*(?:\\[\s\S][^/\\]*)*/[imslux]*       # regexp; it may span lines
    | (?:!\??|\?!?)_?[a-z][_a-z0-9]*                    # rule with its modifiers
    | [+-]?\d+
    | %[a-z]*                                           # directive
    | <[^<>\s]+>                                        # special token
    | -> | \.\.? | \+ | \?(?![a-z_])
"""

# Where no lexeme fits, everything that is left is one lexeme "": the first such place is the error.
_skip = re.compile(_SKIPPED, re.VERBOSE)
_scan = re.compile(f"{_SKIPPED}(?:({_LEXEME})|\\Z|[\\s\\S]+)", re.VERBOSE)

END = ""
"""The last lexeme of every text; the second but last, too, where the text holds something that is no lexeme."""


def scan(text: str) -> list[str]:
    """The lexemes of `text`, which ends with a line break, and then END."""
    return _scan.findall(text)


def offsets(text: str) -> list[int]:
    """Where the lexemes of `text` begin."""
    result = []
    for match in _scan.finditer(text):
        if match.group(1) is not None:
            result.append(match.start(1))
        else:
            skipped = _skip.match(text, match.start())
            result.append(skipped.end() if skipped else match.start())
    return result
