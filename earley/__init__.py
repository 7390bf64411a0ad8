"""The core: regex derivatives, the lexer, Earley rows and the mask walk.

Speaks bytes, terminals, items and rows. Knows the vocabulary as a trie (`earleymask.trie`), and neither the syntax that
a grammar was written in nor the framework that samples tokens.
"""
