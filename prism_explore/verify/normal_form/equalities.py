"""Equal tensors of program and candidate, as data to be shown, for every verdict.

    found = equalities(program, candidate.sgraph)
    found.classes                    tensors of both sides in groups of one normal form
    found.tiles                      block tensors that are tiles of such a tensor
    found.disagreement               the first tensors that differ, if nothing proves the results equal
    found.lemma("k3.b5").frames      the e-graph of one tensor's lemma, frame by frame
    found.lemma("goal").frames       the same for the two results
    found.lemma("goal").frames[-1].to_json()      in egglog's serialization format

Names. A tensor is program.%5, k3 (kernel level) or k3.b7 (block level of the custom kernel k3). A class of tensors
is c1, c2, ... in order of appearance, or has the id that a proof gave it. `egraph.frames` names the nodes of an
e-graph: the same candidate gives the same ids in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph, Custom, Input, Load, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show_node
from prism_explore.ir.transforms.lookups_as_inputs import lookups_as_inputs
from prism_explore.pipeline.stages import EClass, Verified
from prism_explore.verify.certificate.certify import Obligation, tensors_to_prove
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.saturation import replay_problem, search_problem
from prism_explore.verify.egraph.client import shared_client
from prism_explore.verify.egraph.frames import Growth, make_frames
from prism_explore.verify.egraph.limits import Limits, NotStated
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.cut_points import find_equal_forms
from prism_explore.verify.normal_form.forms import NormalForm, show
from prism_explore.verify.normal_form.index import LOOP, Index, digit, grid_index, position, var
from prism_explore.verify.normal_form.lower_graph import Lowered, lower

SHOWN = Limits(iterations=8, nodes=2_000, seconds=10.0)
"""Limits of an e-graph that is grown for display."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A block tensor that is, block by block, a part of a kernel-level tensor."""

    tensor: str
    """Such as k3.b7."""
    of: str
    """The class of the full tensor, such as c4."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Per side, the first tensor on the way to the result that has no equal on the other side."""

    program: str
    """Such as program.%3; empty where the candidate has all of the program's tensors."""
    program_operation: str
    candidate: str
    """Such as k2.b4; empty where the program has all of the candidate's tensors."""
    candidate_operation: str
    reason: str = ""
    """Why a side has no normal form; empty where both have one."""

    def __str__(self) -> str:
        if self.reason:
            return f"the candidate has no normal form: {self.reason}"
        sides = ((self.program, self.program_operation), (self.candidate, self.candidate_operation))
        tensors = [f"{tensor} = {operation}" for tensor, operation in sides if tensor]
        return (
            f"the first that the other side lacks: {'; '.join(tensors)}" if tensors else "every tensor is on both sides"
        )


