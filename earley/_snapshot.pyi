"""The bytes of a snapshot: what a matcher is made from again, in another process or on another machine."""

from collections.abc import Iterable, Sequence

def write(
    grammar: str, vocabulary: str, eos_token_ids: Sequence[int] | None, tokens: list[int], error: Exception | None
) -> bytes:
    """Return the bytes of a snapshot. `grammar`, `vocabulary`: their fingerprints, in hex. `eos_token_ids`: None for
    those of the vocabulary. `error`: what has ended the sequence, or None."""

def read(snapshot: bytes) -> tuple[str, str, Iterable[int] | None, Sequence[int], Exception | None]:
    """Return the halves of the two fingerprints, in hex, the ids of EOS tokens or None, the accepted tokens, and what
    has ended the sequence or None. Raises SnapshotError, and TypeError if it is not bytes."""

def refused(cause: str, message: str) -> Exception:
    """Return the error that refuses a snapshot."""
