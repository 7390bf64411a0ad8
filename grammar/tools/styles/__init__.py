"""One module for each style, with its `STYLE`: a family of models and how it writes calls."""
