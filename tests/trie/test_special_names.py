"""The error about special tokens that a vocabulary does not have names those that look alike."""

from __future__ import annotations

import pytest

from earleymask import Grammar, Matcher, Vocabulary, VocabularyError
from earleymask.trie import special_names
from earleymask.trie.special_names import MAX_CANDIDATES, MAX_NAMES, hint, near, unknown, written

NAMES = [
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "<|im_start|>",
    "<|im_end|>",
    "\u2581<PRE>",
    "<a b>",
    "[5]",
]


def vocabulary_of(names: list[str], text: bytes = b"<think>") -> Vocabulary:
    """The names are special tokens from id 2 on; 0 is ordinary text, 1 is EOS without a name."""
    tokens = [text, b"", *[b""] * len(names)]
    return Vocabulary.from_tokens(tokens, eos_token_id=1, special_tokens={name: 2 + i for i, name in enumerate(names)})


VOCABULARY = vocabulary_of(NAMES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("<|s|>", "did you mean <s>"),
        ("<TOOL_CALLS>", "did you mean <[TOOL_CALLS]>?"),
        ("<|tool_call|>", "did you mean <[TOOL_CALLS]>?"),
        ("[TOOLCALLS]", "did you mean <[TOOL_CALLS]>?"),
        ("<|IM_END|>", "did you mean <|im_end|>"),
        ("<PRE>", "did you mean <[9]>, which is '\u2581<PRE>',?"),
        ("<think>", "token 0 has this text and is not special: write <[0]> for this token"),
        ("<zzzzzzzz>", "it has <s>, </s>, <[INST]>, <[/INST]>, <[TOOL_CALLS]> and 5 more"),
    ],
)
def test_hints(name: str, expected: str) -> None:
    assert hint(name, VOCABULARY).startswith(expected)


def test_what_is_hinted_at_is_accepted() -> None:
    """Each special token, written as the hint writes it, is that token in a grammar of either syntax."""
    for name, token_id in VOCABULARY.special_tokens.items():
        shown = written(name, token_id).split(",")[0]
        for grammar in (Grammar.from_lark(f'start: {shown} "x"'), Grammar.from_gbnf(f'root ::= {shown} "x"')):
            matcher = Matcher(grammar, VOCABULARY)
            assert matcher.mask().nonzero()[0].tolist() == [token_id], name


def test_the_error_names_all_that_are_missing() -> None:
    with pytest.raises(VocabularyError) as caught:
        Matcher(Grammar.from_gbnf("root ::= <|im_stop|> !<think> <s> <|im_stop|>"), VOCABULARY)
    lines = str(caught.value).split("\n")
    assert lines[0] == "the grammar names 2 special tokens that the vocabulary does not have:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["'<|im_stop|>'", "'<think>'"]
    with pytest.raises(VocabularyError, match=r"the special token '<TOOL>', which .* did you mean <\[TOOL_CALLS\]>\?"):
        Matcher(Grammar.from_lark("start: <TOOL>"), VOCABULARY)


def test_a_vocabulary_without_special_tokens_says_so() -> None:
    assert "no special tokens with a name" in hint("<x>", vocabulary_of([]))


def test_the_work_and_the_message_are_bounded() -> None:
    many = vocabulary_of([f"<|reserved_{index}|>" for index in range(3 * MAX_CANDIDATES)])
    message = str(unknown([f"<{index}>" + "x" * 10_000 for index in range(1000)], many))
    assert len(message) < 20_000 and message.endswith(f"and {1000 - MAX_NAMES} more")
    assert near("<|" + "x" * 1000, {"<|" + "x" * 1000 + "|>": 1}) == []


def test_names_beyond_letters_are_compared_without_brackets() -> None:
    assert near("<tool_calls_begin>", {"<\uff5ctool\u2581calls\u2581begin\uff5c>": 7}) == [
        "<\uff5ctool\u2581calls\u2581begin\uff5c>"
    ]
    assert (
        special_names.written("<\uff5ctool\u2581calls\u2581begin\uff5c>", 7)
        == "<\uff5ctool\u2581calls\u2581begin\uff5c>"
    )
