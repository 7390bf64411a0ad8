"""Decides whether a regex node matches anything. Exact: with complement and intersection this is a search."""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._complements cimport is_inhabited
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._nodes cimport (
    F_KNOWN_EMPTY, F_KNOWN_INHABITED, F_NULLABLE, F_SEARCH, R_EMPTY,
)
from earleymask.earley._tables cimport (
    NONE, ByteSet, Words, bits_add, bits_have, byteset_fill, byteset_has, byteset_or, reserve, words_free, words_push,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_SEARCHED = 1 << 18      # nodes that one search may visit; beyond this the call fails
    MAX_NESTING = 100           # nodes within one another that `least_length` looks at


cdef int search(Nodes nodes, uint32_t start) except -1 nogil:
    """Derive until a nullable node is found. If there is none, all nodes that were visited match nothing.

    By turns the node that promises most and the oldest one come next. The former seems to need the fewest bytes
    (`least_length`), and among equals it was found last: usually a matching string is found by reading on and on, while
    there can be exponentially many states near the start. A mere depth-first search went along a thousand letters for
    `[a-z]{1,1000}@b`. The latter finds short strings where promises mislead: of `0.3e1`, a number of at least 3, each
    condition demands one byte more after the `e`, so the search went along hundreds of digits before it.
    """
    cdef Words found                    # node, index of the node from which it was reached
    cdef uint64_t* pending = NULL       # a heap: least length, indexes into `found` from the last one
    cdef size_t n_pending = 0, capacity = 0
    cdef Words visited                  # a bit for each node; for this search only, because K_ESCAPED nodes start others within it
    cdef Words derived                  # a bit for each index of `found` from which the search has gone on
    cdef size_t i, j, oldest = 0
    cdef uint32_t node, byte, target
    cdef ByteSet same, seen
    cdef bint inhabited = False, is_oldest = False
    if is_inhabited(nodes, start):
        nodes.flags[start] |= F_KNOWN_INHABITED
        return 0
    memset(&found, 0, sizeof(found))
    memset(&visited, 0, sizeof(visited))
    memset(&derived, 0, sizeof(derived))
    try:
        words_push(&found, start)
        words_push(&found, 0)
        push(&pending, &n_pending, &capacity, NONE)
        while n_pending and not inhabited:
            if exceeds(found.n, 2 * MAX_SEARCHED):
                with gil:
                    raise LimitError(f"deciding whether a terminal can still match: more than {MAX_SEARCHED} regex "
                                     "states; simplify its lookarounds or complements")
            spend_steps(nodes.meter, 64)
            if is_oldest:
                i = oldest
                oldest += 2
            else:
                i = NONE - <uint32_t> pop(pending, &n_pending)
            is_oldest = not is_oldest and oldest < found.n
            if not visit_first(&derived, <uint32_t> i):
                continue
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
                if target in (R_EMPTY, start) or nodes.flags[target] & F_KNOWN_EMPTY:
                    continue
                if visit_first(&visited, target):
                    push(&pending, &n_pending, &capacity,
                         <uint64_t> nodes.least_length(target, MAX_NESTING) << 32 | (NONE - <uint32_t> found.n))
                    words_push(&found, target)
                    words_push(&found, <uint32_t> i)
        if inhabited:                   # and so are all nodes on the way there
            while i:
                nodes.flags[found.data[i]] |= F_KNOWN_INHABITED
                i = found.data[i + 1]
            nodes.flags[start] |= F_KNOWN_INHABITED
        else:
            for j in range(0, found.n, 2):
                nodes.flags[found.data[j]] |= F_KNOWN_EMPTY
    finally:
        words_free(&derived)
        words_free(&visited)
        words_free(&found)
        free(pending)
    return not inhabited


cdef int push(uint64_t** heap, size_t* n, size_t* capacity, uint64_t key) except -1 nogil:
    cdef size_t i = n[0], parent
    reserve(<void**> heap, capacity, i + 1, sizeof(uint64_t))
    n[0] += 1
    while i:
        parent = (i - 1) // 2
        if heap[0][parent] <= key:
            break
        heap[0][i] = heap[0][parent]
        i = parent
    heap[0][i] = key
    return 0


cdef uint64_t pop(uint64_t* heap, size_t* n) noexcept nogil:
    cdef uint64_t least = heap[0], last
    cdef size_t i = 0, child = 1
    n[0] -= 1
    last = heap[n[0]]
    while child < n[0]:
        if child + 1 < n[0] and heap[child + 1] < heap[child]:
            child += 1
        if last <= heap[child]:
            break
        heap[i] = heap[child]
        i = child
        child = 2 * i + 1
    heap[i] = last
    return least


cdef bint visit_first(Words* visited, uint32_t node) except? -1 nogil:
    """Set the bit of this number; return whether it was not set before."""
    cdef size_t n = (node >> 5) + 1, before = visited.n
    if n > before:
        reserve(<void**> &visited.data, &visited.capacity, n, sizeof(uint32_t))
        memset(visited.data + before, 0, (n - before) * sizeof(uint32_t))
        visited.n = n
    if bits_have(visited.data, node):
        return False
    bits_add(visited.data, node)
    return True
