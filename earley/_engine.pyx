"""The compiled form of a grammar.

`earleymask.grammar` fills an `Engine` with terminals, nonterminals and productions and calls `finish`; from then on the
grammar means the same. The engine keeps what matchers learn about it (regex derivatives, lexer states, skeletons) for
all of them, under one lock.
"""

cimport cython
from cpython.pythread cimport NOWAIT_LOCK, PyThread_acquire_lock, PyThread_release_lock

from libc.stdint cimport uint32_t

from operator import index
from weakref import ref

from earleymask.earley._locks cimport ENGINE, Lock, forking, let_fork, wait_for_fork
from earleymask.earley._large cimport untrack
from earleymask.earley._meter cimport Meter, n_taken, start, wait_within
from earleymask.earley._nodes cimport R_EMPTY
from earleymask.earley._rules cimport COVERED, DEMANDING, LOOSE, S_NONTERMINAL, S_SPECIAL, S_TERMINAL, SURE
from earleymask.earley._tables cimport NONE

from earleymask.earley.errors import MatcherInUseError

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil

MAX_TOKEN_ID = 0xFFFFFFFF


cdef class Engine:
    """A grammar over the nodes of `regexes`, built by `add_*` and then `finish`.

    Symbols are ints. Every symbol in a production must be productive, that is, derive at least one string: otherwise
    the parser could predict a symbol that no text finishes, and masks would lead into dead ends. Front ends remove
    unproductive symbols first; `is_productive` answers for lazy symbols.
    """

    def __cinit__(self, Regexes regexes not None):
        self.regexes = regexes
        self.rules = Rules()
        self.rules.meter = regexes.meter
        self.specials = {}
        self.token_sets = []
        self.masks = {}
        self.charts = []
        self.prune_charts_at = 8
        self.lock = Lock(self, ENGINE)

    cpdef uint32_t add_terminal(self, str name, node, bint ignored=False) except? 0xFFFFFFFF:
        """Add a terminal that matches `node`, possibly the empty string; an `ignored` one may also stand between
        lexemes.

        The function of a lazy symbol may add terminals, but no ignored ones. Once the grammar is finished, nodes of
        this arena are sometimes renumbered: such a function may keep symbols from one call to the next, but no nodes.
        """
        if ignored or not self.rules.n_expanding:
            self.open_for_changes()
        if self.regexes.is_empty(node):
            raise ValueError(f"terminal {name!r} matches nothing")
        return self.rules.add_symbol(name, S_TERMINAL, self.regexes.is_nullable(node), node, ignored)

    def node_of(self, symbol) -> int:
        """Return the regex node of a terminal. It may get another number when the arena is renumbered."""
        cdef uint32_t terminal = self.rules.checked(symbol)
        if self.rules.symbols[terminal].kind != S_TERMINAL:
            raise ValueError(f"symbol {symbol!r} is no terminal")
        return self.rules.symbols[terminal].node

    def add_demanding(self, str name not None, node, inside) -> int:
        """Add a terminal whose text may demand something of the text after it: `node` is one that `Regexes.cuts` made
        with the question OPEN. It must not match the empty string. After a text that `Regexes.cuts` with the question
        OUTSIDE matches, too, one code point of the node `inside` must follow.

        After each lexeme, the rest of a sentence must be possible without such terminals, too, or with texts of them that are
        sure (`add_sure`). So a row of which nothing is demanded always leads to a sentence. Wherever such a terminal may stand,
        a loose one may stand (`add_loose`).
        """
        symbol = self.add_terminal(name, node)
        self.rules.symbols[<uint32_t> symbol].role = DEMANDING
        self.rules.symbols[<uint32_t> symbol].inside = self.regexes.make_concat(
            self.regexes.known(inside), self.regexes.make_not(R_EMPTY))
        self.rules.has_demanding = True
        return symbol

    def add_loose(self, str name not None, node) -> int:
        """Add a terminal that matchers do not read. Masks are made twice: first with loose terminals in place of demanding
        and of covered ones, then without loose and demanding ones. Tokens that only the first mask allows are tried one
        by one. So a loose terminal must match all texts of the terminals for which it stands."""
        symbol = self.add_terminal(name, node)
        self.rules.symbols[<uint32_t> symbol].role = LOOSE
        return symbol

    def add_sure(self, str name not None, node) -> int:
        """Add a terminal whose lexemes never end: a sign that nothing has to be searched as long as it can go on. It must
        match only texts of demanding terminals that may stand wherever it may, and of these only such that some text that
        meets what they demand leads to a sentence."""
        symbol = self.add_terminal(name, node)
        self.rules.symbols[<uint32_t> symbol].role = SURE
        return symbol

    def set_covered(self, symbol) -> None:
        """Declare that wherever this terminal may stand, a loose one may stand that matches its texts, and after which all
        may follow that may follow this one."""
        self.rules.symbols[self.rules.checked(symbol)].role = COVERED

    def set_unlikely(self, symbol) -> None:
        """Say that hardly anybody writes this terminal: what follows it is not made before it is asked for
        (`_likely`)."""
        self.rules.symbols[self.rules.checked(symbol)].unlikely = True

    def set_commit(self, symbol) -> None:
        """Let a terminal commit: where its lexeme may begin and its text stands, no reading has any lexeme there that is not
        of a terminal that commits.

        It must not match the empty string, and no text of such a terminal may begin with a text of another one, or with
        another text of its own. The grammar must not have demanding terminals or sets of token ids. After such a lexeme,
        the grammar must always lead to a sentence (`grammar/model/commits` decides that).
        """
        self.open_for_changes()
        cdef uint32_t terminal = self.rules.checked(symbol), anything = self.regexes.make_not(R_EMPTY), after, within
        after = self.regexes.make_concat(self.rules.symbols[terminal].node, anything)
        within = self.regexes.make_not(self.regexes.make_concat(anything, after))
        self.rules.symbols[terminal].commits = True
        self.rules.symbols[terminal].barrier = after = self.regexes.make_not(after)
        self.rules.uncommitted = self.regexes.both(self.rules.uncommitted, within) if self.rules.has_commits else within
        self.rules.all_barriers = self.regexes.both(self.rules.all_barriers, after) if self.rules.has_commits else after
        self.rules.has_commits = True
        self.rules.n_commits += 1

    def add_followed(self, str name not None, node, follow, *arguments, kind=0, bint varies=False,
                     bint untracked=False) -> int:
        """Add a terminal whose text decides what may follow it: after the bytes `text`, the symbol
        `follow(*arguments, text)`.

        In a production it is the first of two symbols. The second one is used where the text is not known, so it must
        derive at least what `follow` gives for each text. Masks are made with it, and then the tokens in which the text
        makes a difference are tried one by one, see `set_doubtful`. `kind` says which tokens these are. `varies`: not
        everything that the second symbol derives without followed terminals may follow every text. `follow` may add
        symbols, like the function of a lazy symbol. `untracked` as in `add_lazy`.
        """
        if not 0 <= kind < MAX_KINDS:
            raise ValueError(f"a kind of followed terminals must be from 0 to {MAX_KINDS - 1}, not {kind}")
        symbol = self.add_terminal(name, node)
        self.rules.symbols[<uint32_t> symbol].followed = 1 + kind
        arguments = follow, *arguments
        if untracked:
            untrack(arguments)
        self.rules.followers[symbol] = arguments
        if varies:
            self.rules.varying.add(symbol)
        self.rules.has_followed = True
        return symbol

    def refuse_budgets(self, reason) -> None:
        """Declare that tokens to the end cannot be counted, because what may follow depends on more of the text than is
        said here. `reason` names it, for the error."""
        self.rules.varying.add(reason)

    def set_doubtful(self, describe, make) -> None:
        """Set which tokens are tried one by one.

        When a vocabulary first needs them, and after `describe_again`, `describe()` returns a hashable description.
        Grammars with the same `make` and equal descriptions have the same tokens, so `make(regexes, description)` is
        only called for a description that is new to the vocabulary. It returns nodes of `regexes`, which is empty at
        first: one for places where no lexeme of a followed terminal is under way, and then one for each kind of these
        terminals, while such a lexeme is under way. They must match every token in which a lexeme of a followed
        terminal ends and what follows it matters.
        """
        self.open_for_changes()
        self.doubtful = describe, make

    def describe_again(self) -> None:
        """Say that what `describe` returns (see `set_doubtful`) has changed: more tokens are doubtful. To be called
        before a text can get to where these matter."""
        self.rules.n_described += 1

    def add_special(self, str name not None) -> int:
        """Add a special token by its name in the vocabulary. The same name is the same symbol."""
        if name not in self.specials:
            self.open_for_changes()
            self.specials[name] = self.rules.add_symbol(name, S_SPECIAL)
        return self.specials[name]

    def add_token_ids(self, str name not None, ranges, *, names=(), negated=False, eos=True) -> int:
        """Add a symbol for one token out of a set: ids within inclusive `ranges`, and special tokens by their `names`;
        if `negated`, all other tokens. Without `eos`, the EOS tokens of a matcher are not in the set.

        Only the token itself matches it, never a spelling by bytes, even if the token has bytes. Ids in ranges and in
        negated sets count only if the vocabulary has them. Making a matcher raises VocabularyError if the vocabulary
        lacks a name, a single id, or all ids of the set. The same set is the same symbol.
        """
        ids = tuple(sorted({(index(low), index(high)) for low, high in ranges}))
        key = (ids, tuple(sorted(set(names))), bool(negated), bool(eos))
        for low, high in key[0]:
            if not 0 <= low <= high <= MAX_TOKEN_ID:
                raise ValueError(f"token ids {low} to {high}: a range must ascend within 0 to {MAX_TOKEN_ID}")
        if not any(key[:3]):        # neither ids nor names, and not negated
            raise ValueError(f"{name!r}: a set of token ids must have an id or a name, or be negated")
        for known in self.token_sets:
            if known[2:] == key:
                return known[0]
        self.open_for_changes()
        symbol = self.rules.add_symbol(name, S_SPECIAL)
        self.token_sets.append((symbol, name, *key))
        return symbol

    cpdef uint32_t add_nonterminal(self, str name) except? 0xFFFFFFFF:
        """Add a nonterminal. It needs at least one production before `finish`."""
        self.open_for_changes()
        return self.rules.add_symbol(name, S_NONTERMINAL)

    def add_lazy(self, str name not None, expand, *arguments, nullable=False, witness=None, size=0,
                 bint untracked=False) -> int:
        """Add a nonterminal whose productions `expand(*arguments)` makes when the parser first predicts it.

        `expand` returns right-hand sides, of symbols that exist or of terminals and lazy symbols that it adds. Texts may
        add very many symbols, and a garbage collection visits what each of them holds: for the method of an object pass
        the function, and the object as an argument. With `untracked`, it does not visit the tuple of the arguments: they
        must not refer to the engine, directly or not, except weakly.
        `nullable` says whether the symbol derives the empty string. Alternatives with unproductive symbols are dropped.
        `witness`: symbols that all derive a string exactly if this one does, if they are known without its productions.
        `size`: bytes that `expand` holds, beyond the few hundred that each symbol counts for.
        """
        arguments = expand, *arguments
        if untracked:
            untrack(arguments)
        return self.rules.add_lazy(name, nullable, arguments, witness, size)

    def add_capture(self, symbol, name, *, end_name=None, body=None, end=None, bint inside=True) -> None:
        """Let `Matcher.captures` report texts of the nonterminal as `name`, if that is not None.

        If the text is one lexeme that consists of a text of node `body` and one of node `end`, then `end_name` is the
        name for the latter. The text reported as `name` includes it if `inside` is true.
        """
        if self.captures is None:
            self.captures = {}
        self.captures[self.rules.checked(symbol)] = (name, end_name, body, end, inside)

    def set_max_tokens(self, symbol, n, n_ending=0) -> None:
        """Let a lexeme of the terminal take at most `n` tokens; then it has to end.

        `n_ending`: if lexemes end with a text of their own, as with `stop`, the number of bytes of the shortest such
        text; else 0.
        """
        if self.max_tokens is None:
            self.max_tokens = {}
        self.max_tokens[self.rules.checked(symbol)] = (n, n_ending)

    def set_temperature(self, symbol, temperature) -> None:
        """Set what `Matcher.temperature` returns while a lexeme of the terminal is written."""
        if self.temperatures is None:
            self.temperatures = {}
        self.temperatures[self.rules.checked(symbol)] = temperature

    def set_ignored_text(self, symbol) -> None:
        """Declare a terminal in productions to be ignored text: captures neither begin nor end with it."""
        if self.ignored_text is None:
            self.ignored_text = set()
        self.ignored_text.add(self.rules.checked(symbol))

    def add_explainer(self, explainer) -> None:
        """Add an object whose `why_not(failure)` says which part of its source refuses a text.

        `earley/explain.py` calls it, and describes the arguments and the result in `Explainer`.
        """
        if self.explainers is None:
            self.explainers = []
        self.explainers.append(explainer)

    def is_productive(self, symbol) -> bool:
        """Return whether the symbol derives a string. Expands lazy symbols only as far as this needs."""
        return self.rules.is_productive(symbol)

    def work_out(self, symbol) -> tuple[tuple[int, ...], ...]:
        """Make the productions of a lazy symbol now, and return them. The grammar must not be finished."""
        self.open_for_changes()
        return self.rules.alternatives(symbol)

    def work_out_first(self, symbol, n) -> None:
        """Make the productions of at most n lazy symbols that may stand at the beginning of a symbol, or behind its first
        terminal: the first mask needs them. The grammar must not be finished."""
        self.open_for_changes()
        self.rules.first_productions(symbol, n)

    cpdef add_production(self, lhs, rhs):
        """Add the production `lhs` -> `rhs`, a sequence of symbols."""
        self.open_for_changes()
        self.rules.add_production(lhs, rhs)

    def finish(self, start) -> None:
        """Set the start symbol and open the engine for matchers."""
        cdef uint32_t symbol
        self.open_for_changes()
        for symbol in range(self.rules.n_symbols):
            if self.rules.symbols[symbol].kind == S_NONTERMINAL and self.rules.symbols[symbol].first == NONE:
                raise ValueError(f"nonterminal {self.rules.names[symbol]!r} has no production")
        self.rules.find_nullable()
        self.rules.set_start(start)
        self.lexer = Lexer(self.regexes)
        self.skeletons = Skeletons(self.rules, self.lexer)
        self.regexes.meter.use(self.regexes.meter.limits)
        self.regexes.meter.holds_lock = False
        self.n_base_nodes = self.regexes.nodes.n
        self.n_base_symbols = self.rules.n_symbols
        self.n_base_bytes = self.n_learned_bytes()
        self.n_base_rule_bytes = self.rules.n_bytes()
        self.n_load_bytes = n_taken()
        self.allow()

    def set_limits(self, limits not None) -> None:
        """Set the `Limits` for matchers from now on."""
        self.acquire()
        try:
            self.regexes.meter.use(limits)
            if self.lexer is not None:
                self.allow()
        finally:
            self.release()

    cdef int allow(self) except -1:
        """Let the grammar itself not count where a limit bounds what is learned about it."""
        cdef Meter meter = self.regexes.meter
        cdef size_t most
        self.rules.most_symbols = max(self.n_base_symbols, self.regexes.meter.most_symbols)
        most = meter.limits.load_bytes
        meter.most_grammar_bytes = self.n_base_bytes + meter.limits.grammar_bytes
        # What texts add may take what loading has left, and at least a quarter.
        meter.most_rule_bytes = self.n_base_rule_bytes + max(most - min(most, self.n_load_bytes), most // 4)
        self.set_marks()
        return 0

    cpdef open_for_changes(self):
        if self.lexer is not None:
            raise ValueError("this engine is finished: its grammar cannot be changed; build another engine")

    @property
    def special_names(self) -> tuple[str, ...]:
        """Names of the special tokens that the grammar uses."""
        return tuple(self.specials)

    @property
    def limits(self):
        """The `Limits` that matchers keep to."""
        return self.regexes.meter.limits

    @property
    def n_symbols(self) -> int:
        """Terminals, nonterminals and special tokens."""
        return self.rules.n_symbols

    @property
    def n_added(self) -> int:
        """Symbols that texts have added since the grammar was finished. They live as long as the engine."""
        return self.rules.n_symbols - self.n_base_symbols if self.lexer is not None else 0

    @property
    def is_half_full(self) -> bool:
        """Whether texts have added half of the bytes that they may add before `load_bytes` refuses more."""
        cdef size_t base = self.n_base_rule_bytes
        if self.lexer is None:
            return False
        return 2 * (max(self.rules.n_bytes(), base) - base) > self.regexes.meter.most_rule_bytes - base

    @property
    def n_bytes(self) -> int:
        """The memory of the grammar and of what was learned about it, by an estimate: what loading took, and what was added
        since. Without what its vocabularies remember (`Vocabulary.stats`). Needs no lock."""
        if self.lexer is None or self.skeletons is None:
            return 0
        return (self.n_load_bytes + max(self.n_learned_bytes(), self.n_base_bytes) - self.n_base_bytes
                + max(self.rules.n_bytes(), self.n_base_rule_bytes) - self.n_base_rule_bytes)

    @property
    def n_productions(self) -> int:
        """Productions of all nonterminals."""
        return self.rules.n_productions

    def stats(self) -> dict[str, int]:
        """Return how much has been learned about the grammar over all its vocabularies: numbers of things, and bytes.

        `grammar_bytes`: regexes, lexer states and skeletons, without those of the grammar itself. `rule_bytes`: symbols and
        rules that texts have added, by an estimate; `Limits.load_bytes` bounds them.
        `grammar_collections`: how often those that no living matcher needed were dropped. `mask_bytes`: answers and
        masks; one bound covers them and all else that is remembered for their vocabulary
        (`Vocabulary.stats`).
        """
        self.acquire()
        try:
            stats = {
                "symbols": self.rules.n_symbols,
                "productions": self.rules.n_productions,
                "regex_nodes": self.regexes.nodes.n,
                "lexer_states": self.lexer.states.n if self.lexer is not None else 0,
                "lexer_transitions": self.lexer.n_transitions if self.lexer is not None else 0,
                "skeletons": self.skeletons.skeletons.n if self.skeletons is not None else 0,
                "closures": self.skeletons.n_closures if self.skeletons is not None else 0,
                "outcomes": self.skeletons.n_outcomes if self.skeletons is not None else 0,
                "shapes": self.skeletons.shapes.n if self.skeletons is not None else 0,
                "grammar_collections": self.n_collections,
                "grammar_bytes": (max(self.n_learned_bytes(), self.n_base_bytes) - self.n_base_bytes
                                  if self.skeletons is not None else 0),
                "rule_bytes": (max(self.rules.n_bytes(), self.n_base_rule_bytes) - self.n_base_rule_bytes
                               if self.skeletons is not None else 0),
            }
            for masks in self.masks.values():
                for name, value in masks.stats().items():
                    stats[name] = stats.get(name, 0) + value
            return stats
        finally:
            self.release()

    cdef int acquire(self) except -1:
        return self.acquire_for(NULL)

    @cython.final
    cdef int acquire_for(self, const Cancels* cancels) except -1:
        cdef unsigned long thread = PyThread_get_thread_ident()
        if forking and forking != thread:
            let_fork()
        if not PyThread_acquire_lock(self.lock.handle, NOWAIT_LOCK):
            self.wait(thread, cancels)
        self.lock.owner = thread
        start(self.regexes.meter)
        self.regexes.meter.cancels = cancels
        return 0

    cdef int wait(self, unsigned long thread, const Cancels* cancels) except -1:
        self.check_lock(thread)
        with nogil:
            wait_within(self.lock.handle, cancels)
        return 0

    cdef int acquire_freely(self, const Cancels* cancels) except -1 nogil:
        """Do the same without the GIL."""
        cdef unsigned long thread = PyThread_get_thread_ident()
        if forking and forking != thread:
            wait_for_fork()
        if not PyThread_acquire_lock(self.lock.handle, NOWAIT_LOCK):
            if self.lock.is_lost or self.lock.owner == thread:
                with gil:
                    self.check_lock(thread)
            wait_within(self.lock.handle, cancels)
        self.lock.owner = thread
        start(self.regexes.meter)
        self.regexes.meter.cancels = cancels
        return 0

    cdef int check_lock(self, unsigned long thread) except -1:
        """Raise MatcherInUseError if a thread would wait for the lock without end."""
        if self.lock.is_lost:
            raise MatcherInUseError(
                "another thread used this grammar when the process was forked, and its call took longer than the fork "
                "could wait. This process has only half of what the call has changed: load the grammar again")
        if self.lock.owner == thread:
            # A finalizer, or the function of a lazy symbol, calls a matcher.
            raise MatcherInUseError(
                "a call of a matcher was interrupted by another one of the same grammar in its own thread")
        return 0

    cdef bint try_acquire(self) except -1:
        """Take the lock if no thread has it; return whether it was taken."""
        if not PyThread_acquire_lock(self.lock.handle, NOWAIT_LOCK):
            return False
        self.lock.owner = PyThread_get_thread_ident()
        return True

    @cython.final
    cdef void release(self) noexcept nogil:
        self.regexes.meter.cancels = NULL               # the matcher may be freed
        self.lock.owner = 0
        PyThread_release_lock(self.lock.handle)

    def _lose(self):
        """Return what was half changed when the process was forked. (`Lock`)"""
        return [chart() for chart in self.charts]

    # ---- forgetting ---------------------------------------------------------------------------------------------

    cdef int add_chart(self, chart) except -1:
        if len(self.charts) >= self.prune_charts_at:
            self.charts = [known for known in self.charts if known() is not None]
            self.prune_charts_at = 2 * len(self.charts) + 8
        self.charts.append(ref(chart))
        return 0

    cdef size_t n_learned_bytes(self) noexcept nogil:
        return self.skeletons.n_learned_bytes()

    cdef bint is_full(self) noexcept nogil:
        """Return whether so much has been learned that a collection is due. The memory is summed at every 16th call
        only."""
        if self.lexer.states.n >= self.collect_states or self.regexes.nodes.n >= self.collect_nodes:
            return True
        self.n_looks += 1
        return self.n_looks % 16 == 0 and self.n_learned_bytes() >= self.collect_bytes

    cdef int set_marks(self) except -1:
        """Set when the next collection is due: at three quarters of a limit, or an eighth of it above what is in
        use."""
        cdef Meter meter = self.regexes.meter
        cdef size_t most = meter.most_grammar_bytes - self.n_base_bytes
        self.collect_bytes = max(self.n_base_bytes + most // 4 * 3, self.n_learned_bytes() + most // 8 + 1)
        self.collect_states = max(meter.most_lexer_states // 4 * 3, self.lexer.states.n + meter.most_lexer_states // 8 + 1)
        self.collect_nodes = max(meter.most_regex_nodes // 4 * 3, self.regexes.nodes.n + meter.most_regex_nodes // 8 + 1)
        return 0
