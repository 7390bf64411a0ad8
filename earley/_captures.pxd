# All readings of one text, to find what its captured rules have matched.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._engine cimport Engine
from earleymask.earley._lexer cimport Lexer
from earleymask.earley._meter cimport Meter
from earleymask.earley._rules cimport Rules
from earleymask.earley._tables cimport Map, Sequences, Words

# A lexeme that has begun at a place, after a row of any of the places in a stand, and has led the lexer to a state.
cdef struct Scanner:
    uint32_t begin
    uint32_t stand              # in `stands`: the places
    uint32_t state

cdef class Reading:
    cdef Engine engine
    cdef bint ends_here         # the text is complete
    cdef Rules rules
    cdef Lexer lexer
    cdef Meter meter
    cdef Words steps            # per place but the last: the byte that leads to the next one or NO_BYTE, maybe NAMED
    cdef dict named             # place -> tokens that end there and are symbols: place before, symbols
    # A row: items (dot << 32 | place where their production began), sorted. Row p is items[rows[p]:rows[p + 1]].
    cdef uint64_t* items
    cdef size_t n_items, items_capacity
    cdef Words rows
    cdef Sequences stands       # sets of places, ascending, whose rows stand at a place, ignored text between
    cdef Words stand_at         # per place: its entry in `stands`, or NONE
    # Lexemes, by the place where they end: terminal, place where they begin, stand; those at p are [starts[p]:starts[p
    # + 1]].
    cdef Words lexemes
    cdef Words lexeme_starts
    cdef Scanner* scanners      # in the order in which they began
    cdef size_t n_scanners, scanners_capacity
    cdef Words lhs              # per dotted rule at the end of a production: its nonterminal
    cdef Words predicted        # per symbol: 1 + the last place where it was predicted
    cdef Map seen               # an item, or a stand and a state -> 1 + the last place at which it was met
    cdef Words arrivals, words  # scratch
    cdef Chart chart            # finds where terminals that commit stand; None if there are none
    cdef Words committed        # places where the text of such a terminal stands and where it may begin, ascending
    cdef dict after_text        # (dotted rule after a text, origin, place): how it is made, as `made_from` returns it
    cdef set dots_after         # these dotted rules

    # After `read`:
    cdef dict edges             # node -> what `made_from` has returned
    cdef dict values            # node -> {extents (first, last): captures}
    cdef dict ends              # place -> what `ended` has returned
    cdef dict pairs             # ids of two trees of captures -> the tree of both, which is younger
    cdef dict captured          # symbol, extents, origin -> what `entries` has returned

    cdef int read(self) except -1 nogil
    cdef int find_committed(self) except -1 nogil
    cdef int start_committed(self, uint32_t place) except -1 nogil
    cdef int scan_byte(self, uint32_t place, uint32_t byte) except -1 nogil
    cdef bint may_end(self, uint32_t terminal, uint32_t state, uint32_t place) except -1 nogil
    cdef int scan_named(self, uint32_t place) except -1 nogil
    cdef int add_lexeme(self, uint32_t terminal, uint32_t begin, uint32_t stand, uint32_t place) except -1 nogil
    cdef int add(self, uint32_t dot, uint32_t origin, uint32_t place) except -1 nogil
    cdef uint32_t dot_after(self, uint64_t item, uint32_t row, uint32_t begin, uint32_t place) except? 0xFFFFFFFF nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef int close(self, uint32_t place) except -1 nogil
    cdef int predict(self, uint32_t symbol, uint32_t place) except -1 nogil
    cdef int stand(self, uint32_t place) except -1 nogil
    cdef int start_scanner(self, uint32_t place) except -1 nogil
    cdef bint has(self, uint32_t dot, uint32_t origin, uint32_t place) noexcept nogil
    cdef list places_of(self, uint32_t stand)
    cdef list rows_at_end(self)
    cdef list waiting_for(self, uint32_t place, uint32_t symbol)
    cdef list hanging(self)
    cdef object left_hand_side(self, uint32_t dot)
    cdef list made_from(self, node)
    cdef dict ended(self, uint32_t place)
    cdef dict value_of(self, node)
    cdef list entries(self, uint32_t symbol, object extents, uint32_t origin)
    cdef object split(self, uint32_t first, uint32_t last, uint32_t body, uint32_t end)
    cdef bytes text(self, size_t first, size_t last)
    cdef int explore(self, list nodes) except -1
    cdef object contexts(self, list nodes)
    cdef list flat(self, captures)
    cdef object joined(self, left, right)
    cdef bint better(self, left, right) except -1
    cdef bint keep(self, dict values, extents, captures) except -1
