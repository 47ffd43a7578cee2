"""Exercises of notebook 02: how many programs one graph stands for, and which of them are legal on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prism_explore.course.chapters.kernels_inside_kernels import COLUMNS
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.targets import target
from prism_explore.tune.space.figures import Figures, figures_of
from prism_explore.tune.space.parameters import divisors
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.roofline import RooflinePoint, roofline_chart, roofs_of

SHAPES: Mapping[str, int] = {"b": 16, "k": 4096, "m": 4096}
MACHINE = "h100"


def figures(gx: int, f: int, shapes: Mapping[str, int] = SHAPES) -> Figures:
    """The modelled figures of the linear layer's kernel on an H100.

    Args:
        gx: blocks of the grid.
        f: iterations of the loop.
        shapes: the sizes of the inputs.
    """
    return figures_of(COLUMNS, {**shapes, "gx": gx, "f": f}, target(MACHINE))


def legal_sizes(shapes: Mapping[str, int] = SHAPES) -> Iterator[tuple[int, int]]:
    """The legal pairs of blocks and iterations."""
    for gx in divisors(shapes["m"]):
        for f in divisors(shapes["k"]):
            if figures(gx, f, shapes).is_legal:
                yield gx, f


def roofline_at(gx: int, f: int, reach: Sequence[tuple[int, int]]) -> Scene:
    """The roofline of an H100 with the kernel at these sizes; a cross for sizes that do not fit.

    Args:
        gx: blocks of the grid.
        f: iterations of the loop.
        reach: other sizes that the axes reach, too, so that they stay the same.
    """
    title = f"roofline at gx = {gx:,}, f = {f:,}"
    points = [_point(*sizes) for sizes in reach]
    chart = roofline_chart(roofs_of(target(MACHINE), "f32"), [_point(gx, f)], 640, 320, "modelled", points)
    return chart.scene("roofline", title, f"{title}. {_point(gx, f).label}.")


def _point(gx: int, f: int) -> RooflinePoint:
    found = figures(gx, f)
    costs, tile = found.costs, f"tile of w: {SHAPES['k'] // f:,} x {SHAPES['m'] // gx:,}"
    time_s, intensity = costs.time_s, float(costs.flops / costs.memory_bytes)
    if not found.is_legal or time_s is None:
        return RooflinePoint("p", intensity, None, label=f"{tile}, does not fit", kind="trial-failed", outline="cross")
    text = f"{tile}, {1e6 * float(time_s):.0f} µs"
    return RooflinePoint("p", intensity, float(costs.flops / time_s), label=text, kind="trial-best", outline="diamond")


def _judge_count(answer: Any) -> Judgement:
    if not isinstance(answer, int):
        raise PrismError(f"an answer is a whole number, found {answer!r}")
    blocks, iterations = len(divisors(4100)), len(divisors(4096))
    return Judgement(
        answer == blocks * iterations,
        f"{answer:,} programs",
        {"values of gx": blocks, "values of f": iterations} if answer == blocks * iterations else {},
    )


def _tile(gx: int, f: int) -> int:
    return (SHAPES["k"] // f) * (SHAPES["m"] // gx)


def _judge_largest(answer: Any) -> Judgement:
    if not isinstance(answer, dict) or set(answer) != {"gx", "f"}:  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(f'an answer is a dict with the keys "gx" and "f", found {answer!r}')
    gx, f = int(answer["gx"]), int(answer["f"])  # pyright: ignore[reportUnknownArgumentType]
    found = figures(gx, f)
    counters = {"bytes of a block": int(found.costs.kernels[0].scratch_bytes), "bytes that there are": _memory()}
    if not found.is_legal:
        return Judgement(False, f"no legal sizes: {found.broken[0]}", counters)
    largest = max(_tile(*sizes) for sizes in legal_sizes())
    text = f"legal, with a tile of w of {_tile(gx, f):,} elements"
    return Judgement(_tile(gx, f) == largest, text, counters)


def _memory() -> int:
    return target(MACHINE).shared_memory_bytes


def _is_no_divisor(answer: Any) -> bool:
    return 4096 % answer["gx"] != 0 or 4096 % answer["f"] != 0


def _is_too_large(answer: Any) -> bool:
    return not _is_no_divisor(answer) and not figures(answer["gx"], answer["f"]).is_legal


def _is_too_small(answer: Any) -> bool:
    return figures(answer["gx"], answer["f"]).is_legal


EXERCISES = (
    Exercise(
        "02-a",
        "The layer gets 4,100 columns. If memory were no limit, how many programs would the graph stand for?",
        "a number of programs",
        _judge_count,
        (
            Mistake(169, "This is the number for 4,096 columns. Which values of gx divide 4,100?"),
            Mistake(13, "This is the number of loops alone: gx has several values, too."),
            Mistake(18, "This is the number of grids alone: f has several values, too."),
            Mistake(31, "Each value of gx goes with each value of f: the choices multiply."),
            Mistake(4096 * 4100, "Most of these have tiles that are not whole: gx divides m, and f divides k."),
        ),
        (
            "gx divides m and f divides k. Both are chosen on their own.",
            "4,100 is 2 · 2 · 5 · 5 · 41, and 4,096 is 2 to the 12th.",
        ),
        "prism_explore.tune.space.parameters enumerates the sizes of any graph",
    ),
    Exercise(
        "02-b",
        "Which legal sizes give the largest tile of w that fits the shared memory of an H100?",
        'a dict such as {"gx": 128, "f": 64}',
        _judge_largest,
        (
            Mistake({"gx": 1, "f": 1}, "A block holds its tiles of x and w in shared memory: these do not fit.",
                    _is_too_large),
            Mistake({"gx": 100, "f": 64}, "gx divides 4,096 and f divides 4,096, else a tile is not whole.",
                    _is_no_divisor),
            Mistake({"gx": 128, "f": 64}, "It fits, and a larger one does, too: go on.", _is_too_small),
        ),
        (
            "figures(gx, f).costs.kernels[0].scratch_bytes is what a block needs.",
            "The tile of x has b · k/f elements, so a longer loop makes it smaller, too.",
            "Try all pairs of divisors: there are 169.",
        ),
        "prism_explore.tune.space.figures has the conditions of every graph",
    ),
)  # fmt: skip
