"""Equivalence check of any sGraph against any program: proved, refuted, or unknown.

Method: a graph with fixed sizes is generalized to families, and the prover tries the most general family first, since a
proof of a family covers each member:

1. the family over all grid sizes, loop ranges and data extents;
2. the family over grid sizes and loop ranges, at the graph's own shapes;
3. the graph itself.

A refuted family does not refute its members: such a graph is checked with its own grid and loop, and at its own shapes
where a constant may be derived from them, such as a mean's 1/4096. Where its shapes are too large for small trials,
the graph is evaluated once at its own sizes; if it is wrong there, the family's counterexample is reported.

A decimal number in a file is read as the simple fraction whose nearest double it is: 0.041666666666666664 is read as
1/24. The claim of the proof states this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, prod
from pathlib import Path
from typing import assert_never

import numpy as np

from prism_explore.diagnose.evidence import Evidence, evidence
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CertificateReplayed
from prism_explore.frontend.mirage.generalize import generalize
from prism_explore.frontend.mirage.reader import read_mirage
from prism_explore.ir.analysis.table_inputs import drawn_numbers
from prism_explore.ir.axes import axes_of
from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.interpreter.whole_numbers import draw_for_trial
from prism_explore.ir.ops import Custom, Input, Node, Scalar
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Candidate, Family, Refuted, Unknown, Verdict, Verified
from prism_explore.verify.certificate.certify import certify as replay_certificate
from prism_explore.verify.prover import Prover
from prism_explore.verify.verdict_events import verdict_event

MAX_ELEMENTS = 1 << 27
"""Limit for evaluation at a graph's own sizes, over all tensors: 1 GiB."""
MAX_STEPS = 1 << 18
"""Limit of operators to evaluate, over all blocks and iterations: a few seconds."""
MAX_DENOMINATOR = 1 << 20
"""Largest denominator of a fraction that a float is read as; two such fractions never have the same nearest double."""
TOLERANCE = 1e-6
"""Relative to the largest value; equal programs differ by about 1e-12 at these sizes."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A graph of a file and its verdict.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> print(px.CheckResult("twice.txt", px.check(program, program.graph).verdict).name)
        twice.txt
    """

    name: str
    """Such as `gqa_bs8[3]`."""
    verdict: Verdict
    """`Verified`, `Refuted` or `Unknown`."""

    def __str__(self) -> str:
        match self.verdict:
            case Verified(_, proof, _):
                return f"{self.name}: proved, {proof.claim}"
            case Refuted(_, counterexample):
                sizes = ", ".join(f"{s}={n}" for s, n in counterexample.sizes)
                return (
                    f"{self.name}: refuted at {sizes}, off by {counterexample.relative_error:.2g} of the largest value"
                )
            case Unknown(_, limit, _):
                return f"{self.name}: unknown, {limit}"
            case _:
                assert_never(self.verdict)


def collect_evidence(verdict: Verdict) -> Evidence:
    """The evidence for a verdict: a claim and its proof, a counterexample, or the values that both sides share.

    Args:
        verdict: of the prover, such as `px.check(f, g).verdict`.

    Returns:
        The evidence; `str` gives it as text.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> evidence = px.collect_evidence(px.check(program, program.graph).verdict)
        >>> str(evidence).splitlines()[0]
        'f1.c1 proved'
    """
    return _evidence(verdict, None)


def certify(verdict: Verdict) -> Evidence:
    """The evidence for a verdict, with every lemma of a proof replayed in egglog; takes seconds.

    Args:
        verdict: of the prover, such as `px.check(f, g).verdict`.

    Returns:
        The evidence, with the certificate where the verdict is a proof.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> evidence = px.certify(px.check(program, program.graph).verdict)
        >>> "egglog replayed 3 of 3 lemmas" in str(evidence)
        True
    """
    journal = Journal()
    if isinstance(verdict, Verified):
        replay_certificate(verdict, journal)
    return _evidence(verdict, next((e for e in journal.events if isinstance(e, CertificateReplayed)), None))


def _evidence(verdict: Verdict, certificate: CertificateReplayed | None) -> Evidence:
    candidate = verdict.candidate
    return evidence(verdict_event(verdict), candidate.family.program, show(candidate.sgraph), certificate, where="")


