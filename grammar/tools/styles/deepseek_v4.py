"""DeepSeek V4: the calls of V3.2 in a section of another name."""

from ..style import Style

STYLE = Style(
    name="deepseek_v4",
    section="<｜DSML｜tool_calls>\n${calls}</｜DSML｜tool_calls>",
    call='<｜DSML｜invoke name="${name}">\n${arguments}</｜DSML｜invoke>\n',
    arguments="deepseek_xml",
    lead="\n\n",
    reasoning="<think>${text}</think>",
)
