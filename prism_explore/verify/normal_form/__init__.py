"""The normal form of a graph, which decides equality over the reals."""
