"""PROGRAM -> FAMILIES: grow sGraphs operator by operator, and cut what cannot become the program."""

from prism_explore.generate.enumerator import generate

__all__ = ["generate"]
