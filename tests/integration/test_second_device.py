"""Models on another device than the CPU: the server, `generate` and the processor write what they write on the CPU.

There may be no GPU, so a child runs these tests, and some of the server, on a device that only seems to be one
(`support/second_device.py`). On a machine with a GPU, `EARLEYMASK_DEVICE=cuda` runs all of them there:

    EARLEYMASK_DEVICE=cuda python -m pytest tests/integration/test_second_device.py tests/integration/server
"""

from __future__ import annotations

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask import Grammar, Vocabulary  # noqa: E402
from earleymask.integration.generation import generate  # noqa: E402
from earleymask.integration.transformers import GrammarLogitsProcessor  # noqa: E402
from support import second_device  # noqa: E402
from support.children import run_in_a_child  # noqa: E402
from support.tiny_server import tiny_llama, tokenizer_with_template  # noqa: E402

SERVER = ["batch", "openai"]
CHOSEN = "rows or device or follow or log_prob or bias or seed or penalties or stop_strings"
"""Names of the tests that the child runs: those in which the model reads, and all that changes scores."""
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 9}},
    "required": ["id", "name"],
    "additionalProperties": False,
}

DEVICE = second_device.chosen_device()
on_a_device = pytest.mark.skipif(DEVICE.type == "cpu", reason="needs EARLEYMASK_DEVICE")


@pytest.mark.skipif(DEVICE.type != "cpu", reason="this is the child, or there is a GPU")
@pytest.mark.skipif(not second_device.IS_POSSIBLE, reason="this torch has no backends that are Python")
def test_a_second_device() -> None:
    pytest.importorskip("openai")
    files = [__file__, *(f"integration/server/test_{name}.py" for name in SERVER)]
    printed = run_in_a_child(
        "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN, *files, EARLEYMASK_DEVICE=second_device.NAME
    )
    found = re.search(r"(\d+) passed, 1 skipped", printed)
    assert found and int(found[1]) >= 13, printed


@on_a_device
def test_the_device_has_its_own_tensors() -> None:
    there = torch.arange(6.0).to(DEVICE)
    with pytest.raises(RuntimeError, match=r"CPU|cpu"):
        there + torch.arange(6.0)
    with pytest.raises((RuntimeError, TypeError), match="numpy"):
        there.numpy()
    assert (there + torch.arange(6.0).to(DEVICE)).cpu().tolist() == [0, 2, 4, 6, 8, 10]
    kept = there.cpu()
    there += 1
    assert kept.tolist() == [0, 1, 2, 3, 4, 5]


def on_both(write: Any) -> None:
    """Check that a function of a model writes the same on both devices."""
    tokenizer = tokenizer_with_template()
    model, vocabulary = tiny_llama(tokenizer), Vocabulary.from_transformers(tokenizer)
    found = []
    for device in (DEVICE, torch.device("cpu")):
        model.to(device)
        assert {parameter.device.type for parameter in model.parameters()} == {device.type}
        found.append(write(model, vocabulary))
    assert found[0] == found[1]


@on_a_device
def test_generate_on_a_device() -> None:
    grammar = Grammar.from_json_schema(SCHEMA)
    on_both(lambda model, vocabulary: generate(model, vocabulary, [[1, 2, 3], [4]], [grammar, None], max_new_tokens=60))


@on_a_device
@pytest.mark.parametrize("n_beams", [1, 3])
def test_the_processor_on_a_device(n_beams: int) -> None:
    grammar = Grammar.from_json_schema(SCHEMA)

    def write(model: Any, vocabulary: Vocabulary) -> Any:
        ids = torch.tensor([[1, 2, 3], [4, 5, 6]]).to(model.device)
        return model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            logits_processor=[GrammarLogitsProcessor(grammar, vocabulary)],
            do_sample=False,
            num_beams=n_beams,
            max_new_tokens=60,
            pad_token_id=0,
        ).tolist()

    on_both(write)
