# Types for lower.py as compiled: the kinds of node are distinguished by their C types, the core is called in C.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport And, Atomic, Behind, Concat, Escaped, Look, Node, Not, Repeat, Substring, Union, Whole
from earleymask.grammar.regex.plain cimport Plain
from earleymask.grammar.regex.threads cimport compile_threads


@cython.locals(found=int)
cpdef lower(Node node, Regexes regexes, list contexts=*, bint lazily=*)
cpdef lower_shared(Node node, Regexes regexes)
@cython.locals(found=int, n_nodes=Py_ssize_t, level=list, below=list, depth=int)
cdef int _survey(Node node) except -1
