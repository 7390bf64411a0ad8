"""`earleymask check`: is the grammar well formed, and is the text one of its sentences?"""

from __future__ import annotations

import argparse

from .cli import EXIT_NO, EXIT_OK, CommandError, given_grammar, read_text
from .earley import Matcher
from .grammar import Grammar
from .grammar.errors import excerpt
from .trie import Vocabulary

MAX_EXPECTED = 20  # names of terminals in a message
SHOWN_BEFORE, SHOWN_AFTER = 60, 20  # characters of a long line around the place


def run(given: argparse.Namespace) -> int:
    if given.regex is not None or given.choice is not None:
        # There is no file, so what stands first is the text.
        if given.text is not None:
            given.usage_error("one grammar: a file, --regex or --choice")
        given.text = given.grammar
        given.grammar = None
    elif given.grammar is None:
        given.usage_error("a grammar is needed: a file, --regex or --choice")
    if given.text is not None and given.file is not None:
        raise CommandError("give the text itself or --file, not both")
    if given.grammar == "-" and given.file == "-":
        raise CommandError("the grammar and the text cannot both come from stdin")
    grammar = given_grammar(given, given.start)
    for warning in grammar.warnings:
        shown = excerpt(warning.text, warning.column) if warning.text else []
        print("\n".join([f"warning: {warning}", *shown]))
    text = read_text(given.file, "text") if given.file is not None else given.text
    if text is None:
        print("The grammar is well formed.")
        return EXIT_OK
    matcher = Matcher(grammar, _bytes_and_specials(grammar))
    data = text.encode("utf-8", "surrogateescape")  # as the shell gave it, malformed UTF-8 included
    n_matched = match(matcher, data)
    if n_matched == len(data) and matcher.is_accepting():
        print("The text is a sentence of the grammar.")
        return EXIT_OK
    if n_matched == len(data):
        print("The text is not a sentence, but can become one: it ends too early.")
    else:
        print("The text is not a sentence, and nothing that begins like it is.")
    print(describe_place(data, n_matched))
    print(describe_expected(matcher, at_end=n_matched == len(data)))
    return EXIT_NO


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


def _bytes_and_specials(grammar: Grammar) -> Vocabulary:
    """The single bytes, the special tokens that the grammar names, and an EOS without a name."""
    names = grammar.engine.special_names
    tokens = [bytes([byte]) for byte in range(256)] + [b""] * (len(names) + 1)
    specials = {name: 256 + at for at, name in enumerate(names)}
    return Vocabulary.from_tokens(tokens, eos_token_id=256 + len(names), special_tokens=specials)


def describe_place(data: bytes, offset: int) -> str:
    """The line of the text in which `offset` lies, with a caret under it.

    Columns count characters. Inside a character the caret stands under that character.
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
    # Tabs stay, so that the caret stands under its character however wide they are shown.
    under = "".join("\t" if char == "\t" else " " for char in shown_head)
    return f"line {line}, column {column}:\n    {_printable(shown_head + shown_tail)}\n    {under}^"


def describe_expected(matcher: Matcher, *, at_end: bool) -> str:
    """What could have stood there."""
    expected = list(matcher.expected())
    if matcher.is_accepting() and not at_end:
        expected.append("the end of the text")
    if not expected:
        return "Nothing can stand there."
    left_out = len(expected) - MAX_EXPECTED
    names = ", ".join(expected[:MAX_EXPECTED]) + (f", and {left_out} more" if left_out > 0 else "")
    return f"Expected there: {names}"


def _printable(text: str) -> str:
    """Control characters as one visible character each."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
