"""Ids of what the explorer shows and selects. Only this module composes and parses ids of tensors and e-graph frames.

The browser sends ids as texts, and events store tensor names as texts, so an id is a text and not an object. The kinds
of ids::

    n12          a node of the search tree          p3                a pruned region
    f1           a family                           f1.c2             a candidate
    program.%4   a tensor of the program            u9                a tuning trial
    f1.c2/k3     a kernel-level tensor              f1.c2/c4          an e-class of a candidate
    f1.c2/k3.b7  a tensor of a block graph          f1.c2/program.%4  a tensor of the program in a proof
    f1.c2/k3@5   frame 5 of the e-graph of a lemma  f1.c2/goal@0      the same, for the results
    f1.c2/k3@5.e7  a class of that e-graph
    q1           a question                         mem.smem          a pruning reason

Saved selections may have two older forms: c4 for an e-class, and f1.c2/goal for frame 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

PROGRAM = "program."
"""Prefix of the name of a tensor of the program."""
GOAL = "goal"
"""Name of the last lemma of a certificate: the results of program and candidate are equal; goal1 is about the second
of several results, and so on."""
_TENSOR = re.compile(r"(?:(?P<owner>f[\w.]*)/)?(?:program\.%(?P<program>\d+)|k(?P<kernel>\d+)(?:\.b(?P<block>\d+))?)")
_FRAME = re.compile(r"(?P<candidate>f\d+\.c\d+)/(?:(?P<tensor>[\w.%]+)@(?P<number>\d+)(?:\.(?P<eclass>e\d+))?|goal)")
_ECLASS = re.compile(r"(?:(?P<candidate>f\d+\.c\d+)/)?(?P<name>c\d+)")
_GRAPH = re.compile(r"f\d+(?:\.c\d+)?")


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor of the program, of a family or of a candidate."""

    owner: str
    """Id of the family or candidate whose graph or proof has it; empty for the program alone."""
    name: str
    """The name of the tensor in e-classes and lemmas: program.%4, k3, k3.b7."""
    position: int
    """Position of the kernel-level node."""
    block_position: int | None = None
    """Position of the node in the block graph of that kernel; None for the kernel-level node itself."""

    @property
    def is_of_program(self) -> bool:
        """Whether it is a tensor of the program, of which a proof may speak."""
        return is_of_program(self.name)


@dataclass(frozen=True, slots=True)
class FrameRef:
    """One frame of the e-graph of a lemma, or a class in it."""

    candidate: str
    tensor: str
    number: int
    eclass: str = ""
    """A class in the frame, such as e7; empty for the frame as a whole."""

    def id_of(self, number: int) -> str:
        """The id of a frame of the same lemma; a class stays in focus."""
        return f"{self.candidate}/{self.tensor}@{number}{f'.{self.eclass}' if self.eclass else ''}"

    def class_id(self, eclass: str) -> str:
        """The id of a class in this frame; of the frame itself for an empty name."""
        return replace(self, eclass=eclass).id_of(self.number)


@dataclass(frozen=True, slots=True)
class EClassRef:
    """An e-class of a candidate."""

    candidate: str
    """Empty in an id of the older form, which does not have it."""
    name: str
    """Its name in events, such as c4."""


def program_tensor(position: int) -> str:
    """The name and id of a tensor of the program, such as program.%4."""
    return f"{PROGRAM}%{position}"


def tensor_name(position: int, block_position: int | None = None) -> str:
    """The name of a tensor in its sGraph, such as k3, or k3.b7 for a tensor of its block graph."""
    return f"k{position}" if block_position is None else f"k{position}.b{block_position}"


def tensor_ref(ref: str) -> TensorRef | None:
    """Parse the id of a tensor; None for another kind of id."""
    found = _TENSOR.fullmatch(ref)
    if found is None:
        return None
    owner, name, block = found["owner"] or "", ref.rpartition("/")[2], found["block"]
    if found["program"] is not None:
        return TensorRef(owner, name, int(found["program"]))
    return TensorRef(owner, name, int(found["kernel"]), None if block is None else int(block)) if owner else None


def frame_ref(ref: str) -> FrameRef | None:
    """Parse the id of an e-graph frame; None for another kind of id."""
    found = _FRAME.fullmatch(ref)
    if found is None:
        return None
    return FrameRef(found["candidate"], found["tensor"] or GOAL, int(found["number"] or 0), found["eclass"] or "")


def eclass_ref(ref: str) -> EClassRef | None:
    """Parse the id of an e-class; None for another kind of id."""
    found = _ECLASS.fullmatch(ref)
    return EClassRef(found["candidate"] or "", found["name"]) if found else None


def eclass_id(candidate: str, name: str) -> str:
    """The id of an e-class, from its name in events."""
    return f"{candidate}/{name}"


def names_graph(ref: str) -> bool:
    """Whether an id is that of a family or candidate, existing or not."""
    return _GRAPH.fullmatch(ref) is not None


def is_of_program(name: str) -> bool:
    """Whether a tensor name of an e-class or lemma is that of a tensor of the program."""
    return name.startswith(PROGRAM)


def member_ref(owner: str, name: str) -> str:
    """The id of a tensor that an e-class or lemma of a candidate names, or of a tensor of a family."""
    return f"{owner}/{name}@0" if name.startswith(GOAL) else f"{owner}/{name}"


def lemma_ref(subject: str) -> str:
    """The id for the subject of a saturation event: a candidate, or a candidate and the tensor of a lemma."""
    candidate, _, tensor = subject.replace(" ", "/").partition("/")
    return member_ref(candidate, tensor) if tensor else candidate


def short_name(name: str) -> str:
    """A tensor name as it is shown, such as %4 or k3.b7."""
    return name.removeprefix(PROGRAM)


def family_of(ref: str) -> str:
    """Id of the family that an id of a family, candidate, tensor or e-class begins with."""
    return owner_of(ref).split(".")[0]


def owner_of(ref: str) -> str:
    """Id of the family or candidate that an id begins with; the id itself for another kind of id."""
    return ref.split("/")[0]
