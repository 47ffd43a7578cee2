"""A made-up journal of any length, in the proportions of a real search; the same seed gives the same events."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from prism_explore.events.kinds import (
    BaselineMeasured,
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    CertificateReplayed,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    FamilyDominated,
    FloatsAssessed,
    IncumbentImproved,
    KernelGenerated,
    NodeExpanded,
    ParametersProposed,
    PlayedOff,
    RegionPruned,
    RivalTimed,
    SaturationStepped,
    SpaceCounted,
    Steered,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from tests.widgets.recordings import BOUNDED, GUESS, MAPS, METHODS, R1, REASONS, SLOW, STARTED

PROGRAM = """program rmsnorm_linear
  x = input f32[b, 4096]
  w = input f32[4096, 4096]
  %2 = rms(x, dim=1)
  %3 = div(x, %2)
  %4 = matmul(%3, w)
  return %4"""
DEEPEST = 14
OPERATORS = ("matmul", "mul", "square", "accum", "div", "sqrt", "add", "exp")


def made_up_search(
    events: int, seed: int = 0, regions_per_node: int = 42, nodes_per_family: int = 14, tuned_every: int = 8
) -> Iterator[Event]:
    """The first events of a search that goes on for ever; every kind of event occurs.

    Args:
        events: how many.
        seed: of all choices.
        regions_per_node: largest number of regions that are pruned below a node.
        nodes_per_family: nodes from one family to the next.
        tuned_every: so many families from one tuned family to the next.
    """
    search = _Search(random.Random(seed), regions_per_node, nodes_per_family, tuned_every)
    yield from islice(search.events(), events)


@dataclass
class _Search:
    draw: random.Random
    regions_per_node: int
    nodes_per_family: int
    tuned_every: int
    depths: list[int] = field(default_factory=lambda: [0])
    regions: int = 0
    families: int = 0
    trials: int = 0
    best_s: float = 1.0

    def events(self) -> Iterator[Event]:
        yield replace(STARTED, program=PROGRAM, shapes=(("b", 8),))
        yield RivalTimed("torch eager", 480e-6, 470e-6, 500e-6, 20)
        yield NodeExpanded("n0", "", "", "kernel")
        while True:
            node = self.node()
            yield node
            for _ in range(self.draw.randrange(self.regions_per_node + 1)):
                yield self.region(node.node)
            if self.draw.randrange(self.nodes_per_family) == 0:
                yield from self.family(node.node)

    def node(self) -> NodeExpanded:
        number = len(self.depths)
        parent = self.draw.randrange(max(0, number - self.draw.choice((3, 30, 300, number))), number)
        if self.depths[parent] >= DEEPEST:
            parent = 0
        self.depths.append(self.depths[parent] + 1)
        operator = f"{self.draw.choice(OPERATORS)}(%{number % 7}, %{number % 3})"
        return NodeExpanded(f"n{number}", f"n{parent}", operator, "block", f"x*w/√(μk x²) + {number % 97}")

    def region(self, parent: str) -> RegionPruned:
        self.regions += 1
        reason = replace(self.draw.choice(REASONS), substitution={"e": f"{self.regions % 9} > 4"})
        operator = f"{self.draw.choice(OPERATORS)}(%{self.regions % 5}, %1)"
        return RegionPruned(f"p{self.regions}", parent, operator, "block", reason, float(self.regions % 1000))

    def family(self, node: str) -> Iterator[Event]:
        self.families += 1
        family, draw = f"f{self.families}", self.draw
        candidate = f"{family}.c1"
        yield FamilyCompleted(family, node, R1)
        for _ in range(draw.randrange(6)):
            yield CandidateRejected(family, ("n<->x", "k<->x"), MAPS)
        if draw.random() < 0.1:
            return
        yield CandidateInstantiated(candidate, family, R1, ("n<->x",), ("4096/gx",))
        word = draw.choice(("proved", "proved", "unknown", "refuted"))
        classes = (("c1", "x", ("program.%0", "k0")), ("c2", "sum(k: x[b,k]*w[k,n])", ("k2.b3",)))
        yield VerdictReached(candidate, word, METHODS[word], f"{word}, as it was drawn", (), classes)  # type: ignore[arg-type]
        if word != "proved":
            return
        yield SaturationStepped(f"{candidate}/k2.b5", 1, 60, 30, {"assoc": 7})
        reasons = draw.choice(((), (), ("it overflows",)))
        yield FloatsAssessed(family, candidate, "unsafe" if reasons else "safe", "f32", "as it was drawn", reasons)
        if draw.random() < 0.2:
            by = f"f{draw.randrange(1, self.families + 1)}"
            yield FamilyDominated(family, by, GUESS, draw.random() < 0.5)
        if self.families % self.tuned_every == 0:
            yield from self.tuning(candidate)
        yield from self.steering(family)

    def tuning(self, candidate: str) -> Iterator[Event]:
        for _ in range(self.draw.randrange(1, 6)):
            self.trials += 1
            trial, numbers = f"u{self.trials}", (("gx", 2 ** self.draw.randrange(1, 8)), ("f", 8))
            yield ParametersProposed(trial, candidate, numbers, 280e-6, 250e-6)
            yield KernelGenerated(trial, candidate, "cpu", f"for (int i = 0; i < {self.trials}; i++) ...")
            if self.draw.random() < 0.2:
                yield TrialFailed(trial, candidate, numbers, SLOW)
                continue
            time_s = 300e-6 * (1 + self.draw.random())
            yield TrialMeasured(trial, candidate, numbers, time_s, 0.95 * time_s, 1.1 * time_s, 20, 3e-7)
            if time_s < self.best_s:
                self.best_s = time_s
                yield IncumbentImproved(trial, candidate, time_s)
        yield CandidateBounded(candidate, 800e-6, self.best_s, BOUNDED)
        yield PlayedOff((f"u{self.trials}",), 20)
        yield BaselineMeasured("torch eager", 500e-6, 480e-6, 520e-6, 20, ratio=1.6)
        yield CertificateReplayed(candidate, (("%4", "div", "a / b", ("sum-mul",), True, ""),))

    def steering(self, family: str) -> Iterator[Event]:
        if self.draw.random() > 0.05:
            return
        action = self.draw.choice(("accept", "reject", "prefer", "undo", "redo"))
        yield Steered(action, family, f"sess.{action}({family!r})")
        if self.draw.random() < 0.1:
            yield SpaceCounted(1e9, len(self.depths), 10.0)
            yield ExplorationFinished("budget", "")
