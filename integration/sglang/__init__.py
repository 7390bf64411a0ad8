"""A backend of SGLang for constrained output: `--grammar-backend earleymask` (docs/sglang.md).

- `plugin`: what SGLang calls when it starts, and what makes the backend.
- `backend`: makes the grammars of requests, in SGLang's pool of threads.
- `request`: the grammar of a request: masks, tokens, drafts.
- `grammars`: which reader gets which kind of constraint.
- `recent`: the bound that SGLang's cache of grammars does not have, and what it does not keep.

SGLang is imported by these modules, not by this one.
"""
