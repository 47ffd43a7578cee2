"""Candidates in text files, `tests/data/candidates/*.txt`: which program they are for, their text, right or wrong.

A file is a list of sections. Lines that begin with `#` are comments.

    right rmsnorm_linear_bare rmsnorm: R1
      $o = custom(x, w) grid[x=gx] loop[i=f]
        ...
      return $o

    wrong rmsnorm: no-square, like rmsnorm-R1
        $mean = accum_mean($x, dim=1)

A section names one program or several, then the form. `like PROGRAM-FORM` starts from the text of an earlier section:
each line replaces the line, or the lines, that assign the same name; lines that assign a new name go in front of the
next line that replaces one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FILES = Path(__file__).resolve().parents[1] / "data" / "candidates"

_HEADER = re.compile(r"(?P<right>right|wrong) (?P<programs>[\w ]+): (?P<form>[\w-]+)(?:, like (?P<base>[\w-]+))?")
_ASSIGNED = re.compile(r" +(\$\w+) = ")


@dataclass(frozen=True, slots=True)
class Section:
    """One candidate, for each of its programs."""

    right: bool
    programs: tuple[str, ...]
    form: str
    text: str


def read(name: str) -> tuple[Section, ...]:
    """The sections of `tests/data/candidates/<name>.txt`, in order."""
    sections: list[Section] = []
    texts: dict[str, str] = {}
    lines = (FILES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith(("right ", "wrong "))]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        header = _HEADER.fullmatch(lines[start])
        assert header, f"{name}.txt:{start + 1}: expected 'right PROGRAM: FORM', found {lines[start]!r}"
        body = [line for line in lines[start + 1 : end] if line.strip() and not line.startswith("#")]
        base = header["base"]
        text = _changed(texts[base], body) if base else "\n".join(body)
        programs = tuple(header["programs"].split())
        sections.append(Section(header["right"] == "right", programs, header["form"], text))
        texts |= {f"{program}-{header['form']}": text for program in programs}
    return tuple(sections)


def _changed(base: str, changes: list[str]) -> str:
    """The base with each group of changed lines in place of the line that assigns the name of the group's last line."""
    lines = base.splitlines()
    group: list[str] = []
    for change in changes:
        group.append(change)
        name = _assigned(change)
        places = [n for n, line in enumerate(lines) if name and _assigned(line) == name]
        if places:
            for place in reversed(places):
                lines[place : place + 1] = group
            group = []
    assert not group, f"no line of the base assigns what {group[-1].strip()!r} does"
    return "\n".join(lines)


def _assigned(line: str) -> str | None:
    found = _ASSIGNED.match(line)
    return found.group(1) if found else None
