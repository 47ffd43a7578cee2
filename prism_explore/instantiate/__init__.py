"""FAMILY -> CANDIDATES: choose for every index axis which grid dim and whether the loop cuts it."""

from prism_explore.instantiate.solve import instantiate

__all__ = ["instantiate"]
