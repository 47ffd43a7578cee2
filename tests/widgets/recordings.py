"""Made-up journals for tests: the events of a search, without a search."""

from __future__ import annotations

import random

from prism_explore.events.kinds import (
    BaselineMeasured,
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    Event,
    ExplorationFinished,
    ExplorationStarted,
    FamilyCompleted,
    IncumbentImproved,
    NodeExpanded,
    ParametersProposed,
    Reason,
    RegionPruned,
    SaturationStepped,
    Steered,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)

R1 = """sgraph
  x = input f32[b, 4096]
  w = input f32[4096, 4096]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = div(%3, %4)
    %6 = store(%5, omap=[1])
  return %2"""

UNREACHABLE = Reason(
    "expr.unreachable", "generate", "sound", "sub-expression", "no way from here to the program's result"
)
DUPLICATE = Reason("dup.canonical", "generate", "sound", "canonical order", "the same graph was grown before")
SHAPE = Reason("shape.mismatch", "generate", "sound", "dims", "the operands do not fit")
MEMORY = Reason("mem.smem", "generate", "sound", "shared memory", "more shared memory than the target has")
GUESS = Reason("dominated.by", "generate", "heuristic", "rule of thumb", "graphs like this one were never fast")
BUDGET = Reason("budget.nodes", "generate", "budget", "node budget", "the node budget was spent")
MAPS = Reason("map.constraint", "instantiate", "sound", "one cut per dim", "two grid dims cut one dim")
BOUNDED = Reason("cost.floor", "tune", "heuristic", "cost.floor", "its bound is above the best time")
SLOW = Reason("tune.crash", "tune", "sound", "run in a process of its own", "the kernel crashed")

REASONS = (UNREACHABLE, UNREACHABLE, UNREACHABLE, DUPLICATE, DUPLICATE, SHAPE, MEMORY, GUESS, BUDGET)
STARTED = ExplorationStarted(
    "program rmsnorm_linear", "cpu", 0, {"kernels": "1", "block operators": "9"}, (("b", "b"), ("d", "4096"))
)

METHODS = {"proved": "normal form", "refuted": "counterexample", "unknown": ""}


def story() -> tuple[Event, ...]:
    """A small search from start to end: three families, one proved and timed, one unknown, one refuted."""
    events: list[Event] = [STARTED]
    events += [NodeExpanded(f"n{i}", f"n{i - 1}" if i else "", f"matmul(%{i}, %1)", "block", f"e{i}") for i in range(5)]
    events += [RegionPruned(f"p{i}", f"n{i % 5}", f"exp(%{i})", "block", REASONS[i % 7], 10.0) for i in range(14)]
    events.append(RegionPruned("p14", "n2", "mul(%0, %0)", "block", BUDGET, 4.0))
    for f, word in (("f1", "proved"), ("f2", "unknown"), ("f3", "refuted")):
        events.append(FamilyCompleted(f, "n4", R1))
        events.append(CandidateInstantiated(f"{f}.c1", f, R1, ("n<->x", "k<->i"), ("4096/gx",)))
        events.append(CandidateRejected(f, ("n<->x", "k<->x"), MAPS))
        classes = (
            ("c1", "x", ("program.%0", "k0")),
            ("c2", "sum(k: x[b,k]*w[k,n])", ("k2.b3",)),
            ("c3", "sum(k: x[b,k]*w[k,n]) / rms(k: x[b,k])", ("program.%4", "k2", "k2.b5")),
        )
        events.append(VerdictReached(f"{f}.c1", word, METHODS[word], f"{word}, as the story goes", (), classes))  # type: ignore[arg-type]
    events.append(CandidateInstantiated("f1.c2", "f1", R1, ("n<->whole",), ()))
    events.append(VerdictReached("f1.c2", "proved", "normal form", "equal for all sizes"))
    events += tuning()
    events += [
        Steered("reject", "f3", "sess.reject('f3')"),
        Steered("reject", "f2", "sess.reject('f2')"),
        Steered("undo", "f2", "sess.undo()"),
        Steered("accept", "f1", "sess.accept('f1')"),
        BaselineMeasured("torch eager", 500e-6, 480e-6, 520e-6, 20),
        BaselineMeasured("torch.compile", 420e-6, 410e-6, 450e-6, 20),
        ExplorationFinished("exhausted", ""),
    ]
    return tuple(events)


def tuning(trials: int = 12, seed: int = 0) -> list[Event]:
    """Trials of f1.c1, every fifth one failing, and a candidate that its bound rules out."""
    draw = random.Random(seed)
    events: list[Event] = []
    best = float("inf")
    for i in range(1, trials + 1):
        numbers = (("gx", 2**i), ("f", 8))
        events.append(ParametersProposed(f"u{i}", "f1.c1", numbers, 280e-6, 250e-6))
        if i % 5 == 0:
            events.append(TrialFailed(f"u{i}", "f1.c1", numbers, SLOW))
            continue
        t = 300e-6 * (1 + 2 * draw.random() / i)
        events.append(TrialMeasured(f"u{i}", "f1.c1", numbers, t, 0.95 * t, 1.1 * t, 20, 3e-7))
        if t < best:
            best = t
            events.append(IncumbentImproved(f"u{i}", "f1.c1", t))
    events.append(CandidateBounded("f1.c2", 800e-6, best, BOUNDED))
    return events


def saturation(iterations: int = 8) -> list[Event]:
    """A saturation run that ends."""
    return [
        SaturationStepped("f1.c1/k2.b5", i, 40 * i * i + 20, 20 * i + 10, {"assoc": 7 * i, "sum-mul": 50 - 6 * i})
        for i in range(1, iterations + 1)
    ]


def large(nodes: int, cuts_per_node: int = 4, families: int = 20, seed: int = 0) -> list[Event]:
    """A search tree like those of real searches: uneven, in places deep, more pruned than kept."""
    draw = random.Random(seed)
    events: list[Event] = [STARTED, NodeExpanded("n0", "", "", "kernel")]
    region = 0
    depth = {0: 0}
    for i in range(1, nodes):
        low = max(0, i - draw.choice((3, 30, 300, i)))
        parent = draw.randrange(low, i)
        while depth[parent] > 11:
            parent = draw.randrange(0, i)
        depth[i] = depth[parent] + 1
        word = draw.choice(("matmul", "mul", "square", "accum", "div", "sqrt"))
        events.append(NodeExpanded(f"n{i}", f"n{parent}", f"{word}(%{i % 7}, %{i % 3})", "block", "x*w"))
        for _ in range(draw.randrange(0, 2 * cuts_per_node)):
            region += 1
            events.append(RegionPruned(f"p{region}", f"n{i}", f"exp(%{i % 5})", "block", draw.choice(REASONS), 3.0))
    for f in range(1, families + 1):
        events.append(FamilyCompleted(f"f{f}", f"n{draw.randrange(nodes)}", R1))
        events.append(CandidateInstantiated(f"f{f}.c1", f"f{f}", R1, (), ()))
        word = draw.choice(("proved", "unknown", "refuted"))
        events.append(VerdictReached(f"f{f}.c1", word, METHODS[word], ""))  # type: ignore[arg-type]
    return events
