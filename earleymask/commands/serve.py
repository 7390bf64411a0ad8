"""`earleymask serve`: answer OpenAI's chat completions and responses with a transformers model."""

from __future__ import annotations

import argparse
import logging
import os

from ..errors import EarleymaskError
from .generate import load_model
from .shared import EXIT_OK, CommandError, read_text

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses at which only programs of this machine reach a server."""


def run(given: argparse.Namespace) -> int:
    model, tokenizer = load_model(given.model, dtype=given.dtype)
    try:
        model.to(given.device)
    except (RuntimeError, AssertionError) as error:  # the second is how a torch without CUDA refuses it
        raise CommandError(f"cannot use the device {given.device!r}: {error}") from None
    if given.chat_template is not None:
        tokenizer.chat_template = read_text(given.chat_template, "chat template")
    try:
        import uvicorn

        from ..integration.server.app import create_app
        from ..integration.server.options import Options
        from ..integration.server.thinking import marks_of
    except ImportError as error:
        raise CommandError(f"{error}; run pip install 'earleymask[serve]'") from None
    level = logging.WARNING if given.quiet else logging.INFO
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    try:
        reasoning = None if given.reasoning_parser is None else marks_of(given.reasoning_parser)
    except (EarleymaskError, ValueError) as error:
        raise CommandError(str(error)) from None
    options = Options(
        name=given.name or given.model,
        style=given.tool_style,
        reasoning=reasoning,
        api_key=given.api_key or os.environ.get("EARLEYMASK_API_KEY") or None,
        slots=given.slots,
        queue=given.queue,
        max_length=given.max_length,
        body_bytes=given.max_body,
        request_seconds=given.timeout,
        is_apart=True,
    )
    if options.api_key is None and given.host not in LOOPBACK:
        message = "whoever reaches %s:%d may use the model; give an --api-key"
        logging.getLogger("earleymask.server").warning(message, given.host, given.port)
    try:
        app = create_app(model, tokenizer, options)
    except ValueError as error:
        raise CommandError(str(error)) from None
    uvicorn.run(app, host=given.host, port=given.port, log_level=level, timeout_graceful_shutdown=5)
    return EXIT_OK
