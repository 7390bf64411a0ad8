"""Structural tags: free text, constants, schemas and grammars put together, as JSON."""
