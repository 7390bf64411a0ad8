# Types for choices.py as compiled: bytes are compared as C integers, the core is called in C.

cimport cython

from earleymask.earley._engine cimport Engine
from earleymask.earley._meter cimport take, tick
from earleymask.earley._regex cimport Regexes


@cython.locals(words=list, regexes=Regexes)
cpdef load(list choices)
cpdef node_of(list words, Regexes regexes)
@cython.locals(
    forks=list, members=list, last=bytes, word=bytes, shared=Py_ssize_t, end=Py_ssize_t, index=Py_ssize_t,
)
cpdef trie(list words, Regexes regexes, list ends=*)
@cython.locals(alternatives=list)
cdef close(bytes word, list forks, list members, Py_ssize_t end, node, Regexes regexes)
@cython.locals(end=Py_ssize_t, i=Py_ssize_t)
cdef Py_ssize_t common_prefix(bytes left, bytes right) except -1
@cython.locals(engine=Engine)
cpdef single_terminal(str name, node, Regexes regexes)
