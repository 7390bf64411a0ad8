"""DeepSeek V4.1: the calls of V4 with a blank in their tags."""

from ..style import Style

STYLE = Style(
    name="deepseek_v4_1",
    section="<｜DSML｜ calls>\n${calls}</｜DSML｜ calls>",
    call='<｜DSML｜ invoke name="${name}">\n${arguments}</｜DSML｜ invoke>\n',
    arguments="deepseek_v4_1_xml",
    lead="\n\n",
    reasoning="<think>${text}</think>",
)
