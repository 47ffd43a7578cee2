"""The proof of a verified candidate: its claim, its conditions, and the classes of equal tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import EClass, Proof
from prism_explore.support.caches import memoize
from prism_explore.verify.counterexample.case import Method
from prism_explore.verify.normal_form.forms import NormalForm, show
from prism_explore.verify.normal_form.lower_graph import Lowered

_CLASS_ID = re.compile(r"c([0-9]{1,9})")

CACHED_NAMES = 20_000
"""The number of cached class names: those of about a thousand proofs."""


class ClassNames:
    """Ids of classes of equal tensors: c1, c2, .. in order of appearance, one per printed form in a search."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        """Printed forms, by the keys of forms."""
        self._ids: dict[str, str] = {}
        """Ids of classes, by printed forms."""
        self._count = 0

    def id_of(self, text: str) -> str:
        """The id of the class with a printed form; a new one if it has none."""
        if text not in self._ids:
            self._count += 1
            self._store(text, f"c{self._count}")
        return self._ids[text]

    def name(self, form: NormalForm) -> tuple[str, str]:
        """The id and the printed form of a class; an id that was dropped from the full cache is not used again."""
        text = self._texts.get(form.key)
        if text is None:
            _drop_oldest(self._texts)
            text = self._texts[form.key] = show(form)
        return self._ids.get(text) or self.id_of(text), text

    def restore(self, classes: Iterable[tuple[str, str, tuple[str, ...]]]) -> None:
        """Restore the ids and printed forms of a saved proof."""
        for name, text, _ in classes:
            if text not in self._ids:
                if found := _CLASS_ID.fullmatch(name):  # another one is damaged: its event will not repeat
                    self._count = int(found[1])
                self._store(text, name)

    def _store(self, text: str, name: str) -> None:
        _drop_oldest(self._ids)
        self._ids[text] = name


RESULT_EQUALS = "its result equals that of {}"
"""In a claim, what is proved; the program's name is left out."""
RESULTS_EQUAL = "each of its {} results equals that of {}"
"""The same for several results; their number and the program's name are left out."""


def make_proof(
    program: TensorProgram, graph: SGraph, goal: Lowered, found: Lowered, method: Method, names: ClassNames
) -> Proof:
    """The proof that a graph equals a program whose result is equal.

    Args:
        program: the program.
        graph: the candidate's graph.
        goal: the forms of the program.
        found: the forms of the graph.
        method: the method of proof.
        names: the ids of classes.
    """
    sizes = dict.fromkeys((*graph.conditions(), *program.graph.conditions()))
    conditions = tuple(str(d) for d in sizes if str(d) not in d.symbols)
    symbols = sorted({*graph.data_symbols, *graph.parameters})
    assumed = tuple(dict.fromkeys((*goal.assumptions, *found.assumptions)))
    claim = f"for all positive integers {', '.join(symbols)}" if symbols else "for its one choice of sizes"
    if conditions:
        kind = "a positive integer" if len(conditions) == 1 else "positive integers"
        claim += f" that make {' and '.join(conditions)} {kind}"
    claim += f", and for all real inputs, {RESULT_EQUALS.format(program.name)}, in real arithmetic with x/0 = 0"
    claim = "; ".join((claim, *assumed))
    return Proof(method, claim, (*conditions, *assumed), _classes(program, graph, goal, found, names))


def join_proofs(program: TensorProgram, proofs: Sequence[Proof]) -> Proof:
    """The proof that all results are equal, from one proof per result.

    Args:
        program: the program, with all of its results.
        proofs: per result in order, of the same graph.
    """
    hardest = max(proofs, key=lambda p: get_args(Method).index(p.method)).method
    conditions = tuple(dict.fromkeys(c for p in proofs for c in p.conditions))
    members: dict[tuple[str, str], dict[str, None]] = {}
    for proof in proofs:
        for c in proof.classes:
            members.setdefault((c.id, c.term), {}).update(dict.fromkeys(c.members))
    # The proofs differ in what they assume of their own result, which follows the sentence.
    sentence, _, _ = proofs[0].claim.partition("; ")
    assumed = dict.fromkeys(a for p in proofs for a in p.claim.split("; ")[1:])
    all_equal = RESULTS_EQUAL.format(len(proofs), program.name)
    claim = "; ".join((sentence.replace(RESULT_EQUALS.format(program.name), all_equal), *assumed))
    return Proof(hardest, claim, conditions, tuple(EClass(*key, tuple(names)) for key, names in members.items()))


def _classes(
    program: TensorProgram, graph: SGraph, wanted: Lowered, found: Lowered, names: ClassNames
) -> tuple[EClass, ...]:
    """Tensors of program and candidate in groups of equal value; the two results are in one group."""
    goal, result = wanted.values[program.graph.output], found.values[graph.output]
    groups: dict[str, tuple[NormalForm, list[str]]] = {}

    def add(members: Sequence[str], forms: Sequence[NormalForm]) -> None:
        for member, form in zip(members, forms, strict=True):
            if form.key == result.key:
                form = goal
            group = groups.get(form.key)
            if group is None:
                groups[form.key] = form, [member]
            else:
                group[1].append(member)

    add(_members("program.%", len(wanted.values)), wanted.values)
    for n, form in enumerate(found.values):
        add((f"k{n}",), (form,))
        if n in found.blocks:
            add(_members(f"k{n}.b", len(found.blocks[n])), found.blocks[n])
    return tuple([EClass(*names.name(form), tuple(members)) for form, members in groups.values()])


@memoize(512)
def _members(prefix: str, count: int) -> tuple[str, ...]:
    """The names of `count` tensors of one graph."""
    return tuple(f"{prefix}{n}" for n in range(count))


def _drop_oldest(cache: dict[str, str]) -> None:
    if len(cache) >= CACHED_NAMES:
        del cache[next(iter(cache))]
