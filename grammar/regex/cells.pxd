# Types for cells.py as compiled: code points are C integers.

cimport cython

from earleymask.earley._meter cimport tick

@cython.locals(group_of=dict, refined=dict, parts=dict, taken=dict, found=dict, kept=dict, result=list, code=long,
               first=long, last=long)
cpdef tuple divide(set classes)
cpdef representative(tuple cell)
@cython.locals(n=long, first=long, last=long)
cdef bint is_short(tuple ranges) except -1
@cython.locals(found=list, first=long, last=long, code=long)
cpdef tuple runs(list codes)
@cython.locals(kept=list, pieces=list, begin=long, end=long, first=long, last=long)
cpdef tuple without(tuple ranges, tuple others)
