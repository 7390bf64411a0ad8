"""JSON Schema: documents to a tree, what schemas mean as sets of values, and productions that write these."""
