"""What vLLM calls when a process of it starts: the entry point `earleymask` of `vllm.general_plugins`.

vLLM has no place for backends of others, so some of its names are replaced. That is done for versions whose names are
known, and only if EARLEYMASK_VLLM=1 asks for it.
"""

from __future__ import annotations

import logging
import os

__all__ = ["KNOWN_VERSIONS", "register"]

KNOWN_VERSIONS = ("0.32.0", "0.33.0")
"""Versions of vLLM in which the adapter has run."""

VARIABLE = "EARLEYMASK_VLLM"


def register() -> None:
    """Put earleymask in place of the backends `xgrammar` and `guidance`, if the environment says so.

    Raises RuntimeError for a version of vLLM that is not known, so that it does not start with another backend than the
    one that was asked for; ValueError if the variable is neither 1 nor 0.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked in ("", "0"):
        return
    if asked != "1":
        raise ValueError(f"{VARIABLE} is {asked!r}; set it to 1 to switch earleymask on, or to 0")
    import vllm

    version = vllm.__version__.partition("+")[0]
    if version not in KNOWN_VERSIONS:
        raise RuntimeError(
            f"{VARIABLE}=1, but this is vLLM {vllm.__version__}, and this version of earleymask knows "
            f"{', '.join(KNOWN_VERSIONS)}; install one of these, or another earleymask, or unset {VARIABLE}"
        )
    _replace()
    logging.getLogger("vllm.earleymask").info(
        "%s=1: earleymask takes the place of the structured output backends xgrammar and guidance", VARIABLE
    )


def _replace() -> None:
    """Replace the names. Each is looked up anew for every engine or request."""
    from vllm.v1 import structured_output
    from vllm.v1.structured_output import backend_guidance, backend_xgrammar

    from .backend import EarleymaskBackend
    from .validation import validate

    for module in (structured_output, backend_guidance):
        module.GuidanceBackend = EarleymaskBackend
    for module in (structured_output, backend_xgrammar):
        module.XgrammarBackend = EarleymaskBackend
    backend_guidance.validate_guidance_grammar = validate
    backend_xgrammar.validate_xgrammar_grammar = validate
