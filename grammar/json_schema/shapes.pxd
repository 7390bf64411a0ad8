# Types for json_schema/shapes.py as compiled.

cpdef bint is_nothing(values) except -1
