"""gpt-oss: messages in channels. `<|return|>` and `<|call|>` are tokens that end generation."""

from ..style import Style

STYLE = Style(
    name="harmony",
    call=(
        "<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${arguments}<|call|>",
        "<|channel|>commentary to=functions.${name}<|constrain|>json<|message|>${arguments}<|call|>",
        "<|channel|>commentary to=functions.${name} json<|message|>${arguments}<|call|>",
        " to=functions.${name}<|channel|>commentary <|constrain|>json<|message|>${arguments}<|call|>",
        " to=functions.${name}<|channel|>commentary json<|message|>${arguments}<|call|>",
    ),
    reasoning="<|channel|>analysis<|message|>${text}<|end|>",
    content="<|channel|>final<|message|>${text}<|return|>",
    preamble="<|channel|>commentary<|message|>${text}<|end|>",
    layout="either",
    joint="<|start|>assistant",
    optional_ends=True,
    custom="<|channel|>commentary to=functions.${name} code<|message|>${input}<|call|>",
    excludes=("<|start|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|message|>"),
)
