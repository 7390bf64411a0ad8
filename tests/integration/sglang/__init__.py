"""SGLang with earleymask's adapter, run for real: `python -m tests.integration.sglang`.

The job makes an environment with SGLang, and runs two kinds of programs there: `parts` (trees of drafts, the bound of
the cache, reasoning, among SGLang's own modules) and `serving` (SGLang's server, asked by the `openai` client and by
hundreds of mixed requests). The only part that is not SGLang's own is the model (`models`), which is chance.
"""
