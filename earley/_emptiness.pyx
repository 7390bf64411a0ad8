"""Whether the language of a regex node is empty. Exact: complement and intersection make this a search."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport (
    F_KNOWN_EMPTY, F_KNOWN_INHABITED, F_MARK, F_NULLABLE, F_SEARCH, R_EMPTY,
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
    cdef size_t i, j
    cdef uint32_t node, byte, target
    cdef ByteSet same, seen
    cdef bint inhabited = False, exhausted = False
    memset(&found, 0, sizeof(found))
    memset(&pending, 0, sizeof(pending))
    try:
        words_push(&found, start)
        words_push(&found, 0)
        words_push(&pending, 0)
        nodes.flags[start] |= F_MARK
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
                if target != R_EMPTY and not nodes.flags[target] & (F_KNOWN_EMPTY | F_MARK):
                    nodes.flags[target] |= F_MARK
                    words_push(&pending, <uint32_t> found.n)
                    words_push(&found, target)
                    words_push(&found, <uint32_t> i)
        exhausted = not inhabited
        if inhabited:                   # and so is everything on the way there
            while i:
                nodes.flags[found.data[i]] |= F_KNOWN_INHABITED
                i = found.data[i + 1]
            nodes.flags[start] |= F_KNOWN_INHABITED
    finally:                            # after an error nothing is known
        for j in range(0, found.n, 2):
            nodes.flags[found.data[j]] &= <uint8_t> ~F_MARK
            if exhausted:
                nodes.flags[found.data[j]] |= F_KNOWN_EMPTY
        words_free(&found)
        words_free(&pending)
    return exhausted
