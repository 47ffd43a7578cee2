"""The form in which a search is shown in a notebook: a widget, a page in a frame, a picture, or text."""

from __future__ import annotations

import os
from base64 import b64encode
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

    `widget` is the live explorer; its cell also has a picture, which is seen where no widget runs, such as in a page of
    nbconvert without a network. `html` is the report in a frame, for hosts that block widgets; it cannot steer. `svg`
    is the picture alone. `text` is plain text. The environment variable PRISM_EXPLORE_DISPLAY sets the mode at the
    start of a process.

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


def picture_html(picture_id: str, svg: str, described: str) -> str:
    """A picture as HTML that viewers which remove scripts, styles and inline SVG show too.

    The widget with this id hides it. JupyterLab shows a widget some time after its output, so the picture waits there.
    """
    style = (
        "<style>@keyframes prism-wait{from,to{height:0;opacity:0}}"
        "@media screen{.lm-Widget .prism-explore-picture{overflow:hidden;animation:prism-wait 2s}}</style>"
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    image = f'<img style="max-width:100%" alt="{escape(described)}" src="{source}">'
    return f'<div class="prism-explore-picture" data-prism-picture="{picture_id}">{style}{image}</div>'
