"""DeepSeek R1 and V3: arguments in a block of code."""

from ..style import Style

STYLE = Style(
    name="deepseek_r1",
    section="<｜tool▁calls▁begin｜>${calls}<｜tool▁calls▁end｜>",
    call="<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n```json\n${arguments}\n```<｜tool▁call▁end｜>",
    between="\n",
    reasoning="<think>${text}</think>",
)
