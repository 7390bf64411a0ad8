"""Vocabularies: token bytes of real tokenizers, and the flat prefix trie over them.

Read in this order: `errors`, `vocabulary`, `_trie.pxd`, `_trie.pyx`, `_quotient.pxd`, `_quotient.pyx`, then one module
per source of token bytes. Nothing here knows a grammar or a framework.
"""

from .errors import EarleymaskError, VocabularyError, VocabularyWarning
from .vocabulary import Vocabulary

__all__ = ["EarleymaskError", "Vocabulary", "VocabularyError", "VocabularyWarning"]
