# Makes the nodes of ast.py extension types: half the time to make one, and read-only from Python.

cdef class Node:
    cdef Py_hash_t _hash

cdef class Chars(Node):
    cdef readonly tuple ranges

cdef class Literal(Node):
    cdef readonly str text

cdef class Concat(Node):
    cdef readonly tuple parts

cdef class Union(Node):
    cdef readonly tuple alternatives

cdef class Repeat(Node):
    cdef readonly Node body
    cdef readonly object minimum
    cdef readonly object maximum
    cdef readonly bint lazy

cdef class Behind(Node):
    cdef readonly Chars chars
    cdef readonly bint negative
    cdef readonly object position

cdef class Look(Node):
    cdef readonly Node body
    cdef readonly bint ahead
    cdef readonly bint negative
    cdef readonly object position

cdef class Atomic(Node):
    cdef readonly Node body

cdef class And(Node):
    cdef readonly tuple parts

cdef class Not(Node):
    cdef readonly Node body

cdef class Escaped(Node):
    cdef readonly Node body
    cdef readonly bint shortest
    cdef readonly bint ascii

cdef class Substring(Node):
    cdef readonly tuple chunks

cdef class Automaton(Node):
    cdef readonly tuple states

cdef class EcmaPattern(Node):
    pass

cdef class Multiples(Node):
    cdef readonly tuple words

cdef class Whole(Node):
    cdef readonly Node body
