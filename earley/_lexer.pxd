# Lexer states: sets of (terminal, regex node), with transitions that are computed on first use.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._regex cimport Regexes
from earleymask.earley._rules cimport Symbol
from earleymask.earley._tables cimport NONE, ByteSet, Sequences, Words, sequence, sequence_length

cdef struct Transition:
    ByteSet bytes               # by any of these bytes
    uint32_t target             # a lexer state, maybe DEAD_STATE
    uint32_t next               # the transition of this state that was found before, or NONE

cdef enum:
    DEAD_STATE = 0              # no terminal is alive

cdef class Lexer:
    cdef Regexes regexes
    # terminal, node, terminal, node, ... by terminal; no node is empty. Then a node that all text from here on must
    # match, this lexeme and what follows it, if an earlier lexeme demands something of it.
    cdef Sequences states
    # PERF: most states have one byte that continues them, and few grammars live long. A table of 1 KB for each state took
    # as many new pages of memory, and a tenth of the time of new states to fill.
    cdef Words last             # per state: the transition that was found last, or NONE
    cdef Words table_of         # per state: its table if it has many transitions, or NONE
    cdef uint32_t* tables       # tables[table * 256 + byte]: index into transitions, or NONE if not visited yet
    cdef size_t n_tables, tables_capacity
    cdef Transition* transitions
    cdef size_t n_transitions, transitions_capacity
    cdef Words accepted         # terminals that a state accepts, state after state
    cdef size_t* accepted_starts    # those of state s: accepted[accepted_starts[s]:accepted_starts[s + 1]]
    cdef size_t accepted_starts_capacity
    cdef Words pairs, moved     # scratch
    cdef Words begun            # per state: `with_memory` of it, NONE if not known yet
    cdef Words plain            # per state: `without_memory` of it, NONE if not known yet
    cdef Words loose, modest    # per state: `for_masks` of it, NONE if not known yet
    cdef Words widths           # per state: NARROW or BROAD, NONE if not known yet

    # Return the state of these (terminal, node) pairs, sorted by terminal, and of the demand after them if n is odd;
    # pairs whose node matches nothing are dropped.
    cdef uint32_t state(self, const uint32_t* pairs, size_t n) except? 0xFFFFFFFF nogil
    # Return the index of the transition of `state` by `byte`, which is computed if it is new.
    cdef uint32_t transition(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil
    cdef uint32_t visit(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil
    cdef int enter(self, uint32_t state, const ByteSet* bytes_, uint32_t target) except -1 nogil
    # Return the state in which followed terminals remember what they read; and the state in which they do not.
    cdef uint32_t with_memory(self, uint32_t state, const Symbol* symbols) except? 0xFFFFFFFF nogil
    cdef uint32_t without_memory(self, uint32_t state) except? 0xFFFFFFFF nogil
    cdef bint has_read(self, uint32_t state) noexcept nogil     # some followed terminal has read something
    # Return the kinds of the followed terminals that have read something, one bit for each kind.
    cdef uint32_t kinds_read(self, uint32_t state, const Symbol* symbols) noexcept nogil
    # Return the state of which `demand` is demanded, too.
    cdef uint32_t with_demand(self, uint32_t state, uint32_t demand) except? 0xFFFFFFFF nogil
    # Return the state with its k-th terminal only; and whether some text of a state's only terminal, with any text after it, is
    # what the state demands.
    cdef uint32_t alone(self, uint32_t state, size_t k) except? 0xFFFFFFFF nogil
    cdef bint may_end(self, uint32_t state) except -1 nogil
    # Return the state without its demand; and with only those terminals that commit, or that do not.
    cdef uint32_t without_demand(self, uint32_t state) except? 0xFFFFFFFF nogil
    cdef uint32_t part_of(self, uint32_t state, const Symbol* symbols, bint commits) except? 0xFFFFFFFF nogil
    # Return the state with which masks are made, first and then `modest` ones (`_masks`).
    cdef uint32_t for_masks(self, uint32_t state, const Symbol* symbols, bint modest) except? 0xFFFFFFFF nogil
    # Return whether only few bytes continue the state.
    cdef bint is_narrow(self, uint32_t state) except -1 nogil
    # Return whether there is a terminal that matchers read.
    cdef bint is_read(self, uint32_t state, const Symbol* symbols) noexcept nogil
    # Return the node of a terminal in a state that has the terminal.
    cdef uint32_t node_of(self, uint32_t state, uint32_t terminal) noexcept nogil
    # Drop the states that are not marked. `hash_again(states)` is to follow.
    cdef void collect(self, const uint8_t* marks, uint32_t* map_, const uint32_t* nodes) noexcept nogil
    cdef bint half_full(self) noexcept nogil        # there are half as many states as the limit allows
    cdef size_t n_bytes(self) noexcept nogil


# A state has n_terminals of them, in ascending order; each comes with its node: the regex that it has still to match.
cdef inline size_t n_terminals(Lexer lexer, uint32_t state) noexcept nogil:
    return sequence_length(lexer.states, state) // 2


cdef inline uint32_t terminal_at(Lexer lexer, uint32_t state, size_t i) noexcept nogil:
    return sequence(lexer.states, state)[2 * i]


cdef inline uint32_t node_at(Lexer lexer, uint32_t state, size_t i) noexcept nogil:
    return sequence(lexer.states, state)[2 * i + 1]


# What is demanded of all text from a state on, or NONE.
cdef inline uint32_t demand_at(Lexer lexer, uint32_t state) noexcept nogil:
    cdef size_t n = sequence_length(lexer.states, state)
    return sequence(lexer.states, state)[n - 1] if n % 2 else NONE


# Return whether this is the node that every text matches, as a demand that is met becomes.
cdef bint matches_everything(Regexes regexes, uint32_t node) noexcept nogil


# The terminals that a state accepts, in ascending order.
cdef inline size_t n_accepted(Lexer lexer, uint32_t state) noexcept nogil:
    return lexer.accepted_starts[state + 1] - lexer.accepted_starts[state]


cdef inline uint32_t accepted_at(Lexer lexer, uint32_t state, size_t i) noexcept nogil:
    return lexer.accepted.data[lexer.accepted_starts[state] + i]


# The state that a byte leads to, maybe DEAD_STATE.
cdef inline uint32_t next_state(Lexer lexer, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil:
    return lexer.transitions[lexer.transition(state, byte)].target
