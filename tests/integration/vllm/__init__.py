"""vLLM with earleymask's adapter, run for real: `python -m tests.integration.vllm`.

The job makes an environment with vLLM, and runs two kinds of programs there: `engine` (hundreds of requests through
the scheduler and the structured-output manager, in six ways) and `serving` (`vllm serve`, asked by the `openai`
client). The only part that is not vLLM's own is the executor, which samples from the rows without a model.
"""
