"""Memory that runs out when a test says so, in debug builds."""

def run_out(after: int | None, *, lasting: bool = False) -> None:
    """Let the next `after` allocations succeed and the one after them fail; with `lasting`, all later ones fail too.

    With None, no allocation fails. For tests. Raises RuntimeError in a release build, where nothing would ever fail.
    """
