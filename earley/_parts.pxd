# The parts of one vocabulary, for all grammars over it.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._automaton cimport Automaton
from earleymask.earley._builder cimport Builder
from earleymask.earley._doubtful cimport Doubtful, Marked
from earleymask.earley._families cimport Families
from earleymask.earley._late_exits cimport LateExits
from earleymask.earley._kept cimport Kept
from earleymask.earley._locks cimport Lock
from earleymask.earley._part cimport Exits, Part
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rests cimport Rests, RestTrie
from earleymask.earley._tables cimport Map, Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    MAX_MEMBERS = 4             # a union with more members is not asked member by member

# Who remembers something about one vocabulary, and how much they may. It outlives its parts. Changed with the GIL, but for
# three numbers of bytes: `n_bytes` is changed by `add`, `n_all` and `n_kept` may be late.
cdef class Users:
    # The `Masks` over it, as weak references by number. `Masks.trim` looks at the first, and puts them at the end.
    cdef object masks
    cdef uint64_t clock         # counts their calls; it gives the numbers, too
    cdef size_t n_bytes         # that they remember, as they have noted
    cdef size_t n_all           # bytes of them and the parts, when one of them noted last
    cdef size_t n_kept          # bytes of them and the parts after the last `Masks.trim`
    cdef size_t limit           # bytes for them and the parts together
    cdef size_t chosen          # the same, as `Parts.set_memory` has set it; 0: it was not called
    cdef uint64_t n_dropped     # times that the parts were dropped to keep the limit
    cdef Marked marked          # None: not needed yet
    cdef dict doubtful          # (arguments of `Engine.set_doubtful`, index of the node) -> Doubtful

cdef class Parts:
    cdef readonly TokenTrie trie
    cdef readonly Quotient quotient
    cdef Automaton automaton    # of all regexes met, whatever grammar they came from
    cdef Rests rests
    cdef Families families
    cdef Builder builder
    cdef LateExits late_exits
    cdef object __weakref__
    cdef Lock lock              # whatever changes something here is done by one thread at a time

    cdef Users users

    cdef Map known              # `part_key` of a trie node and a regex -> part
    cdef Part** parts           # owned, but for the first ones, which belong to `kept`
    cdef size_t n_parts, parts_capacity
    cdef Kept kept              # what `prepare` has made, or None
    cdef size_t n_borrowed, n_borrowed_bytes    # parts that belong to it
    cdef Map bounds             # `part_key` with a regex of least bounds -> what is known of larger ones, see `unbounded`
    cdef size_t part_bytes      # of all parts; the rests are counted by `rests`
    cdef Words ours, theirs     # scratch of `are_same`

    # counters
    cdef readonly uint64_t n_built, n_known     # parts made, and parts that were there when asked for
    cdef readonly uint64_t n_taken_over         # parts made, or found the same, by the differences to another one
    cdef readonly uint64_t n_unbounded          # parts found the same as without bounds

    # Each of these takes the lock:
    # The part of `node` of another arena below `trie_node`. `adopted` remembers the arena's nodes.
    cdef Part* part(self, uint32_t trie_node, Regexes regexes, uint32_t node, Words* adopted, size_t room) except NULL nogil
    # Find the late exits of a part: fills `part.live`.
    cdef int need_live(self, Part* part) except -1 nogil
    # The rests that begin with exits.bytes[k]; `exits` are those of the part or its `live`.
    cdef RestTrie* need_rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil

    # All others but `n_bytes` need it:
    cdef int acquire(self) except -1 nogil      # raises MatcherInUseError if this thread has it, instead of waiting for ever
    cdef void release(self) noexcept nogil
    # The part of a regex of `automaton` if it is there, or NULL.
    cdef Part* find(self, uint32_t trie_node, uint32_t regex) noexcept nogil
    cdef Part* find_or_build(self, uint32_t trie_node, uint32_t regex) except NULL nogil
    cdef uint32_t wider(self, uint32_t trie_node, uint32_t state) except? 0xFFFFFFFF nogil
    # Enter a part, which is owned by this table from then on; on an error it is freed.
    cdef int enter(self, Part* part) except -1 nogil
    cdef Marked marked(self)
    cpdef Doubtful doubtful_tokens(self, make, description, size_t which)

    cdef int begin_with(self, Kept kept) except -1
    cdef Part* unbounded(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    cdef bint are_alike(self, Part* one, Part* other) except -1 nogil
    cdef bint are_same(self, const uint32_t* one, uint32_t n, const uint32_t* other, uint32_t n_other) except -1 nogil
    cdef int make_live(self, Part* part) except -1 nogil
    # Make all exits and rests of a part.
    cdef int complete(self, Part* part) except -1 nogil
    # Let what there is stay when these parts are dropped.
    cdef int keep(self) except -1
    # The bytes that would stay if these parts were dropped.
    cdef size_t n_kept_bytes(self) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil


cdef Parts parts_of(TokenTrie trie)

# The regexes whose parts together are what `regex` makes of the vocabulary: the members of a small union, so that
# what is known of a name helps with a name that may also be quoted; else the regex itself. Returns their number.
cdef size_t union_members(Regexes regexes, uint32_t regex, uint32_t* members) noexcept nogil
