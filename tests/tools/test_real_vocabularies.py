"""Messages as tokens of real vocabularies, cut at random places, with special tokens as tokens and as text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask import tools as T
from support.tool_requests import random_message, random_tools
from support.vocabularies import load, load_encoder

N_MESSAGES = 12


def cut(rng: random.Random, vocabulary: Vocabulary, ids: dict[bytes, int], text: bytes) -> list[int]:
    """Return tokens that spell a text, each of them chosen among those that fit."""
    longest = max(map(len, ids))
    found = []
    while text:
        fitting = [ids[text[:n]] for n in range(1, min(longest, len(text)) + 1) if text[:n] in ids]
        found.append(fitting[-1] if rng.random() < 0.3 else rng.choice(fitting))
        text = text[len(vocabulary.token_bytes(found[-1])) :]
    return found


def with_specials(rng: random.Random, vocabulary: Vocabulary, text: str, cut_text: Any) -> list[int]:
    """The same, where the name of a special token may be that token."""
    specials = {name: id_ for name, id_ in vocabulary.special_tokens.items() if name and name in text}
    for name, id_ in specials.items():
        if rng.random() < 0.8:
            before, _, after = text.partition(name)
            return [
                *with_specials(rng, vocabulary, before, cut_text),
                id_,
                *with_specials(rng, vocabulary, after, cut_text),
            ]
    return list(cut_text(text)) if text else []


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("tekken", "mistral"),
        ("tekken", "mistral_v3"),
        ("deepseek", "deepseek_r1"),
        ("llama3", "llama"),
        ("llama3", "gemma"),
    ],
)
def test_messages_in_tokens(name: str, style: str) -> None:
    vocabulary = load(name)
    encode = load_encoder(name).encode
    ids: dict[bytes, int] = {}
    for id_ in range(vocabulary.size):
        ids.setdefault(vocabulary.token_bytes(id_), id_)
    ids.pop(b"", None)
    found = T.find_style(style)
    rng = random.Random(f"{name} {style}")
    n_special = n_done = 0
    while n_done < N_MESSAGES:
        tools = random_tools(rng)
        message = random_message(rng, found, tools)
        message.reasoning = None
        try:
            text = T.render(message, found, tools=tools)
        except T.ToolCallError:
            continue
        grammar = Grammar.from_tools(tools, style, vocabulary=vocabulary, whitespace="spaced")
        for cut_text in (encode, lambda part: cut(rng, vocabulary, ids, part.encode())):
            tokens = with_specials(rng, vocabulary, text, cut_text)
            n_special += sum(token in vocabulary.special_tokens.values() for token in tokens)
            matcher = Matcher(grammar, vocabulary)
            for token in tokens:
                assert matcher.mask()[token], (text, tokens)
                assert matcher.accept(token)
            assert matcher.is_accepting()
        n_done += 1
    assert n_special > 5 or name != "tekken"


@pytest.mark.parametrize("style", ["hermes", "deepseek_r1", "kimi", "harmony", "gemma"])
def test_triggers_cut_at_every_place(style: str) -> None:
    """Two tokens that meet within the text of a trigger bind as its characters do."""
    tools = [{"type": "function", "name": "f"}]
    text = T.render([T.ToolCall("f")], style)
    for at in range(1, len(text)):
        words = [text[:at].encode(), text[at:].encode(), text[:at].encode() + b"?"]
        vocabulary = Vocabulary.from_tokens([*[bytes([byte]) for byte in range(256)], b"", *words], eos_token_id=256)
        grammar = Grammar.from_tools(tools, style, vocabulary=vocabulary)
        matcher = Matcher(grammar, vocabulary)
        assert matcher.accept(257)
        assert matcher.accept(258)
        assert matcher.is_accepting()
        # A character that no call has there ends the binding, unless the trigger is not complete.
        assert bool(Matcher(grammar, vocabulary).mask()[259]) is is_prefix(grammar, text[:at] + "?")


def is_prefix(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, Vocabulary.bytes())
    return all(matcher.accept(byte) for byte in text.encode())