@dataclass(frozen=True)
class Equalities:
    """The equal tensors of one candidate and its program."""

    candidate: str
    classes: tuple[EClass, ...]
    tiles: tuple[Tile, ...]
    disagreement: Disagreement | None
    """None where the two results are in one class."""
    program: TensorProgram = field(repr=False)
    sgraph: SGraph = field(repr=False)

    @property
    def shared(self) -> tuple[EClass, ...]:
        """Classes with tensors of both sides."""
        return tuple(c for c in self.classes if len({_of_program(m) for m in c.members}) == 2)

    @property
    def frontier(self) -> tuple[EClass, ...]:
        """The last shared classes: no other class of both sides depends on them.

        A tile counts as the tensor that it is a part of.
        """
        tiles: dict[str, list[str]] = {}
        for tile in self.tiles:
            tiles.setdefault(tile.of, []).append(tile.tensor)
        full = [c._replace(members=(*c.members, *tiles.get(c.id, ()))) for c in self.classes]
        both = {c.id for c in full if len({_of_program(m) for m in c.members}) == 2}
        of = {m: c.id for c in full for m in c.members}
        used: set[str] = set()
        for graph, prefix in ((self.program.graph, "program.%"), (self.sgraph, "k")):
            for tensor, (operands, _) in _tensors(graph, prefix):
                if of.get(tensor) in both:
                    used.update(of[a] for a in operands if a in of and of[a] != of[tensor])
        return tuple(c for c in full if c.id in both - used)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Every tensor that has a lemma, in order; none where a side has no normal form.

        The last is `goal`, followed by `goal1` and so on for further results.
        """
        return () if isinstance(self._to_prove, NoNormalForm) else tuple(self._to_prove)

    @cached_property
    def _to_prove(self) -> Mapping[str, Callable[[], Obligation]] | NoNormalForm:
        """Per tensor with a lemma, a function that states its obligation once; or why there are none."""
        try:
            program = replace(self.program, graph=lookups_as_inputs(self.program.graph))
            to_prove = tensors_to_prove(program, lookups_as_inputs(self.sgraph))
        except NoNormalForm as stuck:
            return stuck
        return {tensor: cache(state) for tensor, state in to_prove.items()}

    def lemma(self, tensor: str = "goal", limits: Limits = SHOWN, *, searched: bool = False) -> Growth:
        """The e-graph of a tensor's lemma, from its initial terms until both sides are equal or it is saturated.

        The lemma states that the operator, applied to its operands' normal forms, gives the tensor's; `goal` states
        that the two results are equal. As in a certificate, the e-graph starts with the terms of a derivation, and
        axioms only merge classes. Without a derivation, or with `searched`, axioms also add terms. egglog runs in a
        process of its own, within the limits.

        Args:
            tensor: one of `tensors`.
            limits: of egglog: steps, terms, memory and time.
            searched: whether axioms also add terms, though there is a derivation.

        Returns:
            The steps of the e-graph, and why it stopped.

        Raises:
            KeyError: there is no such tensor.
        """
        if isinstance(self._to_prove, NoNormalForm):
            return Growth(tensor, "", "", NotStated(self._to_prove.limit), ())
        if tensor not in self._to_prove:
            raise KeyError(f"no lemma of {tensor!r}; there are {', '.join(self.tensors)}")
        obligation = self._to_prove[tensor]()
        if obligation.statement is None:
            return Growth(tensor, obligation.operation, obligation.value, NotStated(obligation.failure), ())
        found = None if searched or obligation.statement.is_trivial else derive(obligation.statement)
        with shared_client(limits.memory_bytes) as client:
            if found is not None:
                stop, steps = client.trace(replay_problem(found), limits, found.axioms, unite_only=True)
            else:
                stop, steps = client.trace(search_problem(obligation.statement), limits)
        return Growth(tensor, obligation.operation, obligation.value, stop, make_frames(steps))

    def derivation(self, tensor: str) -> str:
        """The lemma of a tensor as a text with the steps of a derivation; empty where there is no lemma or derivation.

        It is what a certificate has; nothing has replayed it.

        Args:
            tensor: one of `tensors`.

        Returns:
            The text, in the notation of certificates.
        """
        if isinstance(self._to_prove, NoNormalForm) or tensor not in self._to_prove:
            return ""
        stated = self._to_prove[tensor]().statement
        if stated is None:
            return ""
        found = None if stated.is_trivial else derive(stated)
        return stated.text if stated.is_trivial else "" if found is None else found.text

    def text(self) -> str:
        """The classes with their tensors, and the first tensors that differ.

        Returns:
            The text.
        """
        tiles: dict[str, list[str]] = {}
        for tile in self.tiles:
            tiles.setdefault(tile.of, []).append(tile.tensor)
        lines = [f"{self.candidate}: {len(self.classes)} classes of equal tensors, {len(self.shared)} with both sides"]
        for c in self.classes:
            own = [m.removeprefix("program.") for m in c.members if _of_program(m)]
            other = [m for m in c.members if not _of_program(m)]
            parts = [f"program {', '.join(own)}"] if own else []
            parts += [f"candidate {', '.join(other)}"] if other else []
            parts += [f"tiles {', '.join(tiles[c.id])}"] if c.id in tiles else []
            lines += [f"{c.id} = {c.term}", f"    {'; '.join(parts)}"]
        lines.append("the results are equal" if self.disagreement is None else str(self.disagreement))
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Classes, tiles and the disagreement as a JSON object; for e-graphs, see `Frame.to_json`.

        Returns:
            The object.
        """
        difference = self.disagreement
        return {
            "candidate": self.candidate,
            "classes": [{"id": c.id, "term": c.term, "members": list(c.members)} for c in self.classes],
            "tiles": [{"tensor": t.tensor, "of": t.of} for t in self.tiles],
            "disagreement": None
            if difference is None
            else {"program": difference.program, "candidate": difference.candidate, "reason": difference.reason},
        }


