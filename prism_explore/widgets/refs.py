"""Ids of what the explorer shows and selects. Only this module composes and parses them.

One kind of id per row::

    n12          a node of the search tree          p3        a pruned region
    f1           a family                           f1.c2     a candidate
    program.%4   a tensor of the program            u9        a tuning trial
    f1.c2/k3     a kernel-level tensor              c4        an e-class of a candidate
    f1.c2/k3.b7  a tensor of a block graph          q1        a question
    f1.c2/k3@5   frame 5 of the e-graph of a lemma  mem.smem  a pruning reason
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PROGRAM = "program."
GOAL = "goal"
"""Name of the last lemma of a certificate: the results of program and candidate are equal."""
_TENSOR = re.compile(r"(?:program\.%(?P<program>\d+)|(?:(?P<owner>f[\w.]*)/)?k(?P<kernel>\d+)(?:\.b(?P<block>\d+))?)")
_FRAME = re.compile(r"(?P<candidate>f\d+\.c\d+)/(?P<tensor>[\w.%]+)@(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor of the program, of a family or of a candidate."""

    owner: str
    """Id of the family or candidate; empty for the program."""
    name: str
    """The name of the tensor in its graph, as e-classes and lemmas have it: program.%4, k3, k3.b7."""
    position: int
    """Of the kernel-level node."""
    block_position: int | None = None
    """Of the node in the block graph of that kernel; None for the kernel-level node itself."""


@dataclass(frozen=True, slots=True)
class FrameRef:
    """One frame of the e-graph of a lemma."""

    candidate: str
    tensor: str
    number: int

    def at(self, number: int) -> str:
        """Id of another frame of the same lemma."""
        return f"{self.candidate}/{self.tensor}@{number}"


def tensor_ref(ref: str) -> TensorRef | None:
    """Parse the id of a tensor; None for another kind of id."""
    found = _TENSOR.fullmatch(ref)
    if found is None:
        return None
    if found["program"] is not None:
        return TensorRef("", ref, int(found["program"]))
    if not found["owner"]:
        return None
    block = found["block"]
    name = ref.removeprefix(f"{found['owner']}/")
    return TensorRef(found["owner"], name, int(found["kernel"]), None if block is None else int(block))


def frame_ref(ref: str) -> FrameRef | None:
    """Parse the id of an e-graph frame; None for another kind of id."""
    found = _FRAME.fullmatch(ref)
    return FrameRef(found["candidate"], found["tensor"], int(found["number"])) if found else None


def is_of_program(name: str) -> bool:
    """Whether a tensor name of an e-class or lemma is that of a tensor of the program."""
    return name.startswith(PROGRAM)


def member_ref(candidate: str, name: str) -> str:
    """Id of a tensor named in an e-class or lemma of a candidate."""
    if name == GOAL:
        return f"{candidate}/{GOAL}@0"
    return name if is_of_program(name) else f"{candidate}/{name}"


def short_name(name: str) -> str:
    """A tensor name as it is shown, such as %4 or k3.b7."""
    return name.removeprefix(PROGRAM)


def owner_of(ref: str) -> str:
    """Id of the family or candidate that contains a tensor; the id itself for another kind of id."""
    return ref.split("/")[0]
