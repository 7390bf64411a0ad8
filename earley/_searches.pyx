"""Regexes that search in the text of a JSON string: the rest of a string in which something may still be found.

Such a text is .* x, or a union of this and what else may follow by now, in the spellings of a string and up to its closing
quote. Whatever is read of it, .* x is among what may follow. So each beginning of any text can be gone on with, and the
regex differs from any string only where a closing quote ends it too early.
"""

from earleymask.earley._escaped cimport make_escaped
from earleymask.earley._nodes cimport (
    E_BODY, E_PHASE, E_STYLE, K_BYTES, K_CONCAT, K_ESCAPED, K_UNION, is_any_text, kind_of,
)
from earleymask.earley._tables cimport NONE, sequence, sequence_length


cdef uint32_t without_search(Nodes nodes, uint32_t regex) except? 0xFFFFFFFF nogil:
    cdef const uint32_t* p = sequence(nodes.nodes, regex)
    cdef uint32_t rest, style, any_text
    if p[0] != K_CONCAT or kind_of(nodes, p[1]) != K_ESCAPED or not begins_with_quote(nodes, p[2]):
        return NONE
    rest = p[2]
    p = sequence(nodes.nodes, p[1])
    if p[E_PHASE] or is_any_text(nodes, p[E_BODY]):
        return NONE
    style = p[E_STYLE]
    any_text = searched(nodes, p[E_BODY])
    return NONE if any_text == NONE else nodes.make_concat(make_escaped(nodes, any_text, style, 0, 0, 0), rest)


cdef bint begins_with_quote(Nodes nodes, uint32_t node) noexcept nogil:
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef uint32_t w
    if p[0] == K_CONCAT:
        p = sequence(nodes.nodes, p[1])
    if p[0] != K_BYTES:
        return False
    for w in range(8):
        if p[1 + w] != (1 << QUOTE % 32 if w == QUOTE // 32 else 0):
            return False
    return True


cdef uint32_t searched(Nodes nodes, uint32_t body) except? 0xFFFFFFFF nogil:
    """Return the node of any text if the body goes on with any text and then something; NONE if not."""
    cdef const uint32_t* p = sequence(nodes.nodes, body)
    cdef uint32_t found, part
    cdef size_t i, n = sequence_length(nodes.nodes, body)
    if p[0] == K_CONCAT and is_any_text(nodes, p[1]):
        found = p[1]
        return NONE if nodes.empty(p[2]) else found
    if p[0] == K_UNION:
        for i in range(1, n):
            part = sequence(nodes.nodes, body)[i]
            if kind_of(nodes, part) == K_CONCAT:
                found = searched(nodes, part)
                if found != NONE:
                    return found
    return NONE
