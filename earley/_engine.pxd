# The compiled form of a grammar: what the front ends fill and the matchers share.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._lexer cimport Lexer
from earleymask.earley._locks cimport Lock
from earleymask.earley._meter cimport Cancels
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rules cimport Rules
from earleymask.earley._skeletons cimport Skeletons

cdef enum:
    MAX_KINDS = 8               # of followed terminals: for each, tokens are tried that the other kinds need not try

cdef class Engine:
    cdef readonly Regexes regexes
    cdef Rules rules
    cdef Lexer lexer                # None until `finish`
    cdef Skeletons skeletons        # None until `finish`
    cdef dict specials              # name of a special token -> symbol
    cdef object doubtful            # the arguments of `set_doubtful`; None without followed terminals
    cdef list token_sets            # symbol, name, ranges, names, negated, eos: see `add_token_ids`
    # Attributes of symbols, by symbol; None if no symbol has the attribute.
    cdef readonly dict captures     # nonterminal -> name, end_name, body, end, inside: see `add_capture`
    cdef readonly dict max_tokens   # terminal -> most tokens, bytes of the shortest text that ends it or 0
    cdef readonly dict temperatures # terminal -> temperature
    cdef readonly list explainers   # what knows more about symbols than their names: see `add_explainer`; or None
    cdef readonly set ignored_text  # terminals that stand in productions and are ignored text all the same
    cdef object __weakref__
    cdef dict masks                 # TokenTrie, or it and EOS tokens -> Masks over it
    cdef list charts                # weak references to the charts of matchers
    cdef size_t prune_charts_at     # length of that list
    cdef uint32_t n_base_symbols    # symbols of the grammar itself; those that lazy and followed symbols add come after them
    cdef uint32_t n_base_nodes      # regex nodes of the grammar itself
    cdef size_t n_base_bytes        # `n_learned_bytes` when the grammar was finished,
    cdef size_t n_base_rule_bytes   # `Rules.n_bytes`,
    cdef size_t n_load_bytes        # and what loading it had taken
    cdef size_t collect_bytes, collect_states, collect_nodes    # a collection starts when as many have been learned
    cdef uint64_t n_collections     # times that `_forget` has dropped what no matcher needs
    cdef uint32_t n_looks           # calls of `is_full`
    cdef Lock lock                  # the thread that holds it may read and change everything here

    # Front ends call these for every symbol and production; compiled ones call them in C.
    cpdef uint32_t add_terminal(self, str name, node, bint ignored=*) except? 0xFFFFFFFF
    cpdef uint32_t add_nonterminal(self, str name) except? 0xFFFFFFFF
    cpdef add_production(self, lhs, rhs)
    cpdef open_for_changes(self)

    # Take the lock; waits without the GIL. MatcherInUseError if this thread has it already.
    cdef int acquire(self) except -1
    # The same for the call of a matcher. If `cancels` says that it was cancelled, it ends, also while it waits here.
    cdef int acquire_for(self, const Cancels* cancels) except -1
    cdef int wait(self, unsigned long thread, const Cancels* cancels) except -1
    cdef int acquire_freely(self, const Cancels* cancels) except -1 nogil   # the same for a thread without the GIL
    cdef int check_lock(self, unsigned long thread) except -1
    cdef bint try_acquire(self) except -1
    cdef void release(self) noexcept nogil
    cdef int add_chart(self, chart) except -1
    cdef size_t n_learned_bytes(self) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef int allow(self) except -1
    cdef int set_marks(self) except -1
