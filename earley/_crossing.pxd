# The tokens that reach beyond a text that is already known.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart
from earleymask.trie._trie cimport TokenTrie

# Return, for the last 0, 1, 2, ... bytes of `known`, the tokens that begin with these bytes and continue as the grammar
# allows at `position`, the place after `known`; and the lengths of tokens that these bytes begin with.
cdef list find_crossing(Chart chart, TokenTrie trie, uint32_t position, bytes known)
