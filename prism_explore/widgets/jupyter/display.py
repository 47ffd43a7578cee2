"""The form in which a search is shown in a notebook: a widget, a page in a frame, a picture, or text."""

from __future__ import annotations

import os
from html import escape
from typing import Literal, TypeAlias, get_args

from prism_explore.errors import PrismError

Mode: TypeAlias = Literal["widget", "html", "svg", "text"]
VARIABLE = "PRISM_EXPLORE_DISPLAY"
"""Environment variable with the mode at the start."""
HEIGHT_PX = 780
"""Height of the frame of a page."""

_chosen: list[Mode] = []
"""The mode that the user has set, if any."""


def display_mode(mode: Mode | None = None) -> Mode:
    """Choose how searches are shown in notebooks from now on.

    `widget` is the live explorer. `html` is its report in a frame, for hosts that block widgets; it cannot steer. `svg`
    is a picture: with it `jupyter nbconvert --execute` writes pages that need no network. `text` is plain text. The
    environment variable PRISM_EXPLORE_DISPLAY sets the mode at the start of a process.

    Args:
        mode: the new mode; by default it stays.

    Returns:
        The mode that is in force.

    Raises:
        PrismError: there is no such mode.

    >>> display_mode()
    'widget'
    """
    found = mode or (_chosen[-1] if _chosen else os.environ.get(VARIABLE, "widget"))
    for known in get_args(Mode):
        if found == known:
            if mode is not None:
                _chosen[:] = [known]
            return known
    where = "" if mode else f" in the environment variable {VARIABLE}"
    raise PrismError(f"found display mode {found!r}{where}; expected one of {', '.join(get_args(Mode))}")


def frame(page: str) -> str:
    """A page in a frame of its own, which can run the scripts of the page and reach nothing else."""
    style = f"width:100%;height:{HEIGHT_PX}px;border:0"
    return f'<iframe sandbox="allow-scripts" style="{style}" title="Prism report" srcdoc="{escape(page)}"></iframe>'
