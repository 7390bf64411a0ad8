"""What this build was compiled as, for Python: tests run against both variants and say which one they met."""

def is_debug() -> bool:
    """Whether checks and internal invariants were compiled in (`EARLEYMASK_DEBUG=1` at build time)."""
