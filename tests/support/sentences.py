"""Questions that many tests ask: is this text a sentence, which texts are there, is a hostile grammar handled fast?"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from earleymask import Grammar, GrammarError, LimitError, Matcher, Vocabulary

BYTES = Vocabulary.bytes()
EOS = 256


def accepts(grammar: Grammar | None, text: str) -> bool:
    """Return whether the text, read byte by byte, is a sentence; no text is one if the grammar is None."""
    if grammar is None:
        return False
    data = text.encode()
    matcher = Matcher(grammar, BYTES)
    return all(matcher.accept(token) for token in [*data, EOS])


def strings(alphabet: str, longest: int) -> list[str]:
    """Return every string over `alphabet` of at most `longest` characters, the shortest first."""
    return ["".join(chars) for n in range(longest + 1) for chars in itertools.product(alphabet, repeat=n)]


def assert_bounded(make: Callable[[], Grammar]) -> None:
    """Assert that the grammar is refused in few words or used for ten bytes, and that neither takes long."""
    began = time.process_time()
    message = ""
    try:
        matcher = Matcher(make(), BYTES)
        for byte in b"a" * 10:
            matcher.mask()
            matcher.accept(byte)
    except (GrammarError, LimitError) as error:
        message = str(error)
    assert len(message) < 2000
    assert time.process_time() - began < 20
