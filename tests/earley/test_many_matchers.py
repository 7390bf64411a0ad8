"""Thousands of matchers live in one process: each takes memory for what it has met, and reserves none beyond that."""

from __future__ import annotations

import subprocess
import sys

import pytest

N = 10_000
ROOM = 400 << 20
"""Bytes of address space for `N` matchers: 40 KB for each."""
WORK = f"""
import resource
from earleymask import Grammar, Matcher, Vocabulary
grammar, vocabulary = Grammar.from_json_schema({{"type": "array", "items": {{"type": "integer"}}}}), Vocabulary.bytes()
Matcher(grammar, vocabulary).mask()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {ROOM}, used + {ROOM}))
matchers = [Matcher(grammar, vocabulary) for _ in range({N})]
expected = None
for matcher in matchers:
    assert all(map(matcher.accept, b"[1, 2"))
    mask = matcher.mask().tolist()
    assert mask == (expected or mask)
    expected = mask
    matcher.rollback(2)
assert all(matcher.tokens == list(b"[1,") for matcher in matchers)
print(len(matchers))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and a limit on the address space")
def test_ten_thousand_matchers_under_a_limit_on_the_address_space() -> None:
    child = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, timeout=300)
    assert (child.returncode, child.stdout) == (0, f"{N}\n"), child.stderr
