"""Read a `lark.Lark` object: the text that it was made from, its start rule and its import paths."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..errors import GrammarError

# Options of Lark that change the language, and why they cannot be followed.
_CHANGING = {
    "postlex": "Python code makes tokens, such as those of an indentation",
    "edit_terminals": "Python code changes terminals",
    "g_regex_flags": "write the flags after each regular expression",
    "use_bytes": "patterns can only match text",
}


def source_of(parser: object, start: str, import_paths: Any, source_path: Any) -> tuple[str, str, Any, Any]:
    """Return text, start rule, import paths and file of a `lark.Lark`. Arguments of the caller come first.

    Its parser makes no difference. Raises GrammarError if one of its options changes the language.
    """
    lark = sys.modules.get("lark")
    if lark is None or not isinstance(parser, lark.Lark):
        hint = "; Grammar.from_lark_file reads a file" if isinstance(parser, os.PathLike) else ""
        raise TypeError(f"text must be a str or a lark.Lark, not {type(parser).__name__}{hint}")
    text = getattr(parser, "source_grammar", None)
    if not isinstance(text, str):
        raise GrammarError("this lark.Lark came from a cache or a file and has no grammar text", hint="give the text")
    options: Any = parser.options
    for name, why in _CHANGING.items():
        if getattr(options, name, None):
            raise GrammarError(f"this lark.Lark has the option `{name}`: {why}")
    if isinstance(options.lexer, type):
        raise GrammarError("this lark.Lark has its own lexer class", hint="give its grammar text to use that alone")
    starts = list(options.start)
    if start == "start" and start not in starts:
        if len(starts) > 1:
            raise GrammarError(
                f"this lark.Lark has the start rules {', '.join(starts)}", hint=f"give one: start={starts[0]!r}"
            ).set_option("start")
        start = starts[0]
    return text, start, [*import_paths, *options.import_paths], source_path or _file_of(parser)


def _file_of(parser: Any) -> str | None:
    """Return the file from which Lark resolves relative imports. If it has none, that is the running program."""
    if parser.source_path not in ("<string>", "<deserialized>", None):
        return str(parser.source_path)
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.join(os.path.dirname(os.path.abspath(main)) if main else os.getcwd(), "<string>")
