"""The root of all errors of this package, and the error of vocabularies."""


class EarleymaskError(Exception):
    """Base of every error that this package raises on purpose."""


class VocabularyError(EarleymaskError, ValueError):
    """A vocabulary cannot be made from what was given, or does not fit where it is used.

    Raised for tokenizers whose token bytes cannot be told, for a vocabulary without EOS or without a special token that
    the grammar names, and where something made for one vocabulary meets another one.
    """
