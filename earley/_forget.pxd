# Drops what an engine has learned and no living matcher uses.

from earleymask.earley._engine cimport Engine

# Needs the engine's lock and the GIL.
cdef int forget(Engine engine) except -1
