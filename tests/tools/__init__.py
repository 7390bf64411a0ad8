"""Grammars of tool calls, their parser and renderer; `against_vllm` compares them with vLLM's parsers."""
