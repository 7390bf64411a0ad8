# Types for read.py as compiled: a schema is copied, value by value.

cimport cython

from earleymask.earley._meter cimport tick


@cython.locals(result=list, stack=list, depth=Py_ssize_t, index=Py_ssize_t)
cpdef copied(given, str what=*)
cdef _copy(value)
