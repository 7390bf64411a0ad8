"""Memory that runs out when a test says so, in debug builds. A release build calls libc directly (see the pxd)."""

cdef long long LEFT = -1            # allocations before the one that fails; negative: none fails
cdef bint LASTING = False           # all allocations after it fail as well


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
    """Let the next `after` allocations succeed and the one after them fail; with `lasting`, all later ones fail too.

    With None, no allocation fails. For tests. Raises RuntimeError in a release build, where nothing would ever fail.
    """
    global LEFT, LASTING
    if not DEBUG:
        raise RuntimeError("memory runs out on demand in a debug build only: build with EARLEYMASK_DEBUG=1")
    LEFT = -1 if after is None else after
    LASTING = lasting
