"""Memory that runs out when a test says so, in debug builds."""

def run_out(after: int | None, *, lasting: bool = False) -> None:
    """From now on `after` allocations succeed and the next one fails, all later ones if `lasting`; None: none fails.

    For tests. Raises RuntimeError in a release build, where nothing would ever fail.
    """
