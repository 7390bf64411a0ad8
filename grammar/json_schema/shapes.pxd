# Types for shapes.py as compiled.

cpdef bint is_nothing(values) except -1
