"""File names for what a user or a file has named."""

from __future__ import annotations

import re

MOST_CHARACTERS = 60
"""Three bytes per character and a suffix still fit into the 255 bytes of a file name."""


def file_name(name: str) -> str:
    """The name of a file without a suffix, for something with any name.

    Args:
        name: any text.

    Returns:
        At most 60 letters, digits, dots, hyphens and underscores, which name no folder and no hidden file; `search` if
        the name has no letter or digit.

    Example:
        >>> file_name("../<b>attention</b>"), file_name("..")
        ('b_attention_b', 'search')
    """
    return re.sub(r"[^\w.-]+", "_", name)[:MOST_CHARACTERS].strip("._-") or "search"
