"""What is asked of a server of vLLM or SGLang, and what came of it. It needs `openai`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai

from support.server_process import is_healthy


class Asked:
    """A client, and the results and faults of its questions."""

    def __init__(self, address: str, seconds: float) -> None:
        """seconds: how long an answer may take."""
        self.client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=seconds)
        self.address = address
        self.results: dict[str, str] = {}
        self.faults: list[str] = []

    def ask(self, what: str, question: Callable[[], object]) -> None:
        """Note what a question gives: "ok" or a text. An error is a fault."""
        try:
            self.results[what] = str(question() or "ok")
        except Exception as error:
            self.results[what] = "fault"
            self.faults.append(f"{what}: {error!r}"[:600])
        assert is_healthy(self.address), f"the server died: {what}"

    def refused(self, what: str, question: Callable[[], object], *parts: str, status: int = 400) -> None:
        """Note that a question is refused with a message that has some parts."""

        def refuse() -> str:
            answer: Any = None
            try:
                answer = question()
            except openai.APIStatusError as error:
                refusal = error
            assert answer is None, f"not refused: {answer}"
            assert refusal.status_code == status, refusal
            message = self.message(refusal)
            for part in parts:
                assert part in message, (part, message)
            return str(status)

        self.ask(what, refuse)

    def message(self, refusal: openai.APIStatusError) -> str:
        return refusal.message
