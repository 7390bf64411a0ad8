"""Regular expressions: Python's and ECMA-262's syntax as trees, and trees as nodes of `earleymask.earley`."""
