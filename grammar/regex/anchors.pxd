# Types for anchors.py as compiled: every pattern of a JSON Schema goes through it.

cimport cython

from earleymask.grammar.regex.ast cimport Node

cpdef Node without_anchors(Node node)
cpdef list few_words(Node node, int most)
@cython.locals(parts=list)
cdef Node _side(Node node, bint last)
@cython.locals(rest=list)
cdef list _after_anything(list parts, bint last)
cdef bint _is_anchor(Node node, bint last) except -1
cdef bint _is_anything(Node node) except -1