def equalities(
    program: TensorProgram,
    sgraph: SGraph,
    candidate: str = "",
    classes: tuple[EClass, ...] = (),
) -> Equalities:
    """The equal tensors of a program and a candidate, for any verdict.

    Graphs whose forms are too long are cut at shared tensors, if they have any; there a tensor's form is a name.

    Args:
        program: the program that the candidate should equal.
        sgraph: the candidate's graph, with closed maps.
        candidate: its id, for display.
        classes: those of a proof; without them tensors are grouped by normal form.
    """
    algebra = Algebra()
    side = "the program: "
    try:
        wanted = lower(program.graph, algebra)
        algebra.restart()
        side = ""
        found = lower(sgraph, algebra)
    except NoNormalForm as stuck:
        shared = find_equal_forms(program.graph, sgraph, algebra.budget, without_cuts=False)
        if shared is None:
            return _without_forms(program, sgraph, candidate, f"{side}{stuck.limit}")
        wanted, found = shared
        algebra.restart()
    return compare_lowered(program, sgraph, wanted, found, algebra, candidate, classes)


def compare_lowered(
    program: TensorProgram,
    sgraph: SGraph,
    wanted: Lowered,
    found: Lowered,
    algebra: Algebra,
    candidate: str = "",
    classes: tuple[EClass, ...] = (),
) -> Equalities:
    """The equal tensors of two graphs that an algebra has lowered."""
    class_of = {m: c.id for c in classes for m in c.members}
    forms = dict(_named_forms(wanted, found))
    if not classes:
        classes = _group_by_form(forms)
        class_of = {m: c.id for c in classes for m in c.members}
    full_tensors = {forms[m].key: c.id for c in classes for m in c.members if "." not in m.removeprefix("program.")}
    tiles = tuple(_tiles(sgraph, found, full_tensors, class_of, algebra))
    goals = [class_of.get(f"program.%{n}") for n in program.graph.outputs]
    equal = None not in goals and goals == [class_of.get(f"k{n}") for n in sgraph.outputs]
    difference = None if equal else _first_difference(program, sgraph, classes, tiles)
    return Equalities(candidate, classes, tiles, difference, program, sgraph)


def of_verified(verified: Verified) -> Equalities:
    """The equal tensors of a proof, with the proof's ids."""
    candidate, proof = verified.candidate, verified.proof
    return equalities(candidate.family.program, candidate.sgraph, candidate.id, proof.classes)


def _without_forms(program: TensorProgram, sgraph: SGraph, candidate: str, reason: str) -> Equalities:
    return Equalities(candidate, (), (), Disagreement("", "", "", "", reason), program, sgraph)


def _of_program(member: str) -> bool:
    return member.startswith("program.")


def _named_forms(wanted: Lowered, found: Lowered) -> Iterator[tuple[str, NormalForm]]:
    for n, form in enumerate(wanted.values):
        yield f"program.%{n}", form
    for n, form in enumerate(found.values):
        yield f"k{n}", form
        for m, inner in enumerate(found.blocks.get(n, ())):
            yield f"k{n}.b{m}", inner


def _group_by_form(forms: Mapping[str, NormalForm]) -> tuple[EClass, ...]:
    groups: dict[str, tuple[NormalForm, list[str]]] = {}
    for member, form in forms.items():
        groups.setdefault(form.key, (form, []))[1].append(member)
    return tuple(EClass(f"c{n}", show(form), tuple(all_)) for n, (form, all_) in enumerate(groups.values(), 1))