def check_mirage(
    path: str | Path,
    program: TensorProgram,
    *,
    skip: bool = False,
    constants: Mapping[str, float | str] | None = None,
    seed: int = 0,
    journal: Journal | None = None,
) -> tuple[CheckResult, ...]:
    """The verdict on every graph of a file that Mirage saved; see `px.check` and `load_mirage`.

    Args:
        path: a JSON file, gzipped or not.
        program: what the results must equal.
        skip: whether a graph that cannot be read is left out, instead of an error.
        constants: values of `scalar`, `min_val` and `max_val` for files that do not have them.
        seed: for the refuter's random inputs.
        journal: where the verdicts are noted; nowhere if None.

    Returns:
        One result per graph, in the order of the file.

    Raises:
        ParseError: as `load_mirage`.
        UnsupportedOperator: as `load_mirage`.
        ShapeError: as `load_mirage` and `check`.

    Example:
        >>> import tempfile
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[4, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = px.save_mirage(program.graph, f"{folder}/twice.json")
        ...     [found] = px.check_mirage(path, program)
        >>> type(found.verdict).__name__
        'Verified'
    """
    checker = Checker(program, journal)
    content = read_mirage(path, skip=skip, constants=constants)
    return tuple(CheckResult(g.name, checker.check(g.sgraph, seed)) for g in content.graphs)


class Checker:
    """Checks graphs against one program; provers are reused between graphs."""

    def __init__(self, program: TensorProgram, journal: Journal | None = None) -> None:
        """`journal`: where verdicts are recorded; None records them nowhere."""
        self.program = program
        self._journal = Journal() if journal is None else journal
        self._provers: dict[TensorProgram, Prover] = {}
        self._count = 0

    def check(self, graph: SGraph, seed: int = 0) -> Verdict:
        """The verdict on a graph.

        Inputs are matched by name where the names are equal, else by position, else by dims where only one order fits.
        Symbolic dims of the program take the graph's sizes. Dtypes and layouts are the graph's: the verdict is about
        real arithmetic.

        Raises:
            ShapeError: the inputs are not the program's, maps are open, or the graph is ill-formed.
        """
        if graph.is_open:
            raise ShapeError("this graph's maps are still open; check one of its candidates")
        self._count += 1
        graph, program = fit_to_program(self.program, graph)
        read: dict[Fraction, Fraction] = {}
        graph, program = (
            with_simple_fractions(graph, read),
            replace(program, graph=with_simple_fractions(program.graph, read)),
        )
        verdict = self._check_families(program, graph, seed)
        if not read or not isinstance(verdict, Verified):
            return verdict
        readings = tuple(f"{float(number)!r} read as {meant}" for number, meant in read.items())
        proof = verdict.proof
        claim, conditions = "; ".join((proof.claim, *readings)), (*proof.conditions, *readings)
        return replace(verdict, proof=replace(proof, claim=claim, conditions=conditions))

    def _check_families(self, program: TensorProgram, graph: SGraph, seed: int) -> Verdict:
        if graph.parameters or graph.data_symbols:
            return self._verdict(program, graph, seed)
        found: list[Verdict] = []
        other_extents: Refuted | None = None
        for general_program, family, member in _families(program, graph):
            verdict = self._verdict(general_program, family, seed)
            if isinstance(verdict, Refuted) and member != family:
                own = self._verdict(general_program, member, seed)
                verdict = verdict if isinstance(own, Unknown) and differs_at_own_sizes(program, graph, seed) else own
            tied = general_program != program and self._prover(program).refuter.constant_may_be_extent(graph)
            if isinstance(verdict, Refuted) and tied:
                other_extents = verdict
                continue
            if not isinstance(verdict, Unknown):
                return verdict
            found.append(verdict)
        return other_extents if other_extents is not None and differs_at_own_sizes(program, graph, seed) else found[-1]

    def _verdict(self, program: TensorProgram, graph: SGraph, seed: int) -> Verdict:
        name = f"f{self._count}"
        candidate = Candidate(f"{name}.c1", Family(name, program, graph), graph, (), graph.conditions())
        return self._prover(program).verify(candidate, self._journal, seed)

    def _prover(self, program: TensorProgram) -> Prover:
        if program not in self._provers:
            # A graph that differs at small sizes may be equal at its own, where a constant names one of them.
            self._provers[program] = Prover(program, audit_interval=1, at_own_sizes=True)
        return self._provers[program]


def with_simple_fractions(graph: SGraph, read: dict[Fraction, Fraction]) -> SGraph:
    """The graph with doubles replaced by simple fractions that round to them; replacements are added to `read`."""

    def meant(nodes: Sequence[Node]) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in nodes:
            op = node.op
            if isinstance(op, Custom):
                op = Custom(replace(op.block, nodes=meant(op.block.nodes)))
            elif isinstance(op, Scalar):
                simple = op.value.limit_denominator(MAX_DENOMINATOR)
                if simple != op.value and float(simple) == float(op.value):
                    read[op.value] = simple
                    op = replace(op, value=simple)
            made.append(replace(node, op=op))
        return tuple(made)

    return replace(graph, nodes=meant(graph.nodes))


