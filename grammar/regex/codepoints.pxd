# Types for codepoints.py as compiled: code points are C integers while sets are worked on.

cimport cython

from earleymask.earley._meter cimport tick


@cython.locals(ordered=list, merged=list, first=long, last=long, next_first=long, next_last=long)
cpdef tuple normalize(pairs)

@cython.locals(gaps=list, first=long, last=long, after=long)
cpdef tuple complement(tuple ranges)

@cython.locals(common=list, i=Py_ssize_t, j=Py_ssize_t, first=long, last=long, left_last=long, right_last=long)
cpdef tuple intersection(tuple left, tuple right)

cpdef bint contains(tuple ranges, code) except -1

cpdef tuple category(str name, ascii_only)

@cython.locals(first=long, last=long)
cpdef tuple fold(tuple ranges, ascii_only)
