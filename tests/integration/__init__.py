"""Adapters to the sampling loops of other packages, and jobs that run them inside the real systems."""
