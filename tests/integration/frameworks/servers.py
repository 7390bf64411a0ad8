"""The servers that frameworks ask: `earleymask serve` with a small random model, `vllm serve` without a model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.server_process import running

NAME = "qwen"
"""What the examples call the model."""
SECONDS_TO_START = 240
LENGTH = 16_384
"""The most tokens of a prompt and an answer: prompts of agents have some thousands."""
EOS_BIAS = 10.0
"""The logits of 129,280 tokens have a standard deviation of 1.7, so the logarithm of the sum of their exponentials is
13.2. With this bias EOS has a probability of some 5 %."""
HERE = Path(__file__).parent
TESTS = HERE.parents[1]


@contextmanager
def earleymask_serve(python: str, folder: Path, log: Path) -> Iterator[str]:
    """Run `earleymask serve` in an environment, with a model that is made in a folder. Yield its address."""
    variables = {**os.environ, "PYTHONPATH": _path(), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    make = "import sys; from integration.frameworks.servers import write_model; write_model(sys.argv[1])"
    subprocess.run([python, "-P", "-c", make, str(folder)], check=True, env=variables)
    command = [python, "-P", "-m", "earleymask", "serve", "--model", str(folder), "--name", NAME, "--quiet"]
    with running(command, variables, log, SECONDS_TO_START) as address:
        yield address


@contextmanager
def vllm_serve(python: str, folder: Path, log: Path) -> Iterator[str]:
    """Run `vllm serve` in an environment, with earleymask and the executor of tests/integration/vllm."""
    variables = {
        **os.environ,
        "PYTHONPATH": _path(),
        "PYTHONSAFEPATH": "1",
        "EARLEYMASK_VLLM": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_LOGGING_LEVEL": "WARNING",
    }
    vllm = TESTS / "integration" / "vllm"
    subprocess.run([python, "-P", str(TESTS / "support" / "model_folder.py"), str(folder)], check=True, env=variables)
    command = [
        *(python, "-P", str(vllm / "serving.py"), "serve", str(folder), "--served-model-name", NAME),
        *("--distributed-executor-backend", "integration.vllm.executor.SamplingExecutor", "--enforce-eager"),
        *("--max-model-len", "4096", "--block-size", "16"),
        *("--tool-call-parser", "hermes", "--enable-auto-tool-choice"),
    ]
    with running(command, variables, log, SECONDS_TO_START) as address:
        yield address


def write_model(folder: str) -> None:
    """Write a random Phi of two layers with DeepSeek's tokenizer of 129,280 ids.

    A text of a random model has no end. So EOS has a bias, for which Phi has a place and Llama has none: it comes
    after some twenty tokens where it is allowed, and loops of agents end.
    """
    from support.tiny_server import deepseek_tokenizer, tiny_llama

    tokenizer = deepseek_tokenizer()
    tokenizer.save_pretrained(folder)
    model = tiny_llama(tokenizer, "Phi", length=LENGTH)
    model.lm_head.bias.data[tokenizer.eos_token_id] = EOS_BIAS
    model.cpu().save_pretrained(folder)


def _path() -> str:
    """Return PYTHONPATH for programs that import the tests, and earleymask from where the caller has it."""
    return os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
