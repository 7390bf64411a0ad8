# Types for loading.py as compiled: `distinct` is called for each rule.

from earleymask.earley._meter cimport tick

cpdef list distinct(items)
