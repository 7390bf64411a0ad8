"""DeepSeek V3.1: the name, then the arguments."""

from ..style import Style

STYLE = Style(
    name="deepseek_v3_1",
    section="<｜tool▁calls▁begin｜>${calls}<｜tool▁calls▁end｜>",
    call="<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${arguments}<｜tool▁call▁end｜>",
    reasoning="<think>${text}</think>",
)
