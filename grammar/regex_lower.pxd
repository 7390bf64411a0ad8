# Types for regex_lower.py as compiled.

cimport cython

from earleymask.grammar.regex_ast cimport Node


@cython.locals(found=int)
cpdef lower(Node node, regexes)
@cython.locals(found=int, n_nodes=Py_ssize_t, level=list, below=list, depth=int)
cdef int _survey(Node node) except -1
cdef _plain(Node node, regexes)
