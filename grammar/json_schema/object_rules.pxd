# Types for object_rules.py as compiled: a first mask goes through all members that may come first.

cimport cython

from earleymask.earley._large cimport untrack
from earleymask.grammar.json_schema.shortcuts cimport is_something
from earleymask.grammar.json_schema.load cimport SchemaLoader
from earleymask.grammar.json_schema.text_sets cimport Texts


@cython.final
cdef class State:
    cdef readonly object passed
    cdef readonly object size
    cdef readonly object missing
    cdef readonly frozenset others
    cdef readonly object clauses


@cython.final
cdef class ObjectRules:
    cdef SchemaLoader loader
    cdef object shape
    cdef dict known
    cdef list names
    cdef object origin
    cdef Py_ssize_t n_ordered
    cdef object required
    cdef object settled
    cdef list atoms
    cdef bint is_plain
    cdef tuple possible
    cdef dict rests
    cdef Texts others
    cdef list listed
    cdef object clauses
    cdef dict solved
    cdef object endings

    cdef Texts other_keys(self)
    cdef list_names(self)
    cdef add_listed(self, dict listed, end)
    @cython.locals(after=State)
    cdef listed_member(self, listed, State state)
    cdef can_meet(self, atom)
    cdef tuple witness(self)
    cdef list needed(self, names, frozenset required)
    cpdef start(self)
    cdef symbol(self, State state)
    cdef tuple ending(self, State state)
    cdef written(self, State state)
    cdef solution(self, State state)
    cpdef left(self, State state)
    @cython.locals(first=State, state=State, index=Py_ssize_t)
    cpdef rehearse(self)
    @cython.locals(found=list, after=State, n_ordered=Py_ssize_t)
    cdef list productions(self, State state)
    cdef bint may_end(self, State state) except -1
    cdef bint may_stop(self, State state) except -1
    cdef add_named(self, State state, Py_ssize_t index, passed, list found)
    @cython.locals(keys=Texts)
    cdef add_others(self, State state, list found)
    cdef check_left(self, State state)
    @cython.locals(open_demands=list, exists=tuple)
    cdef add(self, State state, key, value, meets, passed, list found, about, Texts keys=*)
    @cython.locals(then=State)
    cdef add_ways(self, State state, key, value, State after, list found, about, Texts keys)
    @cython.locals(loader=SchemaLoader, member=list)
    cdef add_one(self, State state, key, name, value, State after, list found, Texts keys)
    cdef bint has_room(self, State state, passed) except -1
    cdef other(self, Texts keys, value, State after, bint is_possible)
    @cython.locals(parts=tuple)
    cdef rest(self, value, State after)
    @cython.locals(atom=object)
    cdef list make_atoms(self)
