# Types for expressions.py as compiled: C calls between the methods, C integers for places and kinds.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.lark.tree cimport (
    Block, Choice, Complement, Condition, GrammarName, Guarded, Indexed, Intersection, Node, ParsedGrammar, Range, Regexp, Repeat, RuleName,
    Sequence, SpecialToken, String, TemplateUse, TerminalName,
)


# Copies of the constants in scan.py.
cdef int RULE, TERMINAL, STRING, REGEXP, SPECIAL, NUMBER, DIRECTIVE, LINE, BAR, MARK, NOTHING


cdef class ExpressionReader:
    cdef ParsedGrammar parsed
    cdef list lexemes
    cdef bytearray kinds
    cdef bint in_library
    cdef bint has_operators
    cdef Py_ssize_t nesting
    cdef Py_ssize_t i

    @cython.locals(alternatives=list, items=list, stack=list, lexeme=str, kind=int, node=Node)
    cdef Node expression(self, rule)
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
    cdef unexpected(self, str expected, hint)


cdef Node choice(list alternatives)
