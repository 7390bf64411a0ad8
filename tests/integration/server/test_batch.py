"""Rows of a batch, in which rows come and go, write what each of them writes alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

from support.tiny_server import tiny_llama, tokenizer_with_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask.integration.server.batch import Model, Rows  # noqa: E402

torch.set_num_threads(1)

WINDOW = {"kind": "Mistral", "sliding_window": 4}


@pytest.fixture(scope="module", params=[{}, WINDOW], ids=["full", "sliding window"])
def model(request: Any) -> Model:
    return Model(tiny_llama(tokenizer_with_template(), **request.param))


def alone(model: Model, prompt: list[int], n: int) -> list[int]:
    """Return the n most probable tokens after a prompt: a pass over the whole text, without a cache, before each."""
    tokens = list(prompt)
    with torch.inference_mode():
        for _ in range(n):
            scores = model.model(input_ids=torch.tensor([tokens]).to(model.device)).logits[0, -1]
            tokens.append(int(scores.argmax()))
    return tokens[len(prompt) :]


def test_models_whose_rows_cannot_be_read_together_are_refused() -> None:
    tokenizer = tokenizer_with_template()
    model = tiny_llama(tokenizer)
    model.config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(ValueError, match="LlamaForCausalLM cannot be served: it has layers of linear_attention"):
        Model(model)

    class Plain(torch.nn.Module):
        def forward(self, input_ids: Any) -> Any:
            return input_ids

    with pytest.raises(ValueError, match="Plain cannot be served: its forward takes no position_ids"):
        Model(Plain())
    model = tiny_llama(tokenizer)
    model.forward = lambda input_ids, position_ids, past_key_values, **other: 1 / 0  # it has a cache of its own kind
    with pytest.raises(ValueError, match="cannot be served: division by zero"):
        Model(model)


def test_rows_that_come_and_go_are_those_of_a_row_alone(model: Model) -> None:
    rng = random.Random(1)
    prompts = [[rng.randrange(250) for _ in range(rng.randint(1, 20))] for _ in range(12)]
    wanted = [rng.randint(1, 15) for _ in prompts]
    found: dict[int, list[int]] = {index: [] for index in range(len(prompts))}
    waiting = list(range(len(prompts)))
    batch: list[int] = []
    away: dict[int, Rows] = {}  # rows that have left, as those that wait for a mask do
    rows = Rows([], [])
    n_passes = 0
    with torch.inference_mode():
        while waiting or batch or away:
            while waiting and len(batch) + len(away) < 4:
                index = waiting.pop()
                scores, one = model.read(prompts[index])
                found[index].append(int(scores[0].argmax()))
                away[index] = one
            joining = [index for index in away if rng.random() < 0.7]
            rows = rows.join([away.pop(index) for index in joining])
            batch += joining
            stays = [at for at, index in enumerate(batch) if len(found[index]) < wanted[index]]
            if len(stays) < len(batch):
                rows, batch = rows.select(stays), [batch[at] for at in stays]
            if not batch:
                continue
            scores, rows = model.advance(rows, [found[index][-1] for index in batch])
            n_passes += 1
            for index, token in zip(batch, scores.argmax(dim=-1).tolist(), strict=True):
                found[index].append(token)
            for at in [at for at in range(len(batch)) if rng.random() < 0.2][:1]:
                away[batch[at]] = rows.select([at])
                kept = [each for each in range(len(batch)) if each != at]
                rows, batch = rows.select(kept), [batch[each] for each in kept]
    assert [found[index] for index in range(len(prompts))] == [
        alone(model, prompt, n) for prompt, n in zip(prompts, wanted, strict=True)
    ]
    assert n_passes < sum(wanted)


def test_a_model_with_recurrent_layers_is_refused() -> None:
    model = tiny_llama(tokenizer_with_template())
    model.config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(ValueError, match="it has layers of linear_attention"):
        Model(model)
