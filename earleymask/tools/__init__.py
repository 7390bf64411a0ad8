"""Tool calls in the texts of models: read them, and write them.

    message = earleymask.tools.parse(text, "hermes", tools=tools)
    message.calls                     # [ToolCall(name='weather', arguments={'city': 'Paris'})]

`parse` reads a whole text, and a `Parser` one that arrives in pieces. `render` writes the text that a model would
write. All three follow the same `Style` as `Grammar.from_tools`, so that they read what the grammar allows.
"""

from ..grammar.tools.style import Style
from ..grammar.tools.style import find as find_style
from ..grammar.tools.style import names as style_names
from .message import Event, Message, ToolCall, ToolCallError
from .parser import Parser, parse
from .render import render

__all__ = [
    "Event",
    "Message",
    "Parser",
    "Style",
    "ToolCall",
    "ToolCallError",
    "find_style",
    "parse",
    "render",
    "style_names",
]
