"""Text of a file or a user as a terminal may print it."""

from __future__ import annotations

from unicodedata import category

_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, reorders text by, or cannot encode."""


def terminal_text(text: str, keep: str = "\n") -> str:
    r"""Write the characters that control a terminal as escapes, because a saved search can come from anybody.

    Args:
        text: any text.
        keep: control characters that stay as they are.

    Returns:
        The text with escape sequences of terminals, directions of writing and lone surrogates as `\x1b`, `\u202e`.

    Example:
        >>> print(terminal_text("f1\x1b[2J"))
        f1\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if c not in keep and category(c) in _ACTIVE else c for c in text)
