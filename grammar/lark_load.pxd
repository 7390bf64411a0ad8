# Types for lark_load.py as compiled: C calls between the methods that read every node of a grammar.

cimport cython

from earleymask.grammar.lark_parse cimport ParsedGrammar
from earleymask.grammar.lark_terminals cimport TerminalBuilder
from earleymask.grammar.lark_tree cimport (
    Choice, Definition, Import, Node, Range, Regexp, Repeat, RuleName, Sequence, SpecialToken, String, TerminalName,
)
from earleymask.grammar.model cimport Model
from earleymask.grammar.repetition cimport counted, group, repeat_into


@cython.final
cdef class LarkLoader:
    cdef readonly ParsedGrammar parsed
    cdef readonly Model model
    cdef readonly TerminalBuilder terminals
    cdef readonly dict rules
    cdef readonly dict named
    cdef readonly dict imported
    cdef readonly object importing
    cdef readonly dict symbols
    cdef readonly list pending

    @cython.locals(model=Model, definition=Definition)
    cpdef load(self, str start)
    @cython.locals(definition=Definition, definitions=list)
    cpdef collect_names(self)
    cdef check_not_empty(self, Definition definition)
    cdef start_symbol(self, str start)
    @cython.locals(definition=Definition)
    cdef rule_symbol(self, RuleName node)
    @cython.locals(tree=Node)
    cdef terminal_symbol(self, Node node)
    cpdef Node terminal_tree(self, TerminalName node)
    @cython.locals(definition=Definition)
    cdef check_unreached(self, str start)
    @cython.locals(stack=list, node=Node)
    cdef collect_used(self, Node tree, set used)
    @cython.locals(alternatives=tuple)
    cpdef define(self, lhs, Node tree)
    @cython.locals(flat=list, alternative=Node)
    cdef tuple alternatives(self, Node tree)
    @cython.locals(symbols=list)
    cdef tuple sequence(self, Node tree)
    @cython.locals(item=Node)
    cdef append(self, Node tree, list symbols)
    cdef special_symbol(self, SpecialToken node)
    cdef token_ids(self, SpecialToken node)


cdef literal_key(Node tree)
