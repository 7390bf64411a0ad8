# Types for regex_lower.py as compiled.

cimport cython

from earleymask.grammar.regex_ast cimport Node


@cython.locals(found=int)
cpdef lower(Node node, regexes)
@cython.locals(found=int)
cdef int _survey(Node node, int depth) except -1
cdef _plain(Node node, regexes)
