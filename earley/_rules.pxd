# Symbols and productions of one grammar.

from libc.stdint cimport uint8_t, uint32_t

from earleymask.earley._meter cimport Meter
from earleymask.earley._tables cimport Words

cdef enum:
    S_NONTERMINAL
    S_LAZY              # a nonterminal whose productions have not been made yet
    S_TERMINAL
    S_SPECIAL           # a special token, spelled by no bytes

cdef enum:              # roles of terminals: matchers read those before LOOSE, see `Engine.add_demanding`
    PLAIN
    DEMANDING           # its text may demand something of the text after it
    COVERED             # for the first of two masks, a LOOSE one stands for it
    LOOSE               # for the first of two masks only
    SURE                # its lexeme never ends: while it can go on, the text leads to a sentence

cdef struct Symbol:
    uint8_t kind
    uint8_t nullable
    uint8_t ignored     # terminal: may stand between any two lexemes
    uint8_t followed    # terminal: if its text decides what may follow, 1 and its kind, see `Engine.add_followed`; else 0
    uint8_t role        # terminal: see above
    uint8_t commits     # terminal: where it has matched, nothing else has, see `Engine.set_commit`
    uint8_t unlikely    # terminal: see `Engine.set_unlikely`
    uint8_t proof       # lazy: whether it derives a string, as far as that is known
    uint32_t node       # terminal: its regex node
    uint32_t inside     # DEMANDING: the node `inside` of `Engine.add_demanding`, and anything after it; else NONE
    uint32_t barrier    # terminal that commits: the texts that do not begin with one of its texts; else NONE
    uint32_t first      # nonterminal: its first production, or NONE
    uint32_t last       # nonterminal: its last production

cdef struct Production:
    uint32_t start      # its dotted rule with the dot at the front
    uint32_t next       # of the same nonterminal, or NONE

cdef class Rules:
    cdef Symbol* symbols
    cdef size_t symbols_capacity
    cdef readonly uint32_t n_symbols
    cdef uint32_t most_symbols      # limit of `n_symbols`
    cdef Production* productions
    cdef size_t productions_capacity
    cdef readonly uint32_t n_productions
    # dots[d] is the symbol after the dot of dotted rule d, NONE at the end of a production; d + 1 is the dot moved on.
    cdef Words dots
    cdef Words ignored              # ignored terminals, ascending
    cdef readonly list names        # of the symbols
    cdef size_t held_bytes          # what the functions of lazy symbols hold, as far as the front end has told it
    # Of each symbol, as far as it is lazy: a function that makes its productions, and the arguments of the function; or the
    # productions, once they are made. And symbols: it derives a string exactly if all of them do. (Tuples of numbers and
    # of such tuples: the garbage collector does not visit them.)
    cdef list expansions
    cdef list witnesses
    cdef bint has_followed
    cdef bint has_demanding
    cdef bint has_commits
    cdef uint32_t n_commits         # terminals that commit
    cdef uint32_t n_described       # how often the description of the doubtful tokens has changed (`Engine.set_doubtful`)
    cdef uint32_t all_barriers      # the intersection of all their barriers
    cdef uint32_t uncommitted       # the texts in which no terminal that commits matches anywhere, if there is one
    cdef dict followers             # followed terminal -> function that returns the symbol after a text, first arguments
    cdef set varying                # followed terminals after whose texts other things may follow, see `Engine.add_followed`
    cdef dict follow_dots           # (followed terminal, text) -> dotted rule "-> . symbol"
    cdef uint32_t n_expanding       # 1 while productions of a lazy symbol are made
    cdef Meter meter                # the engine's
    cdef uint32_t start             # dotted rule "-> . start"
    cdef uint32_t mark              # dotted rule of marks (`_template`), before a symbol that nothing scans

    cdef size_t n_bytes(self) noexcept nogil
    cdef uint32_t add_symbol(self, str name, uint8_t kind, bint nullable=*, uint32_t node=*,
                             bint ignored=*) except? 0xFFFFFFFF
    cdef uint32_t add_production(self, lhs, rhs) except? 0xFFFFFFFF
    # Return the symbol as an index; ValueError if there is no such symbol.
    cdef uint32_t checked(self, symbol) except? 0xFFFFFFFF
    cdef bint watch(self, uint32_t production, const uint32_t* lhs, uint32_t* dots, uint32_t* watched,
                    uint32_t* following) noexcept nogil
    # Return the dotted rule before the symbol that follows this text of a followed terminal.
    cdef uint32_t follow_dot(self, uint32_t terminal, bytes text) except? 0xFFFFFFFF
    # Make the productions of a lazy symbol.
    cdef int expand(self, uint32_t symbol) except -1 nogil
    # Around calls of functions of the front end: `tick` looks at the meter of the engine. `begin` returns what `end`
    # needs.
    cdef object begin(self)
    cdef int end(self, object around) except -1
