"""The root of all errors of this package; the error and the warning of vocabularies."""

MAX_MESSAGE = 300
"""The most characters of a message about a grammar. The line that it shows and its hint are not counted."""


class EarleymaskError(Exception):
    """Base of every error that this package raises on purpose."""


class VocabularyError(EarleymaskError, ValueError):
    """A vocabulary cannot be made from what was given, or does not fit where it is used.

    Raised for a tokenizer that does not determine the bytes of its tokens, for a vocabulary without EOS or without a
    special token that the grammar names, and for a file that was made for another vocabulary.
    """


class VocabularyWarning(UserWarning):
    """With this vocabulary, generation may go wrong in silence: its EOS is not what the model ends its turns with, no
    token spells a character that grammars need, or the tokenizer puts a space before each text."""


def shortened(message: str) -> str:
    """Cut a message that may quote a text to a readable length, and replace characters that cannot be printed."""
    if len(message) > MAX_MESSAGE:
        message = message[:MAX_MESSAGE] + "..."
    return message if message.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in message)
