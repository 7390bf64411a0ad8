"""Train a tokenizer and a language model of about a million weights, in about a minute on two cores.

A dialogue is a list of texts. The model reads the first, writes the second, reads the third, and so on:

    <|read|>3 lamps, please<|write|>{"product": "lamp", "quantity": 3}<|end|><|read|>thanks<|write|>...

It learns the texts that it writes; those that it reads count only as what comes before. The same dialogues, steps and
seed give the same model on the same machine. Nothing is written to disk, unless a folder is given.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from tqdm import tqdm  # type: ignore[import-untyped]
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import earleymask

READ, WRITE, END = "<|read|>", "<|write|>", "<|end|>"
Dialogue = Sequence[str]
"""Texts that are read and written in turns."""
IGNORED = -100
"""The label of a token that is not learned, as torch's cross entropy has it."""


@dataclass(frozen=True)
class Training:
    """How a model is made."""

    steps: int = 500
    rows: int = 32
    """Dialogues of one step."""
    vocabulary: int = 1024
    """The most tokens that the tokenizer has."""
    width: int = 128
    layers: int = 2
    rate: float = 3e-3
    """The highest learning rate; it rises to this in the first twentieth of the steps, and then falls to 0."""
    seed: int = 0


@dataclass(frozen=True)
class SmallModel:
    """A trained model with its tokenizer, and the vocabulary that earleymask makes of the two."""

    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast
    vocabulary: earleymask.Vocabulary

    def prompt(self, dialogue: Dialogue) -> list[int]:
        """Return the ids of a dialogue that ends with a text to read: the model writes next."""
        assert len(dialogue) % 2 == 1, "the last text of the dialogue is one that the model writes"
        ids, _ = encoded(self.tokenizer, dialogue)
        return [*ids, self.tokenizer.convert_tokens_to_ids(WRITE)]

    def is_own(self, tokens: Sequence[int], text: bytes) -> bool:
        """Return whether tokens are those that the tokenizer makes of their text, with or without the end after it."""
        try:
            own = self.tokenizer.encode(text.decode(), add_special_tokens=False)
        except UnicodeDecodeError:
            return False
        return list(tokens) in (own, [*own, self.tokenizer.convert_tokens_to_ids(END)])


def train(dialogues: Sequence[Dialogue], training: Training, folder: Path | None = None) -> SmallModel:
    """Train a tokenizer and a model on dialogues, with a progress bar.

    Args:
        dialogues: each with an even number of texts.
        training: how.
        folder: read the model from here if it was made from the same dialogues in the same way; else write it here.
    """
    where = None if folder is None else folder / _key(dialogues, training)
    if where is not None and (where / "config.json").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(where)
        model = LlamaForCausalLM.from_pretrained(where)
    else:
        tokenizer = _trained_tokenizer(dialogues, training)
        model = _trained_model(tokenizer, dialogues, training)
        if where is not None:
            tokenizer.save_pretrained(where)
            model.save_pretrained(where)
    model.eval()
    return SmallModel(model, tokenizer, earleymask.model_vocabulary(model, tokenizer))


def encoded(tokenizer: PreTrainedTokenizerFast, dialogue: Dialogue) -> tuple[list[int], list[int]]:
    """Return the ids of a dialogue and their labels: the same id if the model is to write it, else `IGNORED`."""
    read, write, end = tokenizer.convert_tokens_to_ids([READ, WRITE, END])
    ids: list[int] = []
    labels: list[int] = []
    for turn, text in enumerate(dialogue):
        body = tokenizer.encode(text, add_special_tokens=False)
        if turn % 2 == 0:
            ids += [read, *body]
            labels += [IGNORED] * (1 + len(body))
        else:
            ids += [write, *body, end]
            labels += [IGNORED, *body, end]
    return ids, labels


def _trained_tokenizer(dialogues: Sequence[Dialogue], training: Training) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE. A word is the same token with and without a space before it, and numbers are pairs of
    digits: so what is copied from a prompt are the same tokens there and in the answer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=training.vocabulary,
        special_tokens=[READ, WRITE, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # all bytes: the model can spell any text
        show_progress=False,
    )
    tokenizer.train_from_iterator((text for dialogue in dialogues for text in dialogue), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=READ, eos_token=END, pad_token=END)


def _trained_model(
    tokenizer: PreTrainedTokenizerFast, dialogues: Sequence[Dialogue], training: Training
) -> LlamaForCausalLM:
    torch.manual_seed(training.seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=training.width,
            intermediate_size=3 * training.width,
            num_hidden_layers=training.layers,
            num_attention_heads=training.width // 16,
            initializer_range=0.05,
            rope_parameters={"rope_type": "default", "rope_theta": 100.0},  # the texts are short
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).train()
    examples = [encoded(tokenizer, dialogue) for dialogue in dialogues]
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.rate, betas=(0.9, 0.98), weight_decay=0.01)

    def rate(step: int) -> float:
        done = step / training.steps
        return min(20 * (step + 1) / training.steps, 0.5 + 0.5 * math.cos(math.pi * done))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    n_weights = sum(weights.numel() for weights in model.parameters())
    with tqdm(total=training.steps, desc=f"training {n_weights / 1e6:.1f} million weights", unit="step") as bar:
        for ids, mask, labels in _batches(examples, training, tokenizer.pad_token_id):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            bar.update()
            if bar.n % 10 == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}")
    return model


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The ids, the mask of the attention and the labels of a step: int64, shape `(rows, longest)`."""


def _batches(examples: Sequence[tuple[list[int], list[int]]], training: Training, padding: int) -> Iterator[Batch]:
    """Yield batches of random dialogues."""
    rng = random.Random(training.seed)
    for _ in range(training.steps):
        rows = rng.sample(examples, training.rows)
        width = max(len(ids) for ids, _ in rows)
        yield (
            torch.tensor([ids + [padding] * (width - len(ids)) for ids, _ in rows]),
            torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows]),
            torch.tensor([labels + [IGNORED] * (width - len(labels)) for _, labels in rows]),
        )


def _key(dialogues: Sequence[Dialogue], training: Training) -> str:
    made_of = json.dumps([asdict(training), [list(dialogue) for dialogue in dialogues]])
    return hashlib.sha256(made_of.encode()).hexdigest()[:16]
