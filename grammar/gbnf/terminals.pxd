# Types for terminals.py as compiled: `isinstance` compares C types.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.gbnf.tree cimport Choice, Definition, Node, Reference, Repeat, Sequence, Text
from earleymask.grammar.regex.ast cimport Chars, Concat, Literal, Union, Node as Regex, Repeat as RegexRepeat


@cython.locals(waiting=dict, missing=dict, agenda=list, names=set, definition=Definition, other=Definition, tree=Node)
cpdef dict find_terminals(dict definitions)
@cython.locals(tree=Node)
cdef analyse(Node node, dict terminals)
@cython.locals(size=Py_ssize_t, depth=int, part=Node)
cdef gather(Node node, list parts, dict terminals)
cdef repetition(Node tree, str name)
@cython.locals(loops=list, rests=list, parts=list, last=Node)
cdef linear(Node node, str name, bint at_end)
cdef tuple measure(Regex regex, int depth)
cpdef Regex concat(list parts)
cpdef Regex union(list parts)
