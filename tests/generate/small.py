"""Small programs made at random, each with a space that is small enough to be searched without any rule."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from prism_explore.cost.roofline import time_bound_of, time_to_beat_of
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateRejected, RegionPruned
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.program_count import ProgramCounts
from prism_explore.generate.pruning.facts import ProgramFacts
from prism_explore.instantiate import instantiate
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Binary, MatMul, Reduce, Unary
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Accumulator, Operators, Space
from prism_explore.pipeline.stages import Candidate, Verified
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import legal_sizes
from prism_explore.tune.space.time_model import model_of
from prism_explore.verify.prover import Prover
from tests.tune.toys import TOY

MOST = 8_000
"""Graphs of a space, any operator on any operands."""
MACHINES = (TOY, TOY, TOY, TOY.replace(shared_memory_bytes=48), TOY.replace(shared_memory_bytes=24))
"""Some have so little memory that it matters."""
SHAPES = {"b": 4}


@dataclass(frozen=True)
class Small:
    """A program, a space that holds it, and a machine."""

    program: TensorProgram
    space: Space
    machine: Target


def small(seed: int) -> Small | None:
    """The program of a seed: 2 to 4 operators over 2 or 3 inputs; None where the seed gives none or a large space."""
    rng = random.Random(seed)
    b = ProgramBuilder(f"small_{seed}")
    shapes = {"x": ("b", 4), "y": ("b", 4), "g": (4,), "w": (4, 6), "c": ("b", 1), "h": (6,)}
    names = ["x", *rng.sample(["y", "g", "w", "c", "h"], rng.choice((1, 1, 2)))]
    tensors = [b.input(name, *shapes[name]) for name in names]
    unused = list(tensors)
    kinds = ("unary", "mul", "add", "div", "matmul", "matmul", "reduce")
    for _ in range(rng.randint(2, 4)):
        kind = rng.choice(kinds)
        left = rng.choice(unused) if unused else tensors[-1]
        right = rng.choice(tensors)
        try:
            if kind == "unary":
                made, used = b.unary(rng.choice(("exp", "exp", "square", "silu")), left), (left,)
            elif kind == "reduce":
                made, used = (
                    b.reduce(rng.choice(("sum", "sum", "mean", "rms")), left, b.type_of(left).rank - 1),
                    (left,),
                )
            elif kind == "matmul":
                made, used = b.matmul(left, right), (left, right)
            elif kind != "div" or left != right:
                made, used = b.binary(kind, left, right), (left, right)
            else:
                continue
        except ShapeError:
            continue
        unused = [t for t in unused if t not in used] + [made]
        tensors.append(made)
    nodes = len(tensors) - len(names)
    if len(unused) != 1 or not 2 <= nodes <= 4 or b.type_of(unused[0]).rank != 2:
        return None
    program = b.build(unused[0])
    return fitting(program, rng.choice(MACHINES), nodes)


def fitting(program: TensorProgram, machine: Target, ops: int) -> Small | None:
    """With the program's own operators, and as many more than it has itself as keep the space small."""
    nodes = [n.op for n in program.graph.nodes]
    unary = tuple(dict.fromkeys(op.fn for op in nodes if isinstance(op, Unary)))
    binary = tuple(dict.fromkeys(op.fn for op in nodes if isinstance(op, Binary)))
    reduced = tuple(dict.fromkeys(op.fn for op in nodes if isinstance(op, Reduce)))
    product = any(isinstance(op, MatMul) for op in nodes)
    folded: tuple[Accumulator, ...] = ("plain", *reduced) if product or "sum" in reduced else reduced  # type: ignore[assignment]
    operators = Operators(unary, (), binary, product, reduced, folded)
    best = None
    for more in range(3):
        given = len(program.inputs)
        space = Space(Operators(), operators, block_ops=given + ops + more, block_inputs=given, nodes=10**9)
        facts = ProgramFacts(program, space, machine)
        whole = ProgramCounts(facts.kernel_operators, facts.block_operators, space).extensions(facts.start(""))
        if whole > MOST:
            break
        best = Small(program, space, machine)
    return best


