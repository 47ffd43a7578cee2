"""Python source as text: free names, indentation, wrapped argument lists."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable


class Names:
    """Hands out names that are legal in Python and not taken.

    >>> names = Names(["tl"])
    >>> [names.fresh(n) for n in ("x", "x", "tl", "for", "a b", "2")]
    ['x', 'x_2', 'tl_2', 'for_', 'a_b', 't2']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or the nearest legal name that is free."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)[:48] or "t"
        name = f"t{name}" if name[0].isdigit() else f"{name}_" if keyword.iskeyword(name) else name
        base, count = name, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


def wrapped(words: list[str], indent: str = "    ", width: int = 96) -> list[str]:
    """Words with commas, in lines of at most `width`."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= width:
            lines[-1] += f" {word},"
        else:
            lines.append(f"{indent}{word},")
    return lines


def indented(lines: list[str]) -> list[str]:
    """Statements, some of several lines, as lines one level deeper."""
    return [f"    {part}" if part else "" for line in lines for part in line.split("\n")]


def call_text(function: str, arguments: list[str], width: int) -> str:
    """A call on one line of at most `width`, else with an argument per line."""
    line = f"{function}({', '.join(arguments)})"
    return line if len(line) <= width else f"{function}(\n" + "".join(f"    {a},\n" for a in arguments) + ")"
