"""The root of all errors of this package, and the error of vocabularies."""

MAX_MESSAGE = 300
"""Characters of a message about a grammar, without the line that it shows and the hint."""


class EarleymaskError(Exception):
    """Base of every error that this package raises on purpose."""


class VocabularyError(EarleymaskError, ValueError):
    """A vocabulary cannot be made from what was given, or does not fit where it is used.

    Raised for tokenizers whose token bytes cannot be told, for a vocabulary without EOS or without a special token that
    the grammar names, and where something made for one vocabulary meets another one.
    """


def shortened(message: str) -> str:
    """`message`, which may hold names and literals out of the text, at a length and in characters to be read."""
    if len(message) > MAX_MESSAGE:
        message = message[:MAX_MESSAGE] + "..."
    return message if message.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in message)
