# Regexes that search in the text of a JSON string, such as a `pattern` without anchors: what differs from any string.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes

cdef enum:
    QUOTE = 0x22

# Return the regex for any text in place of the one that is searched; NONE if the regex is no such search.
cdef uint32_t without_search(Nodes nodes, uint32_t regex) except? 0xFFFFFFFF nogil
