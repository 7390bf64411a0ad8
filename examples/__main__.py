"""All three tasks, one after the other: `python -m examples`.

Without `--output`, the results go into `examples/results/`, and their tables into `docs/examples.md`.
"""

from __future__ import annotations

from . import agent, extraction, text_to_sql
from .measuring import run_all

if __name__ == "__main__":
    run_all([extraction.task, text_to_sql.task, agent.task], into_docs=True)
