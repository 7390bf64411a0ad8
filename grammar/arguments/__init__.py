"""Arguments of tools that are written with tags instead of JSON: their grammar, and how they are read and written."""
