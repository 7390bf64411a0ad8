"""Whether the language of a regex node is empty. Exact: complement and intersection make this a search."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport (
    F_KNOWN_EMPTY, F_KNOWN_INHABITED, F_NULLABLE, F_SEARCH, R_EMPTY,
)
from earleymask.earley._tables cimport ByteSet, Words, byteset_fill, byteset_has, byteset_or, words_free, words_push

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_SEARCHED = 1 << 18      # nodes visited to decide one emptiness


cdef int search(Nodes nodes, uint32_t start) except -1 nogil:
    """Derivatives until something nullable turns up; nothing turning up proves all of them empty.

    Depth first: a string that matches is as a rule found by going on and on, while the states that are near the start
    can be exponentially many.
    """
    cdef Words found                    # node, index of the node it was reached from
    cdef Words pending                  # indexes into `found`
    cdef Words visited                  # bits by node; of this search alone, for K_ESCAPED nodes begin others within it
    cdef size_t i, j
    cdef uint32_t node, byte, target
    cdef ByteSet same, seen
    cdef bint inhabited = False
    memset(&found, 0, sizeof(found))
    memset(&pending, 0, sizeof(pending))
    memset(&visited, 0, sizeof(visited))
    try:
        words_push(&found, start)
        words_push(&found, 0)
        words_push(&pending, 0)
        visit_first(&visited, start)
        while pending.n and not inhabited:
            if found.n > 2 * MAX_SEARCHED:
                with gil:
                    raise LimitError(f"deciding whether a terminal can still match: more than {MAX_SEARCHED} regex "
                                     "states; simplify its lookarounds or complements")
            pending.n -= 1
            spend_steps(nodes.meter, 64)
            i = pending.data[pending.n]
            node = found.data[i]
            byteset_fill(&seen, 0)
            for byte in range(256):
                if byteset_has(&seen, byte):
                    continue
                byteset_fill(&same, <uint64_t> -1)
                target = nodes.derive(node, byte, &same)
                byteset_or(&seen, &same)
                if nodes.flags[target] & (F_NULLABLE | F_KNOWN_INHABITED) or (
                        target != R_EMPTY and not nodes.flags[target] & F_SEARCH):
                    inhabited = True
                    break
                if target != R_EMPTY and not nodes.flags[target] & F_KNOWN_EMPTY and visit_first(&visited, target):
                    words_push(&pending, <uint32_t> found.n)
                    words_push(&found, target)
                    words_push(&found, <uint32_t> i)
        if inhabited:                   # and so is everything on the way there
            while i:
                nodes.flags[found.data[i]] |= F_KNOWN_INHABITED
                i = found.data[i + 1]
            nodes.flags[start] |= F_KNOWN_INHABITED
        else:
            for j in range(0, found.n, 2):
                nodes.flags[found.data[j]] |= F_KNOWN_EMPTY
    finally:
        words_free(&visited)
        words_free(&found)
        words_free(&pending)
    return not inhabited


cdef bint visit_first(Words* visited, uint32_t node) except? -1 nogil:
    """Sets the node's bit; whether it was not set before."""
    cdef uint32_t bit = <uint32_t> 1 << (node & 31)
    while visited.n <= node >> 5:
        words_push(visited, 0)
    if visited.data[node >> 5] & bit:
        return False
    visited.data[node >> 5] |= bit
    return True
