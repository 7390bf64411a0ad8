"""Vocabularies: the bytes that token ids stand for, and the prefix trie over them.

Speaks token ids and bytes only. The lowest layer: it imports nothing else of this package.
"""
