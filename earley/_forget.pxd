# Drops what an engine has learned and no living matcher uses.

from earleymask.earley._engine cimport Engine

# These need the engine's lock and the GIL.
cdef int forget(Engine engine) except -1
# Do so within a call that has met a limit, so that it can be repeated; raise the error again if that cannot help.
cdef int make_room(Engine engine, error) except -1
# Do so within a call.
cdef int forget_in_call(Engine engine) except -1
