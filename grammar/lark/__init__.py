"""Lark's grammar language: text to trees, names to what they mean, trees to productions and terminals."""
