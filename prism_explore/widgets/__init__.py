"""Pictures, tables and the Jupyter explorer, all computed from the journal of a search."""

from prism_explore.widgets.jupyter.pictures import PICTURES, picture_scene, picture_svg, sgraph_svg
from prism_explore.widgets.panels.tables import TABLES

__all__ = ["PICTURES", "TABLES", "picture_scene", "picture_svg", "sgraph_svg"]
