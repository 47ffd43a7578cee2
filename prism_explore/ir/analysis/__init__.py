"""Analyses of a graph: data flow through loops, running maxima, split reductions."""
