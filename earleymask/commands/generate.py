"""`earleymask generate`: generate a text under a grammar with a transformers model."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from ..earley import Matcher
from .shared import EXIT_NO, EXIT_OK, CommandError, given_grammar


def run(given: argparse.Namespace) -> int:
    try:
        given.prompt.encode()
    except UnicodeEncodeError as error:  # a surrogate, in place of a byte that Python could not decode
        raise CommandError(f"the prompt is not UTF-8: character {error.start + 1} is malformed") from None
    grammar = given_grammar(given)
    model, tokenizer = load_model(given.model)
    import torch

    from ..integration.transformers import GrammarLogitsProcessor, model_vocabulary

    vocabulary = model_vocabulary(model, tokenizer)
    processor = GrammarLogitsProcessor(grammar, vocabulary)
    inputs = tokenizer(given.prompt, return_tensors="pt")
    if inputs["input_ids"].shape[1] == 0:
        raise CommandError("the prompt has no tokens")
    torch.manual_seed(given.seed)
    chosen: dict[str, Any] = {"do_sample": given.sample, "num_beams": given.beams, "max_new_tokens": given.max_tokens}
    if given.sample:
        # Sample from all that the grammar allows: the model's generation config might set its own top_k and top_p.
        chosen |= {"temperature": given.temperature, "top_k": 0, "top_p": 1.0}
    with torch.inference_mode():
        output = model.generate(
            **{name: inputs[name] for name in ("input_ids", "attention_mask") if name in inputs},
            **chosen,
            logits_processor=[processor],
            pad_token_id=vocabulary.eos_token_ids[0],
        )
    matcher = Matcher(grammar, vocabulary)
    names = {token_id: name for name, token_id in vocabulary.special_tokens.items()}
    text = b""
    for token_id in output[0, inputs["input_ids"].shape[1] :].tolist():
        if not matcher.accept(token_id) or matcher.is_finished():
            break
        # A special token has no bytes; its name shows where it stands.
        text += vocabulary.token_bytes(token_id) or names.get(token_id, "").encode()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    if sys.stdout.isatty():
        print()
    if matcher.is_finished():
        return EXIT_OK
    print(f"earleymask: stopped after {matcher.n_tokens} tokens, before the end of a sentence", file=sys.stderr)
    return EXIT_NO


def load_model(path: str, **options: Any) -> tuple[Any, Any]:
    """Load a model and its tokenizer. `options` are those of `AutoModelForCausalLM.from_pretrained`."""
    if (os.path.isabs(path) or path.startswith(".")) and not os.path.isdir(path):
        # transformers would take the path for a name on the hub and complain about its characters.
        raise CommandError(f"cannot load the model {path!r}: there is no such folder")
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise CommandError(f"{error}; run pip install 'earleymask[transformers]'") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForCausalLM.from_pretrained(path, **options)
    except Exception as error:  # transformers raises nearly any type for a folder that it cannot read
        raise CommandError(f"cannot load the model {path!r}: {error}") from None
    return model.eval(), tokenizer
