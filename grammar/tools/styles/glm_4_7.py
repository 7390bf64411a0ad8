"""GLM 4.5 to 4.7: the name, then pairs of key and value."""

from ..style import Style

STYLE = Style(
    name="glm_4_7",
    call="<tool_call>${name}${arguments}</tool_call>",
    arguments="glm_xml",
    reasoning="<think>${text}</think>",
    excludes=("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
)
