"""PROGRAM -> FAMILIES: grow sGraphs operator by operator, and cut what cannot become the program."""

from prism_explore.generate.grow import generate

__all__ = ["generate"]
