"""Limits on what a grammar may ask for and on what matching may take, for servers that read grammars from strangers."""

from __future__ import annotations

from dataclasses import dataclass, fields

MiB = 1 << 20

_MOST = {"nesting": 100, "repetitions": 2**31 - 1}
"""Fields that can only be lowered: texts are read recursively, and regexes keep counts in 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on a grammar and on the work and memory of its matchers, given to `Grammar.from_*` as `limits=`.

    A call that would go beyond a limit raises a `LimitError` that names it, and leaves the matcher as it was before the
    call. Lexer states, regex nodes and parser tables are only remembered: when their limit is reached, those that no
    living matcher needs are discarded, and computed again if a text needs them. The call fails only if it cannot be
    done within the limit, or if the living matchers together need more.

    Attributes:
        source_characters: characters of a grammar's text and of all texts that it imports, or of all choices together.
        imports: texts that a grammar imports; a text counts once for each text that imports it.
        nesting: groups, options and arguments inside one another, as written.
        repetitions: the counts of `x{m,n}` and `x~n`.
        terminal_pieces: strings and regexps that one terminal is composed of, including those of terminals inside it.
        template_uses: different argument lists that templates are used with.
        symbols: terminals, rules, and helper rules for operators such as `*`; also symbols that are added while texts
            are matched: for keys of objects that a text wrote, for rules with a value.
        productions: alternatives of all rules and helper rules.
        production_symbols: symbols in all productions together.
        lexer_states: states of the lexer (sets of terminals being matched) that are known at a time; each takes more
            than 1,024 bytes.
        regex_nodes: regular expressions that are known at a time: the terminals, and what remains of them after the
            bytes of texts.
        derivations: regex nodes computed for one byte of text.
        row_items: different items of one row of the parser: ways in which the text may continue.
        load_bytes: memory that loading a grammar may take, with symbols that are added while texts are matched. Objects
            of Python count by estimates.
        grammar_bytes: memory for what all matchers of a grammar have learned about it; the grammar itself and masks do
            not count.
        matcher_bytes: memory of a matcher and its forks together: their tokens, rows, continuations and positions.
        load_seconds: time that loading a grammar may take, from the call to its end.
        seconds: time that one call of a matcher may take. Both are processor time of the calling thread, so waiting for
            other threads or the interpreter's lock does not count.
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
    load_bytes: int = 256 * MiB
    grammar_bytes: int = 64 * MiB
    matcher_bytes: int = 64 * MiB
    load_seconds: float = 2.0
    seconds: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kinds = (int, float) if field.name in ("load_seconds", "seconds") else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise TypeError(f"limits: {field.name} must be a number, not {value!r}")
            most = _MOST.get(field.name, 1 << 62)
            if not 0 < value <= most:
                raise ValueError(f"limits: {field.name} must be above 0 and at most {most}, not {value!r}")

    @classmethod
    def trusted(cls) -> Limits:
        """Return limits for grammars of your own that are large: 30 seconds and 4 GiB for a load, 30 seconds for a call
        of a matcher, 512 MiB for what is learned about a grammar, and as much for a matcher with its forks."""
        return cls(
            load_bytes=4096 * MiB, grammar_bytes=512 * MiB, matcher_bytes=512 * MiB, load_seconds=30.0, seconds=30.0
        )

    def __repr__(self) -> str:
        """Show what differs from the default: all fields would fill five lines of `help` for each function that takes
        limits."""
        shown = [(field.name, getattr(self, field.name)) for field in fields(self)]
        given = [f"{name}={value!r}" for name, value in shown if value != getattr(Limits, name)]
        return f"Limits({', '.join(given)})"


DEFAULT = Limits()
