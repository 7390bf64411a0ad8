"""`lark.Lark` objects as grammars: the text that they were made from, with their start rule and import paths."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..errors import GrammarError

# Options of Lark that change which texts are in the language, and why they cannot be kept.
_CHANGING = {
    "postlex": "a post-lexer makes tokens in Python code, such as those of an indentation",
    "edit_terminals": "it changes terminals in Python code",
    "g_regex_flags": "write the flags on the regular expressions",
    "use_bytes": "patterns are for text here",
}


def source_of(parser: object, start: str, import_paths: Any, source_path: Any) -> tuple[str, str, Any, Any]:
    """Text, start rule, import paths and file of a `lark.Lark`. What was given beside it comes first.

    Which parser and lexer it has makes no difference. Raises GrammarError where an option of it changes the language.
    """
    lark = sys.modules.get("lark")
    if lark is None or not isinstance(parser, lark.Lark):
        raise TypeError(f"text must be a str or a lark.Lark, not {type(parser).__name__}")
    text = getattr(parser, "source_grammar", None)
    if not isinstance(text, str):
        raise GrammarError("this lark.Lark was made from a cache or a file of its own and does not know its grammar")
    options: Any = parser.options
    for name, why in _CHANGING.items():
        if getattr(options, name, None):
            raise GrammarError(f"this lark.Lark has the option `{name}`: {why}")
    if isinstance(options.lexer, type):
        raise GrammarError("this lark.Lark has a lexer of its own", hint="only its grammar's terminals can be kept")
    starts = list(options.start)
    if start == "start" and start not in starts:
        if len(starts) > 1:
            raise GrammarError(
                f"this lark.Lark has the start rules {', '.join(starts)}", hint=f"give one: start={starts[0]!r}"
            ).set_option("start")
        start = starts[0]
    return text, start, [*import_paths, *options.import_paths], source_path or _file_of(parser)


def _file_of(parser: Any) -> str | None:
    """The file that Lark takes relative imports to be relative to: where it has none, the program's."""
    if parser.source_path not in ("<string>", "<deserialized>", None):
        return str(parser.source_path)
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.join(os.path.dirname(os.path.abspath(main)) if main else os.getcwd(), "<string>")
