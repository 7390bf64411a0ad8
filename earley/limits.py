"""Limits: what a grammar may ask for, and what matching it may take. For servers that read grammars from strangers."""

from __future__ import annotations

from dataclasses import dataclass, fields

MiB = 1 << 20

_MOST = {"nesting": 100, "repetitions": 2**31 - 1}
"""Fields that can only be lowered: trees are read recursively, and regexes keep counts in 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on a grammar and on the work and memory of its matchers, given to `Grammar.from_*` as `limits=`.

    Whatever would go beyond one raises a `LimitError` that names it, and leaves the matcher as it was before the call.
    What is only remembered (lexer states, regex nodes, parser tables) is forgotten first, and worked out again where it
    is needed: only what one call, or the accepted tokens of the matchers that are alive, cannot do without is an error.

    Attributes:
        source_characters: characters of a grammar's text and of all that it imports, or of all choices together.
        imports: texts that a grammar imports, each as often as another text imports it.
        nesting: groups, options and arguments within each other, as written.
        repetitions: the counts of `x{m,n}` and `x~n`.
        terminal_pieces: strings and regexps that one terminal is composed of, those of terminals in it included.
        template_uses: different lists of things that templates are used with.
        symbols: terminals, rules, and helpers that operators such as `*` become; and what texts bring: keys of objects
            that were met, rules for values.
        productions: alternatives of all rules and helpers.
        production_symbols: symbols that these consist of.
        lexer_states: sets of terminals being matched at once that are known at a time; each takes over 1,024 bytes.
        regex_nodes: regular expressions that terminals have become, byte by byte, known at a time.
        derivations: regex nodes worked out for one byte of text.
        row_items: items of one row of the parser: ways in which the text read so far may go on.
        grammar_bytes: memory for what has been learned about a grammar, by all of its matchers, without masks.
        matcher_bytes: memory for rows and positions of a matcher and its forks, in each of their tables.
        seconds: time of one call of a matcher, looked at every few thousand steps, waiting for other threads left out;
            and of loading a grammar, looked at between one terminal and the next.
    """

    source_characters: int = 1 << 23
    imports: int = 1_000
    nesting: int = 100
    repetitions: int = 2**31 - 1
    terminal_pieces: int = 100_000
    template_uses: int = 10_000
    symbols: int = 1_000_000
    productions: int = 4_000_000
    production_symbols: int = 16_000_000
    lexer_states: int = 1 << 17
    regex_nodes: int = 1 << 22
    derivations: int = 1 << 22
    row_items: int = 1 << 17
    grammar_bytes: int = 512 * MiB
    matcher_bytes: int = 512 * MiB
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kinds = (int, float) if field.name == "seconds" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise TypeError(f"limits: {field.name} must be a number, not {value!r}")
            most = _MOST.get(field.name, 1 << 62)
            if not 0 < value <= most:
                raise ValueError(f"limits: {field.name} must be above 0 and at most {most}, not {value!r}")


DEFAULT = Limits()
