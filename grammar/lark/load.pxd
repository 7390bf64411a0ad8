# Types for load.py as compiled: C calls between the methods that every node of a grammar passes.

cimport cython

from earleymask.earley._large cimport Table, untrack
from earleymask.earley._meter cimport tick
from earleymask.grammar.lark.scope cimport Elsewhere, Scope
from earleymask.grammar.lark.templates cimport Templates
from earleymask.grammar.lark.terminals cimport TerminalBuilder
from earleymask.grammar.lark.tree cimport (
    Choice, Definition, Extended, Indexed, Node, Parametric, ParsedGrammar,
    Range, Regexp, Repeat, RuleName, Sequence, SpecialToken, String, TemplateUse,
    TerminalName,
)
from earleymask.grammar.loading cimport distinct
from earleymask.grammar.model.model cimport Model
from earleymask.grammar.model.repetition cimport counted, group, repeat_into


@cython.final
cdef class LarkLoader:
    cdef readonly ParsedGrammar parsed
    cdef readonly object modules
    cdef readonly Scope top
    cdef readonly Model model
    cdef readonly TerminalBuilder terminals
    cdef readonly Scope scope
    cdef readonly dict symbols
    cdef readonly dict environment
    cdef readonly Table literals
    cdef readonly Templates templates
    cdef readonly dict extended
    cdef public bint has_value
    cdef readonly object embedded
    cdef readonly list pending

    cpdef load(self, str start)
    cpdef read(self, str start)
    @cython.locals(definition=Definition, scope=Scope, environment=dict)
    cdef read_rules(self, str start)
    cpdef enter(self, Scope scope, dict environment)
    cpdef move(self, Scope scope)
    @cython.locals(found=tuple, definition=Definition)
    cpdef start_symbol(self, str start)
    @cython.locals(found=tuple, definition=Definition)
    cpdef tuple find_terminal(self, TerminalName node)
    @cython.locals(definition=Definition, scope=Scope)
    cdef rule_symbol(self, RuleName node)
    @cython.locals(definition=Definition, scope=Scope, found=tuple, tree=Node)
    cdef terminal_symbol(self, TerminalName node)
    @cython.locals(definition=Definition, scope=Scope)
    cdef named_symbol(self, tuple found, Node tree)
    cdef literal_symbol(self, Node node)
    cdef special_symbol(self, SpecialToken node)
    @cython.locals(definition=Definition)
    cdef check_unreached(self)
    @cython.locals(stack=list, node=Node, params=tuple)
    cpdef check_names(self, Definition definition)
    @cython.locals(alternatives=tuple)
    cpdef define(self, lhs, Node tree)
    @cython.locals(flat=list, alternative=Node)
    cpdef tuple alternatives(self, Node tree)
    @cython.locals(symbols=list)
    cpdef tuple sequence(self, Node tree)
    @cython.locals(item=Node)
    cpdef append(self, Node tree, list symbols)
    cdef token_ids(self, SpecialToken node)


cpdef str literal_key(Node tree)
