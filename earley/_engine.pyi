"""The compiled form of a grammar, which front ends fill and matchers share."""

from collections.abc import Callable, Iterable, Sequence

from ._regex import Regexes
from .limits import Limits

class Engine:
    """A grammar over the nodes of `regexes`, built by `add_*` and then `finish`.

    Symbols are ints. Every symbol that occurs in a production must be productive (derive at least one string): what
    the parser predicts it must be able to finish, or masks would lead into dead ends. Front ends trim first;
    `is_productive` answers for lazy symbols.

    One thread builds an engine. Finished, it is shared freely: what it learns about its grammar from then on is guarded
    by a lock of its own.
    """

    def __init__(self, regexes: Regexes) -> None: ...
    @property
    def regexes(self) -> Regexes:
        """The arena of the terminals' nodes."""

    @property
    def special_names(self) -> tuple[str, ...]:
        """Names of the special tokens that the grammar uses."""

    def add_terminal(self, name: str, node: int, ignored: bool = False) -> int:
        """A terminal that matches `node`, maybe the empty string too; an `ignored` one may also stand between
        lexemes.

        The function of a lazy symbol may add some, ignored ones excepted. Then nodes of this arena are numbered anew
        now and then: it may keep symbols, not nodes, from one call to the next.
        """

    def add_followed(self, name: str, node: int, follow: Callable[[bytes], int]) -> int:
        """A terminal whose text says what may follow it: after the bytes `text`, the symbol `follow(text)`.

        It stands first of two symbols in a production. The second one must derive at least what `follow` gives for each
        text, and stands for it where the text is not known: masks are made with it, and then looked through for tokens
        in which that makes a difference, see `set_doubtful`. `follow` may add symbols as the function of a lazy symbol
        may.
        """

    def set_doubtful(self, make: Callable[[], tuple[int, int]]) -> None:
        """Which tokens to look through. `make()` is called when that is first asked, and gives two regex nodes:
        `inside`, for where a followed terminal's lexeme has begun, and `outside`. A token in which such a lexeme ends,
        and what follows it matters, must match.
        """

    def add_special(self, name: str) -> int:
        """A special token, by its name in the vocabulary. The same name is the same symbol."""

    def add_token_ids(
        self, name: str, ranges: Iterable[tuple[int, int]], *, names: Iterable[str] = (), negated: bool = False
    ) -> int:
        """One token out of a set: ids within inclusive `ranges`, and special tokens by their `names`; all others, if
        `negated`.

        It is taken by the token itself and never spelled by bytes, whether or not the token has some. Of ranges, and
        of what is negated, only ids count that a vocabulary has; where it lacks a name, a single id or all of them,
        making a matcher raises VocabularyError. The same set is the same symbol.
        """

    def add_nonterminal(self, name: str) -> int:
        """A nonterminal, which needs at least one production before `finish`."""

    def add_lazy(
        self,
        name: str,
        expand: Callable[[], Iterable[Iterable[int]]],
        *,
        nullable: bool = False,
        witness: Iterable[int] | None = None,
    ) -> int:
        """A nonterminal whose productions `expand()` makes when the parser first predicts it.

        `expand` returns right-hand sides of symbols that exist, or of terminals and lazy symbols that it makes.
        `nullable` says whether the symbol derives the empty string. Alternatives with unproductive symbols are left
        out. `witness`: symbols that all derive a string exactly if this one does, where that is known without its
        productions.
        """

    def add_capture(
        self,
        symbol: int,
        name: str | None,
        *,
        end_name: str | None = None,
        body: int | None = None,
        end: int | None = None,
        inside: bool = True,
    ) -> None:
        """Texts of the nonterminal are reported as `name` by `Matcher.captures`, where that is not None.

        `body` and `end` are nodes where the text is one lexeme, a text of `body` and then one of `end`: then `end_name`
        is a name for the latter, which belongs to the text reported as `name` if it is `inside`.
        """

    def set_max_tokens(self, symbol: int, n: int, n_ending: int = 0) -> None:
        """A lexeme of the terminal may take `n` tokens, and then has to end.

        `n_ending`: where a lexeme ends with a text that says so, as `stop` has it, the bytes of the shortest one; else
        0.
        """

    def set_temperature(self, symbol: int, temperature: float) -> None:
        """What `Matcher.temperature` says where a lexeme of the terminal is written."""

    def set_ignored_text(self, symbol: int) -> None:
        """The terminal is ignored text, though it stands in productions: captures do not begin or end with it."""

    @property
    def captures(self) -> dict[int, tuple[str | None, str | None, int | None, int | None, bool]] | None:
        """What `add_capture` was given, by symbol; None if nothing was."""

    @property
    def max_tokens(self) -> dict[int, tuple[int, int]] | None:
        """What `set_max_tokens` was given, by symbol; None if nothing was."""

    @property
    def temperatures(self) -> dict[int, float] | None:
        """What `set_temperature` was given, by symbol; None if nothing was."""

    @property
    def ignored_text(self) -> set[int] | None:
        """What `set_ignored_text` was given; None if nothing was."""

    def is_productive(self, symbol: int) -> bool:
        """Whether the symbol derives a string. Expands lazy symbols only as far as it takes to know."""

    def work_out(self, symbol: int) -> None:
        """Makes the productions of a lazy symbol now, as long as the grammar is not finished."""

    def add_production(self, lhs: int, rhs: Sequence[int]) -> None:
        """`lhs` may become the symbols `rhs`."""

    def finish(self, start: int) -> None:
        """Fixes the start symbol and opens the engine for matchers."""

    def set_limits(self, limits: Limits) -> None:
        """What matchers may take from now on, a `Limits`."""

    def seconds_left(self) -> float:
        """What is left of the time that the call at work may take. For functions of lazy symbols."""

    def open_for_changes(self) -> None:
        """Raises `ValueError` once the engine is finished."""

    @property
    def limits(self) -> Limits:
        """The `Limits` that matchers keep to."""

    @property
    def n_symbols(self) -> int:
        """Terminals, nonterminals and special tokens."""

    @property
    def n_added(self) -> int:
        """Symbols that came with texts, since the grammar was finished. They stay as long as the engine."""

    @property
    def n_productions(self) -> int:
        """Productions of all nonterminals."""

    def stats(self) -> dict[str, int]:
        """What has been learned about the grammar so far, in numbers of things and bytes; over all its vocabularies.

        `grammar_bytes`: regexes, lexer states and skeletons; `grammar_collections`: times that they were forgotten but
        for what living matchers needed. `mask_bytes`: answers and masks, bounded together
        with all else that is remembered for their vocabulary (`Vocabulary.stats`).
        """
