# Types for read.py as compiled: a schema is copied, value by value.

cimport cython

from earleymask.earley._meter cimport take, tick


@cython.locals(result=list, stack=list, depth=Py_ssize_t, index=Py_ssize_t, left=Py_ssize_t)
cpdef copied(given, str what=*, limits=*)
@cython.locals(plain=dict)
cdef _copy(value, Py_ssize_t most)
