"""Tools: definitions of functions, and the formats in which models write calls of them.

A `Style` describes how a model writes calls. `tag` makes a structural tag from a style and from tools, which
`Grammar.from_tools` turns into a grammar; `earleymask.tools` reads and writes texts by the same description.
"""
