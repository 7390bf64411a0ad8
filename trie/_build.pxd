"""Whether this is a debug build, for the other extensions."""

cdef extern from *:
    # 1 in a debug build, else 0: a constant of the C compiler, so `if DEBUG: self.check()` costs nothing in a release.
    const bint DEBUG "EARLEYMASK_DEBUG"
