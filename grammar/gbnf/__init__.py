"""llama.cpp's GBNF: text to trees, regular parts to terminals, the rest to productions."""
