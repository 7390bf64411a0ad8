# Types for constants.py as compiled: a schema may have thousands of branches.

cimport cython

@cython.locals(found=list)
cpdef list in_some(list branches, dict known)
@cython.locals(met=dict, found=dict)
cpdef list in_one(list branches, dict known)
@cython.locals(found=list)
cpdef list scalars_of(schema, dict known)
cpdef bint have_own_constants(list branches, dict known) except -1
@cython.locals(met=set, keys=set)
cdef bint _tells_apart(name, list branches, dict known) except -1