def _families(program: TensorProgram, graph: SGraph) -> list[tuple[TensorProgram, SGraph, SGraph]]:
    """Tuples (program, family, its member with the graph's own grid and loop); the most general family first."""
    out: list[tuple[TensorProgram, SGraph, SGraph]] = []
    table = axes_of(program.graph)
    data: dict[str, tuple[Dim, ...]] = {
        node.op.name: tuple(ONE if a is None else dim(a) for a in table.of[n])
        for n, node in enumerate(program.graph.nodes)
        if isinstance(node.op, Input)
    }
    try:
        general = replace(program, graph=generalize(program.graph, data).sgraph)
        family = generalize(graph, data, general.graph.output_type.dims)
    except ShapeError:
        pass
    else:
        own = {s: n for s, n in family.sizes if s in family.sgraph.parameters}
        out.append((general, family.sgraph, family.sgraph.substitute(own)))
    out.append((program, generalize(graph).sgraph, graph))
    if out[-1][1] != graph:
        out.append((program, graph, graph))
    return out


def differs_at_own_sizes(program: TensorProgram, graph: SGraph, seed: int = 0) -> bool:
    """Whether one float64 evaluation at the graph's own sizes differs; False where that is too expensive.

    Takes seconds, since the sizes are not reduced.
    """
    sizes = [t.elements.constant for side in (program.graph, graph) for t in side.types()]
    blocks = [
        prod((p.size.constant or 1 for p in block.parallel), start=len(block.nodes)) for _, block in graph.customs
    ]
    if None in sizes or sum(n or 0 for n in sizes) > MAX_ELEMENTS or sum(blocks) > MAX_STEPS:
        return False
    rng = np.random.default_rng(seed)
    inputs = {i.name: rng.uniform(-0.65, 0.75, [d.value({}) for d in i.type.dims]) for i in program.inputs}
    inputs |= {
        name: draw_for_trial(rng, inputs[name].shape, dtype)
        for name, dtype in sorted(drawn_numbers(program.graph).items())
    }
    with np.errstate(all="ignore"):
        pairs = [*zip(evaluate_results(program, inputs), evaluate_results(graph, inputs), strict=True)]
    scales = [float(np.max(np.abs(expected), initial=0.0)) for expected, _ in pairs]
    return any(
        isfinite(scale) and not float(np.max(np.abs(expected - found))) <= TOLERANCE * max(scale, TOLERANCE)
        for scale, (expected, found) in zip(scales, pairs, strict=True)
    )


def fit_to_program(program: TensorProgram, graph: SGraph) -> tuple[SGraph, TensorProgram]:
    """The graph with the program's input names, and the program at the graph's sizes and dtypes.

    Raises:
        ShapeError: no assignment of inputs fits.
    """
    pairs = _pairs(program, graph)
    sizes: dict[str, int] = {}
    for own, other in pairs:
        sizes |= _sizes(own, other) or {}
    names = {other.name: own.name for own, other in pairs}
    types = {own.name: other.type for own, other in pairs}
    renamed = tuple(Node(Input(names[n.op.name], n.op.type)) if isinstance(n.op, Input) else n for n in graph.nodes)
    flat = program.graph.substitute(sizes)
    retyped = tuple(
        Node(Input(n.op.name, replace(types[n.op.name], dims=n.op.type.dims))) if isinstance(n.op, Input) else n
        for n in flat.nodes
    )
    return replace(graph, nodes=renamed), replace(program, graph=replace(flat, nodes=retyped))


def _pairs(program: TensorProgram, graph: SGraph) -> list[tuple[Input, Input]]:
    own, other = program.inputs, graph.inputs
    if len(own) == len(other):
        by_name = {i.name: i for i in other}
        if set(by_name) == {i.name for i in own}:
            other = tuple(by_name[i.name] for i in own)
        if _fit(own, other):
            return list(zip(own, other, strict=True))
        order = [[o for o in other if _sizes(i, o) is not None] for i in own]
        if all(len(choices) == 1 for choices in order):
            other = tuple(choices[0] for choices in order)
            if len(set(other)) == len(other) and _fit(own, other):
                return list(zip(own, other, strict=True))
    shown = ", ".join(f"{i.name} {i.type}" for i in graph.inputs) or "none"
    wanted = ", ".join(f"{i.name} {i.type}" for i in program.inputs)
    raise ShapeError(f"the graph has inputs {shown}; {program.name} has {wanted}; give a program of these shapes")


def _fit(own: tuple[Input, ...], other: tuple[Input, ...]) -> bool:
    sizes: dict[str, int] = {}
    for i, o in zip(own, other, strict=True):
        found = _sizes(i, o)
        if found is None or any(sizes.get(s, n) != n for s, n in found.items()):
            return False
        sizes |= found
    return True


def _sizes(own: Input, other: Input) -> dict[str, int] | None:
    """Sizes for the program's symbols that make the two input types equal; None where there are none."""
    sizes: dict[str, int] = {}
    if own.type.rank != other.type.rank:
        return None
    for a, b in zip(own.type.dims, other.type.dims, strict=True):
        if a == b:
            continue
        if str(a) not in a.symbols or b.constant is None or sizes.setdefault(str(a), b.constant) != b.constant:
            return None
    return sizes
