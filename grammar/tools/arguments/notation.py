"""`Notation`: what each way of writing arguments can do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from .source import Source

Reading = Generator[None, None, dict[str, Any]]


class Notation(Protocol):
    """A notation of arguments."""

    def form(self, schema: Any, pointer: str) -> Any:
        """Return the structural tag's format for the arguments that a schema allows. `pointer` is the place of the
        schema. Raises GrammarError if the notation cannot write such arguments."""

    def text_form(self, form: Any) -> Any:
        """Return the format for one argument `input`, a string whose text has the given format; None: any text. If the
        notation would have to escape the text, return None."""

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        """Return the text of arguments. Raises ValueError if the notation cannot write them."""

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        """Read arguments, yielding whenever more text is needed, and give `emit` the pieces of their JSON text.

        Without a schema (None), values whose type the notation does not tell are strings. Raises Mismatch at a text
        that the notation does not write, and Unfinished at the end of a text that has ended too early.
        """
