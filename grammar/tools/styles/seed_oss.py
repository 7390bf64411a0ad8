"""Seed-OSS: the tags of Qwen 3 Coder in a tag of another name."""

from ..style import Style

STYLE = Style(
    name="seed_oss",
    call="<seed:tool_call>\n<function=${name}>\n${arguments}\n</function>\n</seed:tool_call>",
    arguments="qwen_xml",
    between="\n",
    lead="\n",
    trigger="<seed:tool_call>",
    reasoning="<seed:think>${text}</seed:think>",
)
