"""The compiled form of a grammar, which front ends fill and matchers share."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from ._regex import Regexes
from .limits import Limits

_Described = TypeVar("_Described", bound=Hashable)

class Engine:
    """A grammar over the nodes of `regexes`, built by `add_*` and then `finish`.

    Symbols are ints. Every symbol in a production must be productive, that is, derive at least one string: otherwise
    the parser could predict a symbol that no text finishes, and masks would lead into dead ends. Front ends remove
    unproductive symbols first; `is_productive` answers for lazy symbols.

    One thread builds an engine. Once it is finished, threads may share it: its lock guards what it learns about its
    grammar from then on.
    """

    def __init__(self, regexes: Regexes) -> None: ...
    @property
    def regexes(self) -> Regexes:
        """The arena of the terminals' nodes."""

    @property
    def special_names(self) -> tuple[str, ...]:
        """Names of the special tokens that the grammar uses."""

    def node_of(self, symbol: int) -> int:
        """Return the regex node of a terminal. It may get another number when the arena is renumbered."""

    def add_terminal(self, name: str, node: int, ignored: bool = False) -> int:
        """Add a terminal that matches `node`, possibly the empty string; an `ignored` one may also stand between
        lexemes.

        The function of a lazy symbol may add terminals, but no ignored ones. Once the grammar is finished, nodes of
        this arena are sometimes renumbered: such a function may keep symbols from one call to the next, but no nodes.
        """

    def add_demanding(self, name: str, node: int, inside: int) -> int:
        """Add a terminal whose text may demand something of the text after it: `node` is one that `Regexes.cuts` made
        with the question OPEN. It must not match the empty string. After a text that `Regexes.cuts` with the question
        OUTSIDE matches, too, one code point of the node `inside` must follow.

        After each lexeme, the rest of a sentence must be possible without such terminals, too, or with texts of them
        that are sure (`add_sure`). So a row of which nothing is demanded always leads to a sentence. Wherever such a
        terminal may stand, a loose one may stand (`add_loose`).
        """

    def add_loose(self, name: str, node: int) -> int:
        """Add a terminal that matchers do not read. Masks are made twice: first with loose terminals in place of
        demanding and of covered ones, then without loose and demanding ones. Tokens that only the first mask
        allows are tried one by one. So a loose terminal must match all texts of the terminals for which it
        stands."""

    def add_sure(self, name: str, node: int) -> int:
        """Add a terminal whose lexemes never end: a sign that nothing has to be searched as long as it can go on. It
        must match only texts of demanding terminals that may stand wherever it may, and of these only such that some
        text that meets what they demand leads to a sentence."""

    def set_covered(self, symbol: int) -> None:
        """Declare that wherever this terminal may stand, a loose one may stand that matches its texts, and after
        which all may follow that may follow this one."""

    def set_unlikely(self, symbol: int) -> None:
        """Say that hardly anybody writes this terminal: what follows it is not made before it is asked for
        (`_likely`)."""

    def set_commit(self, symbol: int) -> None:
        """Let a terminal commit: where its lexeme may begin and its text stands, no reading has any lexeme there that
        is not of a terminal that commits.

        It must not match the empty string, and no text of such a terminal may begin with a text of another one, or with
        another text of its own. The grammar must not have demanding terminals or sets of token ids. After such a
        lexeme, the grammar must always lead to a sentence (`grammar/model/commits` decides that).
        """

    def add_followed(
        self,
        name: str,
        node: int,
        follow: Callable[..., int],
        *arguments: Any,
        kind: int = 0,
        varies: bool = False,
        untracked: bool = False,
    ) -> int:
        """Add a terminal whose text decides what may follow it: after the bytes `text`, the symbol
        `follow(*arguments, text)`.

        In a production it is the first of two symbols. The second one is used where the text is not known, so it must
        derive at least what `follow` gives for each text. Masks are made with it, and then the tokens in which the text
        makes a difference are tried one by one, see `set_doubtful`. `kind` says which tokens these are. `varies`: not
        everything that the second symbol derives without followed terminals may follow every text. `follow` may add
        symbols, like the function of a lazy symbol. `untracked` as in `add_lazy`.
        """

    def refuse_budgets(self, reason: str) -> None:
        """Declare that tokens to the end cannot be counted, because what may follow depends on more of the text than is
        said here. `reason` names it, for the error."""

    def set_doubtful(
        self, describe: Callable[[], _Described], make: Callable[[Regexes, _Described], Sequence[int]]
    ) -> None:
        """Set which tokens are tried one by one.

        When a vocabulary first needs them, and after `describe_again`, `describe()` returns a hashable description.
        Grammars with the same `make` and equal descriptions have the same tokens, so `make(regexes, description)` is
        only called for a description that is new to the vocabulary. It returns nodes of `regexes`, which is empty at
        first: one for places where no lexeme of a followed terminal is under way, and then one for each kind of these
        terminals, while such a lexeme is under way. They must match every token in which a lexeme of a followed
        terminal ends and what follows it matters.
        """

    def describe_again(self) -> None:
        """Say that what `describe` returns (see `set_doubtful`) has changed: more tokens are doubtful. To be called
        before a text can get to where these matter."""

    def add_special(self, name: str) -> int:
        """Add a special token by its name in the vocabulary. The same name is the same symbol."""

    def add_token_ids(
        self,
        name: str,
        ranges: Iterable[tuple[int, int]],
        *,
        names: Iterable[str] = (),
        negated: bool = False,
        eos: bool = True,
    ) -> int:
        """Add a symbol for one token out of a set: ids within inclusive `ranges`, and special tokens by their `names`;
        if `negated`, all other tokens. Without `eos`, the EOS tokens of a matcher are not in the set.

        Only the token itself matches it, never a spelling by bytes, even if the token has bytes. Ids in ranges and in
        negated sets count only if the vocabulary has them. Making a matcher raises VocabularyError if the vocabulary
        lacks a name, a single id, or all ids of the set. The same set is the same symbol.
        """

    def add_nonterminal(self, name: str) -> int:
        """Add a nonterminal. It needs at least one production before `finish`."""

    def add_lazy(
        self,
        name: str,
        expand: Callable[..., Iterable[Iterable[int]]],
        *arguments: Any,
        nullable: bool = False,
        witness: Iterable[int] | None = None,
        size: int = 0,
        untracked: bool = False,
    ) -> int:
        """Add a nonterminal whose productions `expand(*arguments)` makes when the parser first predicts it.

        `expand` returns right-hand sides, of symbols that exist or of terminals and lazy symbols that it adds. Texts
        may add very many symbols, and a garbage collection visits what each of them holds: for the method of an object
        pass the function, and the object as an argument. With `untracked`, it does not visit the tuple of the
        arguments: they must not refer to the engine, directly or not, except weakly.
        `nullable` says whether the symbol derives the empty string. Alternatives with unproductive symbols are dropped.
        `witness`: symbols that all derive a string exactly if this one does, if they are known without its productions.
        `size`: bytes that `expand` holds, beyond the few hundred that each symbol counts for.
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
        """Let `Matcher.captures` report texts of the nonterminal as `name`, if that is not None.

        If the text is one lexeme that consists of a text of node `body` and one of node `end`, then `end_name` is the
        name for the latter. The text reported as `name` includes it if `inside` is true.
        """

    def set_max_tokens(self, symbol: int, n: int, n_ending: int = 0) -> None:
        """Let a lexeme of the terminal take at most `n` tokens; then it has to end.

        `n_ending`: if lexemes end with a text of their own, as with `stop`, the number of bytes of the shortest such
        text; else 0.
        """

    def set_temperature(self, symbol: int, temperature: float) -> None:
        """Set what `Matcher.temperature` returns while a lexeme of the terminal is written."""

    def set_ignored_text(self, symbol: int) -> None:
        """Declare a terminal in productions to be ignored text: captures neither begin nor end with it."""

    def add_explainer(self, explainer: object) -> None:
        """Add an object whose `why_not(failure)` says which part of its source refuses a text.

        `earley/explain.py` calls it, and describes the arguments and the result in `Explainer`.
        """

    @property
    def explainers(self) -> list[Any] | None:
        """The objects given to `add_explainer`; None if it was not called."""

    @property
    def captures(self) -> dict[int, tuple[str | None, str | None, int | None, int | None, bool]] | None:
        """The arguments of `add_capture`, by symbol; None if it was not called."""

    @property
    def max_tokens(self) -> dict[int, tuple[int, int]] | None:
        """The arguments of `set_max_tokens`, by symbol; None if it was not called."""

    @property
    def temperatures(self) -> dict[int, float] | None:
        """The arguments of `set_temperature`, by symbol; None if it was not called."""

    @property
    def ignored_text(self) -> set[int] | None:
        """The symbols given to `set_ignored_text`; None if it was not called."""

    def is_productive(self, symbol: int) -> bool:
        """Return whether the symbol derives a string. Expands lazy symbols only as far as this needs."""

    def work_out(self, symbol: int) -> tuple[tuple[int, ...], ...]:
        """Make the productions of a lazy symbol now, and return them. The grammar must not be finished."""

    def work_out_first(self, symbol: int, n: int) -> None:
        """Make the productions of at most n lazy symbols that may stand at the beginning of a symbol, or behind its
        first terminal: the first mask needs them. The grammar must not be finished."""

    def add_production(self, lhs: int, rhs: Sequence[int]) -> None:
        """Add the production `lhs` -> `rhs`, a sequence of symbols."""

    def finish(self, start: int) -> None:
        """Set the start symbol and open the engine for matchers."""

    def set_limits(self, limits: Limits) -> None:
        """Set the `Limits` for matchers from now on."""

    def open_for_changes(self) -> None:
        """Raise `ValueError` once the engine is finished."""

    @property
    def limits(self) -> Limits:
        """The `Limits` that matchers keep to."""

    @property
    def n_symbols(self) -> int:
        """Terminals, nonterminals and special tokens."""

    @property
    def n_added(self) -> int:
        """Symbols that texts have added since the grammar was finished. They live as long as the engine."""

    @property
    def is_half_full(self) -> bool:
        """Whether texts have added half of the bytes that they may add before `load_bytes` refuses more."""

    @property
    def n_bytes(self) -> int:
        """The memory of the grammar and of what was learned about it, by an estimate: what loading took, and what was
        added since. Without what its vocabularies remember (`Vocabulary.stats`). Needs no lock."""

    @property
    def n_productions(self) -> int:
        """Productions of all nonterminals."""

    def stats(self) -> dict[str, int]:
        """Return how much has been learned about the grammar over all its vocabularies: numbers of things, and bytes.

        `grammar_bytes`: regexes, lexer states and skeletons, without those of the grammar itself. `rule_bytes`: symbols
        and rules that texts have added, by an estimate; `Limits.load_bytes` bounds them.
        `grammar_collections`: how often those that no living matcher needed were dropped. `mask_bytes`: answers and
        masks; one bound covers them and all else that is remembered for their vocabulary
        (`Vocabulary.stats`).
        """
