# Types for literals.py as compiled.

from earleymask.earley._meter cimport tick

cpdef tuple split(str raw)
cpdef tuple string_text(str raw)
cpdef tuple regexp_text(str raw)
cpdef tuple range_ends(str first, str last)
cpdef str unescape(str body)
