"""Agent frameworks with a grammar for each request, run for real: `python -m tests.integration.frameworks`.

Each file of `examples/` is what docs/agent_frameworks.md shows for one framework. The job makes an environment for each
framework (`environments`), starts a server (`servers`) with a recorder before it (`recorder`), and calls the functions
of the examples (`run_example`, in the framework's environment). It checks every answer without earleymask, and checks
that the grammar was in the body (`cases`).
"""
