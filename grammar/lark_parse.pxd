# Types for lark_parse.py as compiled: C calls between the methods, C integers for places and kinds.

cimport cython

from earleymask.grammar.lark_tree cimport (
    Attribute, Attributed, Block, Change, Choice, Complement, Condition, Definition, GrammarName, Guarded, Import,
    Indexed, Intersection, Node, Parametric, Range, Regexp, Repeat, RuleName, Sequence, SpecialToken, String,
    TemplateUse, TerminalName,
)


# Copies of those of lark_scan.py.
cdef int RULE, TERMINAL, STRING, REGEXP, SPECIAL, NUMBER, DIRECTIVE, LINE, BAR, MARK, NOTHING


@cython.final
cdef class ParsedGrammar:
    cdef readonly object source
    cdef readonly object limits
    cdef readonly list lexemes
    cdef readonly bytearray kinds
    cdef readonly list definitions
    cdef readonly list changes
    cdef readonly list ignored
    cdef readonly list imports
    cdef list _offsets
    cdef str _inner
    cdef Py_ssize_t _base


@cython.final
cdef class _Parser:
    cdef ParsedGrammar parsed
    cdef list lexemes
    cdef bytearray kinds
    cdef bint in_library
    cdef bint has_operators
    cdef Py_ssize_t nesting
    cdef Py_ssize_t i

    @cython.locals(lexeme=str, kind=int)
    cpdef grammar(self)
    @cython.locals(at=Py_ssize_t, place=Py_ssize_t, name=str, params=tuple)
    cdef Definition definition(self, str lexeme, bint is_terminal)
    cdef tuple parameters(self, bint is_terminal)
    cdef directive(self, str lexeme)
    cdef declaration(self)
    cdef import_statement(self, Py_ssize_t at)
    cdef Import imported(self, Py_ssize_t at, str module, str name, str alias)
    cdef str import_name(self, str hint=*)
    cdef end_of_line(self)
    @cython.locals(alternatives=list, items=list, stack=list, lexeme=str, kind=int, node=Node)
    cdef Node expression(self, rule)
    cdef extras(self, bint is_terminal)
    cdef list attributes(self, list before)
    cdef str decimal(self)
    cdef bint extension(self, str lexeme, list items, bint in_group) except -1
    cdef bint begins_item(self, Py_ssize_t at) except -1
    cdef put(self, Node node, list items)
    cdef Node intersection(self, list items)
    cdef bint uses_template(self)
    cdef Node value(self, str lexeme, int kind)
    @cython.locals(lexeme=str)
    cdef Node repeated(self, Node node)
    cdef Py_ssize_t place(self)
    cdef Node sequence(self, list items)
    cdef alias(self, rule, bint in_group)
    cdef Node counted(self, Node body)
    cdef Node counted_in_braces(self, Node body)
    cdef number(self, str expected)
    cdef check_counts(self, minimum, maximum, Py_ssize_t at)
    cdef check_nesting(self, Py_ssize_t depth)
    cdef check_closes(self, str lexeme, Py_ssize_t opener)
    cdef check_argument(self, list alternatives, list items)
    cpdef bint recover(self)
    cdef never_closed(self, Py_ssize_t opener)
    cdef misplaced(self, str lexeme, bint follows_item)
    cdef missing_colon(self, Py_ssize_t at, str name)
    cdef unexpected(self, str expected, hint)
    cdef unknown(self, Py_ssize_t at)


cdef Node choice(list alternatives)
