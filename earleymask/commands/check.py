"""`earleymask check`: load a grammar, and check whether a text is one of its sentences."""

from __future__ import annotations

import argparse

from ..earley import Matcher
from ..grammar import Grammar
from ..trie import Vocabulary
from .shared import (
    EXIT_NO,
    EXIT_OK,
    CommandError,
    describe_place,
    given_grammar,
    match,
    read_text,
    show_warnings,
)


def run(given: argparse.Namespace) -> int:
    if given.regex is not None or given.choice is not None:
        # Without a grammar file, the first argument is the text.
        if given.text is not None:
            given.usage_error("give one grammar: a file, --regex or --choice")
        given.text = given.grammar
        given.grammar = None
    elif given.grammar is None:
        given.usage_error("give a grammar: a file, --regex or --choice")
    if given.text is not None and given.file is not None:
        raise CommandError("give TEXT or --file, not both")
    if given.grammar == "-" and given.file == "-":
        raise CommandError("the grammar and the text cannot both come from stdin")
    grammar = given_grammar(given, given.start)
    show_warnings(grammar)
    text = read_text(given.file, "text") if given.file is not None else given.text
    if text is None:
        print("The grammar is well formed.")
        return EXIT_OK
    matcher = Matcher(grammar, _bytes_and_specials(grammar))
    data = text.encode("utf-8", "surrogateescape")  # the bytes that the shell gave, malformed UTF-8 included
    n_matched = match(matcher, data)
    if n_matched == len(data) and matcher.is_accepting():
        print("The text is a sentence of the grammar.")
        return EXIT_OK
    if n_matched == len(data):
        print("The text ends too early: it is only the beginning of a sentence.")
    else:
        print("The text is not a sentence: the grammar does not allow the character at the caret.")
    print(describe_place(data, n_matched))
    print("\n".join(matcher.explain(data[n_matched:] or None).details()))
    return EXIT_NO


def _bytes_and_specials(grammar: Grammar) -> Vocabulary:
    """Return a vocabulary of the single bytes, the special tokens that the grammar names, and an EOS without a name."""
    names = grammar.engine.special_names
    tokens = [bytes([byte]) for byte in range(256)] + [b""] * (len(names) + 1)
    specials = {name: 256 + at for at, name in enumerate(names)}
    return Vocabulary.from_tokens(tokens, eos_token_id=256 + len(names), special_tokens=specials)
