# Types for read.py as compiled: a schema is copied, value by value.

cimport cython


@cython.locals(result=list, stack=list, depth=Py_ssize_t)
cpdef copied(given, str what=*)
cdef _copy(value)
