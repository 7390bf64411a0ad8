# Types for scan.py as compiled: characters, places and kinds are C values.

cimport cython

from earleymask.earley._meter cimport take, tick


cdef Py_ssize_t MANY

cpdef tuple scan(str text)


@cython.final
cdef class _Scanner:
    cdef str text
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef int n_open

    @cython.locals(lexemes=list, kinds=bytearray, kind=int, nothing=int, before=Py_ssize_t, begin=Py_ssize_t)
    cdef tuple all(self, list begins)
    @cython.locals(begin=Py_ssize_t, at=Py_ssize_t)
    cdef skip(self)
    @cython.locals(at=Py_ssize_t, char=Py_UCS4)
    cdef int lexeme(self) except -1
    @cython.locals(char=Py_UCS4)
    cdef int name(self, Py_ssize_t at) except -1
    @cython.locals(char=Py_UCS4)
    cdef Py_ssize_t name_end(self, Py_ssize_t at, Py_UCS4 first, Py_UCS4 last) except -1
    @cython.locals(begin=Py_ssize_t, second=Py_UCS4)
    cdef int modified(self, Py_ssize_t at, Py_UCS4 first) except -1
    @cython.locals(char=Py_UCS4)
    cdef int string(self, Py_ssize_t at) except -1
    @cython.locals(char=Py_UCS4)
    cdef int regexp(self, Py_ssize_t at) except -1
    @cython.locals(begin=Py_ssize_t)
    cdef int number(self, Py_ssize_t at, Py_UCS4 first) except -1
    @cython.locals(begin=Py_ssize_t, char=Py_UCS4)
    cdef int special(self, Py_ssize_t at) except -1
    @cython.locals(at=Py_ssize_t, brace=Py_ssize_t)
    cdef int directive(self, Py_ssize_t begin) except -1
    @cython.locals(begin=Py_ssize_t, char=Py_UCS4, depth=Py_ssize_t)
    cdef int grammar(self, Py_ssize_t at) except -1
    @cython.locals(char=Py_UCS4, depth=Py_ssize_t)
    cdef int json(self, Py_ssize_t at) except -1
    @cython.locals(char=Py_UCS4, depth=Py_ssize_t)
    cdef int applied(self, Py_ssize_t at, int kind) except -1
    cdef Py_ssize_t space(self, Py_ssize_t at) except -1
    cdef inline Py_UCS4 peek(self, Py_ssize_t at)
    cdef inline int ends(self, Py_ssize_t at, int kind)


cdef inline bint _is_name(Py_UCS4 first, Py_UCS4 last, Py_UCS4 char)
