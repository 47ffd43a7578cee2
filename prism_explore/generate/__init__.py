"""PROGRAM -> FAMILIES: enumerate sGraphs operator by operator, and prune graphs that cannot become the program."""

from prism_explore.generate.enumerator import generate

__all__ = ["generate"]
