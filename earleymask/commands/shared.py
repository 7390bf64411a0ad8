"""Functions of several commands: read files and grammars, match a text, show where it fails; and the exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..earley import Matcher
from ..errors import GrammarError
from ..grammar import Grammar
from ..grammar.errors import excerpt

EXIT_OK, EXIT_NO, EXIT_ERROR = 0, 1, 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
SHOWN_BEFORE, SHOWN_AFTER = 60, 20
"""The most characters of a long line that are shown before and after the caret. An ellipsis stands for the others."""


class CommandError(Exception):
    """A mistake of the user. The command line shows its message and nothing else."""


def read_text(path: str, what: str) -> str:
    """Return the text of a file, or of stdin if the path is "-". `what` names it in errors."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"cannot read the {what} {path!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise CommandError(
            f"the {what} {path!r} is not UTF-8: invalid byte {byte:#04x} at offset {error.start}"
        ) from None


def show_warnings(grammar: Grammar) -> None:
    for warning in grammar.warnings:
        shown = excerpt(warning.text, warning.column) if warning.text else []
        print("\n".join([f"warning: {warning}", *shown]))


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Within this context, make errors in a grammar or schema name the file that it is from."""
    try:
        yield
    except GrammarError as error:
        for one in error.errors:
            if one.source is None and path != "-":
                one.source = path
        raise


def read_grammar(path: str, *, gbnf: bool = False, start: str | None = None) -> Grammar:
    """Read a grammar from a file: as GBNF if its name ends in .gbnf or `gbnf` is set, otherwise as Lark."""
    text = read_text(path, "grammar")
    with naming(path):
        if gbnf or path.lower().endswith(".gbnf"):
            return Grammar.from_gbnf(text, start=start or "root")
        # With `source_path`, the grammar may import files beside it.
        return Grammar.from_lark(text, start=start or "start", source_path=None if path == "-" else path)


def given_grammar(given: argparse.Namespace, start: str | None = None) -> Grammar:
    """Make the grammar that the command line names: a file, a regular expression or choices."""
    if given.regex is not None and given.choice is not None:
        raise CommandError("give --regex or --choice, not both")
    if given.regex is None and given.choice is None:
        return read_grammar(given.grammar, gbnf=given.gbnf, start=start)
    if given.gbnf or start is not None:
        raise CommandError("--gbnf and --start need a grammar in a file")
    if given.regex is not None:
        return Grammar.from_regex(given.regex)
    return Grammar.from_choices(given.choice)


def match(matcher: Matcher, data: bytes) -> int:
    """Accept bytes as long as the grammar does; return how many.

    The name of a special token stands for it wherever the grammar allows that token, and for its letters elsewhere.
    """
    specials = {name.encode(): token_id for name, token_id in matcher.vocabulary.special_tokens.items()}
    at = 0
    while at < len(data):
        for name, token_id in specials.items():
            if data.startswith(name, at) and matcher.accept(token_id):
                at += len(name)
                break
        else:
            if not matcher.accept(data[at]):
                break
            at += 1
    return at


def describe_place(data: bytes, offset: int) -> str:
    """Show the line of the text that has the byte `offset`, with a caret under its character.

    Columns count characters.
    """
    while offset < len(data) and data[offset] & 0xC0 == 0x80 and offset > 0:
        offset -= 1
    before = data[:offset].decode("utf-8", "replace")
    after = data[offset:].decode("utf-8", "replace")
    line = before.count("\n") + 1
    head = before.rpartition("\n")[2]
    tail = after.partition("\n")[0]
    column = len(head) + 1
    shown_head = head if len(head) <= SHOWN_BEFORE else "…" + head[-SHOWN_BEFORE:]
    shown_tail = tail if len(tail) <= SHOWN_AFTER else tail[:SHOWN_AFTER] + "…"
    # Tabs stay tabs, so that the caret stands under its character, whatever their width on the screen.
    under = "".join("\t" if char == "\t" else " " for char in shown_head)
    return f"line {line}, column {column}:\n    {printable(shown_head + shown_tail)}\n    {under}^"


def printable(text: str) -> str:
    """Replace control characters other than tabs, which files from elsewhere may have, by a visible character."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
