"""The benches: their texts are sentences of their grammars, and a wrong mask does not pass as a fast one."""

import sys
from pathlib import Path

import lark
import pytest

sys.path.append(str(Path(__file__).parent.parent))  # `bench` takes it off again, so that it hides no installed package

from bench import texts
from bench.engines import GRAMMARS

KINDS = tuple(texts.GENERATORS)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_sentences_for_lark(kind: str) -> None:
    parser = lark.Lark(
        (GRAMMARS / f"{kind}.lark").read_text(encoding="utf-8"), parser="earley", lexer="dynamic_complete"
    )
    for seed in range(3):
        text = texts.generate(kind, seed, 120)
        parser.parse(text)
        with pytest.raises(lark.exceptions.LarkError):
            parser.parse(text + " ]")


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_and_a_size_name_a_text(kind: str) -> None:
    text = texts.generate(kind, 7, 2000)
    assert len(text) >= 2000
    assert text == texts.generate(kind, 7, 2000)
    assert text != texts.generate(kind, 8, 2000)
