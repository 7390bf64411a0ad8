"""Exact token masks for generation under a context-free grammar."""

__version__ = "0.1.0"

__all__ = ["__version__"]
