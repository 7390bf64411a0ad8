"""Hostile input for every front end and every entry point: see `__main__`."""
