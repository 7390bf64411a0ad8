"""Regexes less some words: (x & ~y) rest, such as the keys of an object that are none of its names.

There, a byte with which no text of y begins leads to what it leads to in x rest: the complement of nothing is neutral in
an intersection. That is most bytes, so most of what there is to know about such a regex is known of x rest.
"""

from libc.stdint cimport uint64_t

from earleymask.earley._nodes cimport (
    E_BODY, E_PHASE, F_SEARCH, K_AND, K_CONCAT, K_ESCAPED, K_NOT, R_EMPTY, R_EPSILON, kind_of, nullable,
)
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_and_not, byteset_fill, byteset_or, lowest_bit, sequence, sequence_length, words_push,
)


cdef uint32_t without_complements(Nodes nodes, uint32_t regex) except? 0xFFFFFFFF nogil:
    cdef uint32_t node = beginning(nodes, regex), rest = R_EPSILON, part
    cdef size_t base = nodes.stack.n, i, n
    if node == NONE:
        return NONE
    if node != regex:
        rest = sequence(nodes.nodes, regex)[2]
    n = sequence_length(nodes.nodes, node) - 1
    for i in range(n):
        part = sequence(nodes.nodes, node)[1 + i]
        if kind_of(nodes, part) != K_NOT:
            words_push(&nodes.stack, part)
    if nodes.stack.n == base or nodes.stack.n == base + n:
        nodes.stack.n = base
        return NONE
    return nodes.make_concat(nodes.make_and(base), rest)


cdef bint find_differing(Nodes nodes, uint32_t regex, ByteSet* bytes_) except? -1 nogil:
    cdef uint32_t node = beginning(nodes, regex), part, body
    cdef size_t i
    byteset_fill(bytes_, 0)
    if node == NONE:
        return False
    for i in range(1, sequence_length(nodes.nodes, node)):
        part = sequence(nodes.nodes, node)[i]
        if kind_of(nodes, part) == K_NOT:
            body = sequence(nodes.nodes, part)[1]
            if nullable(nodes, body):                   # then `rest` does not begin here, and it does without complements
                return False
            add_first_bytes(nodes, body, bytes_)
    return True


cdef bint is_inhabited(Nodes nodes, uint32_t regex) except? -1 nogil:
    # A byte with which no text of y begins, and which leads to something in x.
    cdef uint32_t node = beginning(nodes, regex), part, x = NONE, byte, w
    cdef ByteSet unseen, same
    cdef size_t i
    if node == NONE or (node != regex and nodes.flags[sequence(nodes.nodes, regex)[2]] & F_SEARCH):
        return False
    for i in range(1, sequence_length(nodes.nodes, node)):
        part = sequence(nodes.nodes, node)[i]
        if kind_of(nodes, part) != K_NOT:
            if x != NONE or nodes.flags[part] & F_SEARCH:
                return False
            x = part
    if x == NONE:
        return False
    byteset_fill(&unseen, <uint64_t> -1)
    for w in range(4):
        while unseen.w[w]:
            byte = 64 * w + lowest_bit(unseen.w[w])
            byteset_fill(&same, <uint64_t> -1)
            part = nodes.derive(x, byte, &same)
            if part != R_EMPTY and not nodes.flags[part] & F_SEARCH and are_left(nodes, node, byte, &same):
                return True
            byteset_and_not(&unseen, &same)
    return False


cdef bint are_left(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? -1 nogil:
    """Return whether no complement in the intersection has a text that is empty or begins with the byte. Narrow `same` as
    `Nodes.derive` does."""
    cdef uint32_t part, body
    cdef size_t i
    for i in range(1, sequence_length(nodes.nodes, node)):
        part = sequence(nodes.nodes, node)[i]
        if kind_of(nodes, part) == K_NOT:
            body = sequence(nodes.nodes, part)[1]
            if nullable(nodes, body) or nodes.derive(body, byte, same) != R_EMPTY:
                return False
    return True


cdef uint32_t beginning(Nodes nodes, uint32_t regex) noexcept nogil:
    """Return the intersection that the regex is, or that it begins with; NONE if there is none."""
    cdef const uint32_t* p = sequence(nodes.nodes, regex)
    if p[0] == K_CONCAT:
        regex = p[1]
    return regex if kind_of(nodes, regex) == K_AND else NONE


cdef int add_first_bytes(Nodes nodes, uint32_t node, ByteSet* bytes_) except -1 nogil:
    """Add the bytes by which the node has another derivative than EMPTY, and perhaps others."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef ByteSet unseen, same
    cdef uint32_t w
    if p[0] == K_ESCAPED:
        # PERF: a spelling begins with a backslash, or with what its text begins with. To find out which escapes there
        # are takes ten times as long as the rest.
        if p[E_PHASE]:
            byteset_fill(bytes_, <uint64_t> -1)
            return 0
        byteset_add(bytes_, 0x5C)
        node = p[E_BODY]
    byteset_fill(&unseen, <uint64_t> -1)
    for w in range(4):
        while unseen.w[w]:
            byteset_fill(&same, <uint64_t> -1)
            if nodes.derive(node, 64 * w + lowest_bit(unseen.w[w]), &same) != R_EMPTY:
                byteset_or(bytes_, &same)
            byteset_and_not(&unseen, &same)
    return 0
