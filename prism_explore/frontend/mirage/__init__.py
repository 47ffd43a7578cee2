"""Reader and writer of the JSON files in which Mirage saves its graphs, and their generalization to families.

Only the file format is shared with Mirage (github.com/mirage-project/mirage, Apache-2.0), no code.
"""

from prism_explore.frontend.mirage.generalize import GeneralizedGraph, generalize
from prism_explore.frontend.mirage.reader import MirageFile, MirageGraph, Skipped, load_mirage, read_mirage
from prism_explore.frontend.mirage.writer import save_mirage

__all__ = [
    "GeneralizedGraph",
    "MirageFile",
    "MirageGraph",
    "Skipped",
    "generalize",
    "load_mirage",
    "read_mirage",
    "save_mirage",
]
