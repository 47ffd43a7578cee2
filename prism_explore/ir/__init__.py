"""The nouns: sizes, tensors, operators, programs, sGraphs. No search, no egglog, no torch."""
