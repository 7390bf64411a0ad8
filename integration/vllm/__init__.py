"""A backend of vLLM for structured outputs: EARLEYMASK_VLLM=1 puts it in place of the built-in ones (docs/vllm.md).

- `plugin`: what vLLM calls when it starts, and which of its names are replaced.
- `validation`: requests are checked in the front end.
- `backend`: grammars and masks in the engine.
- `grammars`: which reader gets which kind of constraint.

vLLM is imported by these modules, not by this one.
"""
