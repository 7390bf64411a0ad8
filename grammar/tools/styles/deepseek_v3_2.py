"""DeepSeek V3.2: a tag for each parameter, which says whether its value is a string."""

from ..style import Style

STYLE = Style(
    name="deepseek_v3_2",
    section="<｜DSML｜function_calls>\n${calls}</｜DSML｜function_calls>",
    call='<｜DSML｜invoke name="${name}">\n${arguments}</｜DSML｜invoke>\n',
    arguments="deepseek_xml",
    lead="\n\n",
    reasoning="<think>${text}</think>",
)
