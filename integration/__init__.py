"""Adapters to the sampling loops of other packages; no other folder knows them."""
