# Types for repetition.py as compiled.

cimport cython

from earleymask.grammar.model.model cimport Model


cpdef tuple group(Model model, tuple alternatives)
cpdef tuple one(Model model, tuple symbols)
cpdef tuple optional(Model model, tuple alternatives)
cpdef tuple star(Model model, tuple alternatives)
cpdef tuple plus(Model model, tuple alternatives)
cpdef repeat_into(Model model, lhs, tuple alternatives, bint nullable)
cpdef tuple counted(Model model, tuple alternatives, minimum, maximum)
cdef _repeat(Model model, lhs, tuple alternatives, bint nullable)
cdef tuple _counted(Model model, tuple alternatives, minimum, maximum)
@cython.locals(repeats=dict)
cpdef tuple merged(Model model, tuple alternatives, minimum, maximum)
@cython.locals(found=dict, waiting=list)
cdef tuple _without_inner(dict repeats, tuple alternatives, minimum)
cdef tuple _exactly(Model model, tuple unit, count)
cdef _power(Model model, tuple unit, exponent)
cdef tuple _up_to(Model model, tuple unit, count)
cdef _helper(Model model, str kind, key, tuple alternatives)
