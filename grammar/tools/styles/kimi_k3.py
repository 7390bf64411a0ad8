"""Kimi K3: an answer and calls, each in a frame, and a tag for each argument with its type."""

from ..style import Style

STYLE = Style(
    name="kimi_k3",
    section="<|open|>tools<|sep|>${calls}<|close|>tools<|sep|>",
    call='<|open|>call tool="${name}" index="${index}"<|sep|>${arguments}<|close|>call<|sep|>',
    arguments="kimi_k3_xml",
    reasoning="<|open|>think<|sep|>${text}<|close|>think<|sep|>",
    content="<|open|>response<|sep|>${text}<|close|>response<|sep|>",
    layout="both",
    tail="<|close|>message<|sep|>",
    excludes=("<|open|>", "<|close|>"),
    first_index=1,
)
