"""Whether this is a debug build, for Python: tests run against both variants and report which one it was."""


def is_debug() -> bool:
    """Return whether checks and internal invariants were compiled in (`EARLEYMASK_DEBUG=1` at build time)."""
    return DEBUG
