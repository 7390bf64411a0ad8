# Types for terminals.py as compiled.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.lark.literals cimport range_ends, regexp_text, string_text
from earleymask.grammar.lark.scope cimport Elsewhere
from earleymask.grammar.lark.tree cimport (
    Choice, Definition, Extended, Node, Range, Regexp, Repeat, RuleName, Sequence, SpecialToken, String, TemplateUse,
    TerminalName,
)
from earleymask.grammar.regex.ast cimport Chars, Concat, Literal, Union
from earleymask.grammar.regex.ast cimport Node as Regex
from earleymask.grammar.regex.ast cimport Repeat as RegexRepeat


@cython.final
cdef class TerminalBuilder:
    cdef object _context
    cdef dict _known
    cdef str _syntax
    cdef list _open
    cdef Py_ssize_t _pieces
    cdef Py_ssize_t _most_pieces
    cdef readonly object cycle

    cpdef Regex build(self, Node tree, tuple found=*)
    cpdef Regex compose(self, Node tree, int depth)
    @cython.locals(part=Regex)
    cdef tuple _compose_all(self, list trees, int depth)
    @cython.locals(found=tuple, definition=Definition)
    cdef Regex _compose_named(self, TerminalName node, int depth)
    cpdef _enter(self, tuple found, TerminalName node, int depth)
    cdef tuple _string_text(self, String node)
    cdef tuple _regexp_text(self, Regexp node)
    cdef tuple _range_ends(self, Range node)
    cpdef Regex composed(self, Node tree, int depth)
    cpdef Regex _parse(self, str pattern, str flags, Node tree)
    cpdef _count(self, Node node, Py_ssize_t pieces)
    cpdef _check_depth(self, Node node, int depth)
