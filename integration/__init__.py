"""Adapters to the places where tokens are sampled; the only layer that knows other frameworks."""
