# Forgetting what an engine has learned, but for what living matchers stand on.

from earleymask.earley._engine cimport Engine

# Needs the engine's lock and the GIL.
cdef int forget(Engine engine) except -1
