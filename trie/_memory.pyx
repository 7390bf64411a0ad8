"""Memory that runs out when a test says so, in debug builds. A release asks libc straight away (see the pxd)."""

cdef long long LEFT = -1            # allocations before the one that fails; below 0: none does
cdef bint LASTING = False           # all after it fail as well


cdef bint refused() noexcept nogil:
    global LEFT
    if LEFT < 0:
        return False
    if LEFT > 0:
        LEFT -= 1
        return False
    if not LASTING:
        LEFT = -1
    return True


def run_out(after, *, lasting=False) -> None:
    """From now on `after` allocations succeed and the next one fails, all later ones if `lasting`; None: none fails.

    For tests. Raises RuntimeError in a release build, where nothing would ever fail.
    """
    global LEFT, LASTING
    if not DEBUG:
        raise RuntimeError("memory runs out on demand in a debug build alone (EARLEYMASK_DEBUG=1)")
    LEFT = -1 if after is None else after
    LASTING = lasting
