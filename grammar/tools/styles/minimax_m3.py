"""MiniMax M3: a tag for each key, also within objects and arrays."""

from ..style import Style

STYLE = Style(
    name="minimax_m3",
    section="]<]minimax[>[<tool_call>\n${calls}]<]minimax[>[</tool_call>",
    call=']<]minimax[>[<invoke name="${name}">${arguments}]<]minimax[>[</invoke>\n',
    arguments="minimax_m3_xml",
    reasoning="<mm:think>${text}</mm:think>",
    excludes=("]<]minimax[>[</tool_call>", "]<]minimax[>[<invoke", "]<]minimax[>[</invoke>"),
)
