# The fewest tokens that spell a text of a regex, or of a symbol. Per grammar and vocabulary.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._regex cimport Regexes
from earleymask.earley._rules cimport Rules
from earleymask.earley._tables cimport Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ENDLESS = 1 << 30           # tokens: no text was found; sums of some thousands of it are still numbers

cdef class Shortest:
    cdef Rules rules
    cdef Regexes regexes
    cdef TokenTrie trie
    cdef Quotient quotient
    cdef uint64_t n_collections # of the engine, when regex nodes had the numbers that they have in `texts`
    cdef bint spells[256]       # byte -> whether some token is just this byte
    cdef bint lacks_bytes       # whether some bytes are no tokens
    cdef bint in_bytes          # tokens of several bytes do not count
    cdef dict texts             # regex node -> tokens, bytes, first byte, node after it; of the text that was chosen for it
    cdef Words least            # by regex node: a number of bytes that no text of it is shorter than, plus one; 0 not known
    cdef dict made              # symbol -> its productions: tokens of their terminals, other symbols
    cdef size_t n_productions   # in `made`, with its symbols
    cdef size_t counted         # bytes, as they were when last counted
    cdef int64_t left           # symbols that may be made before the call has returned
    cdef int64_t nodes_left     # regex nodes that searches may still come to before the mask is done
    cdef uint64_t n_exhausted   # counts up when none of these are left
    cdef size_t n_given_up      # symbols for which no text without terminals that decide was found
    cdef dict free, full        # symbol -> tokens; without texts that decide what follows, and with them

    # To be called at the beginning of a call: forget regex nodes if they have got other numbers.
    cdef int renew(self, uint64_t n_collections) except -1
    # `count` is to be called at the end of a call: then `n_bytes` says what the tables take that `forget` drops. The numbers of
    # symbols stay, so that they do not change: at most two for each, and the symbol itself takes more memory (`Rules.n_bytes`).
    cdef int count(self) except -1
    cdef size_t n_bytes(self) noexcept nogil
    cdef int forget(self) except -1
    # The tokens of the chosen text of a node; ENDLESS if there is none, or if no node is left for a search.
    cdef uint64_t of_node(self, uint32_t node) except? 0xFFFFFFFFFFFFFFFF
    # This text itself.
    cdef bytes text_of(self, uint32_t node)
    # The tokens of the chosen text of a symbol. `is_free`: only of texts without terminals whose text decides what follows.
    cdef uint64_t of_symbol(self, object symbol, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t of_terminal(self, uint32_t terminal) except? 0xFFFFFFFFFFFFFFFF
    # The tokens of what follows a dot. 
    cdef uint64_t of_rest(self, uint32_t dot, bint is_free) except? 0xFFFFFFFFFFFFFFFF

    cdef tuple entry(self, uint32_t node)
    cdef list search(self, uint32_t node, bint any_byte)
    cdef list way(self, uint32_t node, bytes text)
    cdef uint64_t least_length(self, uint32_t node, uint32_t room) except? 0xFFFFFFFFFFFFFFFF
    cdef int enter(self, list path, bint any_byte) except -1
    cdef uint64_t tokens_along(self, bytes text, size_t first, list costs) except? 0xFFFFFFFFFFFFFFFF
    cdef int make(self, object symbol) except -1
    cdef object known(self, object symbol, bint is_free)
    cdef int settle(self, object goal, bint is_free) except -1
    cdef tuple derive(self, object goal, bint is_free, bint is_last)
