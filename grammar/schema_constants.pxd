# Types for schema_constants.py as compiled: a schema may have thousands of branches.

cimport cython

@cython.locals(found=list)
cpdef list in_some(list branches, dict known)
@cython.locals(met=dict, found=dict)
cpdef list in_one(list branches, dict known)
@cython.locals(found=list)
cpdef list scalars_of(schema, dict known)
