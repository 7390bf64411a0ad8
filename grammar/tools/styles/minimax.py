"""MiniMax M2: a tag for each parameter."""

from ..style import Style

STYLE = Style(
    name="minimax",
    section="<minimax:tool_call>\n${calls}</minimax:tool_call>",
    call='<invoke name="${name}">\n${arguments}</invoke>\n',
    arguments="minimax_xml",
    lead="\n",
    reasoning="<think>${text}</think>\n\n",
)
