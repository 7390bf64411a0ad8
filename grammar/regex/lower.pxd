# Types for regex_lower.py as compiled: the kinds of node are told apart by their C types, the core is called in C.

cimport cython

from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport (
    And, Atomic, Automaton, Behind, Chars, Concat, Literal, Look, Node, Not, Repeat, Substring, Union, Whole,
)
from earleymask.grammar.regex.threads cimport compile_threads, lower_atom


@cython.locals(found=int)
cpdef lower(Node node, Regexes regexes, list contexts=*)
@cython.locals(found=int, n_nodes=Py_ssize_t, level=list, below=list, depth=int)
cdef int _survey(Node node) except -1
cdef _plain(Node node, Regexes regexes)
cpdef lower_shared(Node node, Regexes regexes)


@cython.final
cdef class Shared:
    cdef Regexes regexes
    cdef dict lowered

    cpdef lower(self, Node node)
