"""The texts that engines follow: made from a seed, as sentences of the grammars in `bench/grammars/`."""