# ---------------------------------------------------------------- searching
@dataclass
class Found:
    """What a search proved."""

    proved: dict[int, str]
    """Per family, by its number in a table that all searches of a program share, its text."""
    best_s: float
    """The least modelled time of a proved candidate at any legal numbers."""
    least_s: float
    """The least bound of a proved candidate; no kernel of it is below, whatever its numbers."""
    nodes: int
    rules: Counter[str]
    """What was cut, by rule; the choices of maps, too."""


@dataclass
class Searcher:
    """Searches one program again and again; what was decided once is remembered."""

    small: Small
    table: ExpressionNumbers = field(default_factory=ExpressionNumbers)
    right: dict[int, bool] = field(default_factory=dict)
    """Per family, whether it computes the program on one block in one iteration; if not, no maps help it."""
    times: dict[tuple[int, tuple[str, ...]], float] = field(default_factory=dict)
    """Per family and choice of maps, its modelled time; infinite where it is not proved."""
    floors: dict[tuple[int, tuple[str, ...]], float] = field(default_factory=dict)
    """Likewise, the bound of those that are proved."""

    def __post_init__(self) -> None:
        self.prover = Prover(self.small.program)

    def search(self, rules_off: Iterable[str] = (), beat_s: float | None = None) -> Found:
        """Grow, choose maps, prove and model, with some rules off; and below a time, where one is to be beaten."""
        small, journal = self.small, Journal(clock=lambda: 0.0)
        space = replace(small.space, rules_off=frozenset(rules_off))
        time_to_beat = time_to_beat_of(small.program, beat_s, SHAPES, small.machine)
        proved: dict[int, str] = {}
        best_s = least_s = math.inf
        for family in generate(small.program, space, small.machine, journal, time_to_beat=time_to_beat):
            if family is None:
                continue
            value = self.table.number_graph(family.sgraph)
            if self.right.get(value) is False:
                continue
            for candidate in instantiate(family, space, small.machine, journal):
                if value not in self.right:
                    self.right[value] = agrees(small.program, candidate)
                    if not self.right[value]:
                        break
                key = (value, tuple(str(u) for uses in candidate.uses for u in uses))
                time_s = self._time_s(key, candidate)
                if time_s < math.inf:
                    proved.setdefault(value, show(family.sgraph))
                    best_s, least_s = min(best_s, time_s), min(least_s, self.floors[key])
        book = ledger(journal.events)
        assert book.space_breakdown is not None and book.space_breakdown.adds_up
        reasons = (e.reason.rule for e in journal.events if isinstance(e, RegionPruned | CandidateRejected))
        return Found(proved, best_s, least_s, book.funnel.expanded, Counter(reasons))

    def _time_s(self, key: tuple[int, tuple[str, ...]], candidate: Candidate) -> float:
        if key not in self.times:
            verdict = self.prover.verify(candidate, Journal(clock=lambda: 0.0), 0)
            time_s = math.inf
            if isinstance(verdict, Verified):
                model = model_of(candidate, SHAPES, self.small.machine)
                sizes = legal_sizes(candidate, SHAPES, self.small.machine)
                time_s = min((model.estimate(dict(s)).time_s for s in sizes), default=1e9)
                self.floors[key] = time_bound_of(candidate, SHAPES, self.small.machine).time_s
            self.times[key] = time_s
        return self.times[key]


def agrees(program: TensorProgram, candidate: Candidate) -> bool:
    """Whether a candidate computes the program where nothing is cut."""
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.uniform(0.5, 1.5, [d.value(SHAPES) for d in i.type.dims]) for i in program.inputs}
    sizes = dict.fromkeys(candidate.sgraph.parameters, 1)
    with np.errstate(all="ignore"):
        return np.allclose(evaluate(program, inputs), evaluate(candidate.sgraph, inputs, sizes), rtol=1e-7, atol=1e-9)


def programs(count: int) -> list[int]:
    """Seeds of the first so many different programs."""
    seeds: dict[str, int] = {}
    seed = 0
    while len(seeds) < count:
        if found := small(seed):
            seeds.setdefault(show(found.program).partition("\n")[2], seed)
        seed += 1
    return list(seeds.values())
