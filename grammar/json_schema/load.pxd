# Types for load.py as compiled: C calls between what makes the symbols of values, objects and arrays.

cimport cython

from earleymask.earley._engine cimport Engine
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport Node
from earleymask.grammar.regex.lower cimport lower_shared
from earleymask.grammar.json_schema.algebra cimport Algebra
from earleymask.grammar.json_schema.shortcuts cimport have_scalar, is_shallow, is_something, is_structured, plain_scalars
from earleymask.grammar.json_schema.shapes cimport is_nothing
from earleymask.grammar.json_schema.text_sets cimport Texts, has_surrogate, spelled_words


cdef class SchemaLoader:
    cdef readonly object options
    cdef readonly object style
    cdef readonly dict own
    cdef readonly bint is_ours
    cdef readonly object number_style
    cdef readonly Algebra algebra
    cdef object the_engine
    cdef readonly Regexes regexes
    cdef readonly dict terminals
    cdef readonly dict keys
    cdef readonly dict scalar_symbols
    cdef readonly dict symbols
    cdef dict rules
    cdef public dict rehearsed
    cdef public object holder
    cdef object followed
    cdef dict marks
    cdef dict mark_symbols
    cdef readonly object level
    cdef readonly SchemaLoader deeper
    cdef object known_questions
    cdef public object names
    cdef public bint is_open
    cdef readonly tuple excluded
    cdef object quote
    cdef object key_end

    cpdef questions(self)
    @cython.locals(engine=Engine)
    cdef terminal(self, key, str name, node)
    cpdef mark(self, str name)
    cdef text_node(self, Texts texts)
    cdef without(self, node)
    cpdef list end(self, str bracket, bint has_parts)
    cpdef bint has_key(self, str name) except -1
    cpdef str read_key(self, bytes text)
    cpdef member(self, name, term)
    cpdef closed(self, value, key)
    cpdef bint is_sure(self, term) except -1
    cpdef list before(self, bint is_first)
    cpdef SchemaLoader inner(self)
    cpdef word(self, str text)
    @cython.locals(regexes=Regexes)
    cdef string(self, Texts texts)
    cdef number(self, numbers)
    cpdef number_tree(self, numbers)
    @cython.locals(regexes=Regexes)
    cpdef key(self, name)
    cpdef key_of(self, names)
    @cython.locals(regexes=Regexes)
    cpdef key_node(self, Texts texts)
    @cython.locals(loader=SchemaLoader)
    cpdef plain_leaf(self, str kind, content)
    @cython.locals(loader=SchemaLoader)
    cpdef SchemaLoader second(self, engine)
    @cython.locals(algebra=Algebra)
    cpdef value(self, term)
    cdef scalar(self, values, origin)
    cdef bint lists(self, term) except -1
    @cython.locals(found=list)
    cdef list scalar_productions(self, values)
    cpdef members(self, shape, n_ordered, origin)
    cpdef items(self, shape, origin)