# ---------------------------------------------------------------- tiles
def _tiles(
    sgraph: SGraph, found: Lowered, full_tensors: Mapping[str, str], class_of: Mapping[str, str], algebra: Algebra
) -> Iterator[Tile]:
    types = sgraph.types()
    for n, block in sgraph.customs:
        operands = tuple(types[a] for a in sgraph.nodes[n].args)
        tiles = block_types(block, operands)
        for m, form in enumerate(found.blocks[n]):
            tensor = f"k{n}.b{m}"
            if isinstance(block.nodes[m].op, Store):
                continue
            for full in _full_tensors(block, form, tiles[m].dims, algebra):
                of = full_tensors.get(full.key)
                if of is not None and of != class_of[tensor]:
                    yield Tile(tensor, of)
                    break


def _full_tensors(block: BlockGraph, form: NormalForm, tile: tuple[Dim, ...], algebra: Algebra) -> Iterator[NormalForm]:
    """The full tensors of which a form may be a tile: one for every assignment of blocks and iterations to dims."""
    cuts = [(grid_index(g), p.size) for g, p in enumerate(block.grid)]
    cuts += [(LOOP, block.loop.size)] if block.loop is not None else []
    shared = [(name, size) for name, size in cuts if name in form.free]
    for where in product(range(len(tile)), repeat=len(shared)):
        by: dict[str, Index] = {}
        for d in set(where):
            along = [cut for cut, at in zip(shared, where, strict=True) if at == d]
            size = tile[d]
            for _, times in along:
                size = size * times
            here, before, after = var(position(d), size), ONE, size
            for name, times in along:
                after = after / times
                by[name] = digit(here, before, times, after)
                before = before * times
            by[position(d)] = digit(here, before, tile[d], ONE)
        try:
            yield algebra.substitute(form, by)
        except NoNormalForm:
            return


# ---------------------------------------------------------------- the first difference
def _first_difference(
    program: TensorProgram, sgraph: SGraph, classes: tuple[EClass, ...], tiles: tuple[Tile, ...]
) -> Disagreement:
    part_of: dict[str, list[str]] = {}
    for tile in tiles:
        part_of.setdefault(tile.of, []).append(tile.tensor)
    shared: set[str] = set()
    for c in classes:
        members = (*c.members, *part_of.get(c.id, ()))
        if len({_of_program(m) for m in members}) == 2:
            shared.update(members)
    first = _first_unshared(dict(_tensors(program.graph, "program.%")), shared)
    other = _first_unshared(dict(_tensors(sgraph, "k")), shared)
    return Disagreement(*first, *other)


def _first_unshared(tensors: Mapping[str, tuple[tuple[str, ...], str]], shared: set[str]) -> tuple[str, str]:
    """The first unshared tensor whose operands are all shared, and its operation."""
    for tensor, (operands, operation) in tensors.items():
        if tensor not in shared and all(a in shared for a in operands):
            return tensor, operation
    return next(((t, operation) for t, (_, operation) in tensors.items() if t not in shared), ("", ""))


def _tensors(graph: SGraph, prefix: str) -> Iterator[tuple[str, tuple[tuple[str, ...], str]]]:
    """Every tensor but the inputs: its operands and its operation; a custom kernel's are inside it."""
    called = {n: node.op.name for n, node in enumerate(graph.nodes) if isinstance(node.op, Input)}
    for n, node in enumerate(graph.nodes):
        operands = tuple(f"{prefix}{a}" for a in node.args)
        match node.op:
            case Input():
                continue
            case Custom(block):
                for m, inner in enumerate(block.nodes):
                    of = (operands[inner.op.operand],) if isinstance(inner.op, Load) else ()
                    if not isinstance(inner.op, Store):
                        yield (
                            f"{prefix}{n}.b{m}",
                            (of or tuple(f"{prefix}{n}.b{a}" for a in inner.args), show_node(inner)),
                        )
                last = block.nodes[block.stores[0]].args[0]
                yield f"{prefix}{n}", ((f"{prefix}{n}.b{last}",), show_node(node, called))
            case _:
                yield f"{prefix}{n}", (operands, show_node(node, called))
