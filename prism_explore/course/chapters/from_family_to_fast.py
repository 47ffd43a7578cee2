"""Exercises of notebook 07: choosing sizes with few trials, and what noisy timings decide."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import product
from statistics import median
from typing import Any, TypeAlias

from prism_explore.course.chapters.one_graph_many_programs import MACHINE, figures, legal_sizes
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.targets import target
from prism_explore.tune.runner.stopping_rule import Standing, standing
from prism_explore.tune.runner.timing import ratios
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.roofline import RooflinePoint, roofline_scene, roofs_of

Sizes: TypeAlias = tuple[int, int]
"""Blocks of the grid and iterations of the loop."""

TRIALS = 16
"""Sizes that may be tried."""
RANDOM_SEARCHES = 200
SHARE = 0.95
"""Share of the random searches that ranges have to beat."""


@lru_cache(1)
def modelled_times() -> Mapping[Sizes, float]:
    """The modelled time of the linear layer's kernel on an H100 at all legal sizes. Units: s."""
    found: dict[Sizes, float] = {}
    for sizes in legal_sizes():
        time_s = figures(*sizes).costs.time_s
        assert time_s is not None, "the maps of the kernel are bound"
        found[sizes] = float(time_s)
    return found


def sizes_on_the_roofline(gx: int, f: int, shown: Sequence[Sizes]) -> Scene:
    """The roofline with one choice of sizes marked among others.

    Args:
        gx: blocks of the grid of the marked one.
        f: its iterations of the loop.
        shown: the others.
    """
    points = [_point(*sizes) for sizes in shown if sizes != (gx, f)]
    scene = roofline_scene(
        roofs_of(target(MACHINE), "f32"), [*points, _point(gx, f, marked=True)], performance="modelled"
    )
    return replace(scene, title=f"roofline, gx = {gx:,} and f = {f:,} marked")


def _point(gx: int, f: int, marked: bool = False) -> RooflinePoint:
    costs = figures(gx, f).costs
    time_s = modelled_times().get((gx, f))
    text = f"gx = {gx}, f = {f}: " + ("not legal" if time_s is None else f"{time_s * 1e6:,.0f} µs, modelled")
    speed = None if time_s is None else float(costs.flops) / time_s
    kind = "trial-best" if marked else "trial"
    return RooflinePoint(
        f"{gx} {f}", float(costs.flops / costs.memory_bytes), speed, label=text if marked else "", tip=text, kind=kind
    )


@lru_cache(1)
def random_bests() -> tuple[float, ...]:
    """The best modelled time of each of many random searches, fastest first. Units: s."""
    times = modelled_times()
    return tuple(
        sorted(min(times[s] for s in random.Random(n).sample(list(times), TRIALS)) for n in range(RANDOM_SEARCHES))
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """Times that were measured once on one machine; other machines, and other days, give others."""

    date: str
    machine: str
    how: str
    rounds: Mapping[str, Mapping[str, Sequence[float]]]
    """Per race, the times of each kernel in the same rounds. Units: µs."""

    def race(self, name: str, first: int | None = None) -> tuple[Sequence[float], Sequence[float]]:
        """The times of both kernels of a race.

        Args:
            name: of the race.
            first: how many rounds; all if None.
        """
        a, b = (times[:first] for times in self.rounds[name].values())
        return a, b


@lru_cache(1)
def recording() -> Recording:
    """Times of matrix products on a busy machine."""
    text = (files("prism_explore.course") / "recordings" / "matmul_rounds_2026-11-26.json").read_text("utf-8")
    data = json.loads(text)
    return Recording(data["date"], data["machine"], data["how"], data["rounds"])


RACES: tuple[tuple[str, int], ...] = (
    ("same code twice", 60),
    ("b reads 6 % more", 5),
    ("b reads 6 % more", 20),
    ("cold and warm", 20),
)
"""Name of the race and number of its first rounds, of the second exercise."""


def standings() -> tuple[Standing, ...]:
    """What the tuner's rule says of the second kernel of each race."""
    return tuple(standing(ratios(b, a)) for a, b in (recording().race(*race) for race in RACES))


def _by_medians() -> tuple[Standing, ...]:
    races = (recording().race(*race) for race in RACES)
    return tuple("faster" if median(b) < median(a) else "slower" for a, b in races)


def _ranges(answer: Any) -> list[Sizes]:
    if not isinstance(answer, dict) or set(answer) != {"gx", "f"}:  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(f'an answer is a dict with the keys "gx" and "f", each with a list; found {answer!r}')
    chosen: list[Sizes] = list(product(answer["gx"], answer["f"]))  # pyright: ignore[reportUnknownArgumentType]
    if not 1 <= len(chosen) <= TRIALS:
        raise PrismError(f"the ranges have 1 to {TRIALS} pairs, found {len(chosen)}")
    return chosen


def _best(answer: Any) -> float | None:
    times = modelled_times()
    return min((times[sizes] for sizes in _ranges(answer) if sizes in times), default=None)


def _judge_ranges(answer: Any) -> Judgement:
    best = _best(answer)
    if best is None:
        return Judgement(False, "none of these sizes is legal", {})
    beaten = sum(best <= other for other in random_bests())
    text = f"the best of these sizes takes {best * 1e6:,.0f} µs, modelled"
    counters = {"random searches": RANDOM_SEARCHES, "not better than yours": beaten}
    return Judgement(beaten >= SHARE * RANDOM_SEARCHES, text, counters)


def _words(answer: Any) -> list[str]:
    given = list(answer)
    if len(given) != len(RACES) or not set(given) <= {"faster", "slower", "undecided"}:
        raise PrismError(f"an answer has {len(RACES)} words out of faster, slower and undecided; found {answer!r}")
    return given


def _judge_standings(answer: Any) -> Judgement:
    given = _words(answer)
    wrong = [f"{n}" for n, (a, b) in enumerate(zip(given, standings(), strict=True), 1) if a != b]
    text = f"another answer is right for race {', '.join(wrong)}" if wrong else "so does the tuner decide"
    return Judgement(not wrong, text, {})


def _says(number: int, word: Standing) -> Callable[[Any], bool]:
    return lambda answer: answer[number - 1] == word


EXERCISES = (
    Exercise(
        "07-a",
        f"Which ranges of gx and f, with at most {TRIALS} pairs, beat 95 of 100 random searches with as many trials?",
        'a dict such as {"gx": [1, 2, 4, 8], "f": [512, 1024, 2048, 4096]}',
        _judge_ranges,
        (
            Mistake(
                {"gx": [2**n for n in range(13)], "f": [2**n for n in range(13)]},
                "That is every pair, and there are trials for 16. Which values need not be tried?",
                lambda answer: len(list(product(answer["gx"], answer["f"]))) > TRIALS,
            ),
            Mistake(
                {"gx": [1, 2], "f": [1, 2]},
                "A few blocks with a short loop have tiles larger than the shared memory.",
                lambda answer: _best(answer) is None,
            ),
            Mistake(
                {"gx": [2, 4, 8, 16], "f": [256, 512, 1024, 2048]},
                "With so few blocks most of the 132 multiprocessors have nothing to do.",
                lambda answer: _best(answer) is not None and max(answer["gx"]) < 64,
            ),
            Mistake(
                {"gx": [512, 1024, 2048, 4096], "f": [2, 4, 8, 16]},
                "So many blocks run one after the other on 132 multiprocessors, and each reads all of x again.",
                lambda answer: _best(answer) is not None and min(answer["gx"]) > 256,
            ),
            Mistake(
                {"gx": [64, 128, 256, 512], "f": [512, 1024, 2048, 4096]},
                "The blocks are as many as the machine can use. But each iteration has a cost of its own: are so many "
                "needed?",
                lambda answer: _best(answer) is not None and min(answer["f"]) > 4,
            ),
        ),
        (
            "An H100 has 132 multiprocessors. How many blocks keep all of them busy, once?",
            "The shorter the loop the better, as long as the tiles fit.",
        ),
        "prism_explore.tune.strategies.ranked tries the sizes in the order of the model, then around the best",
    ),
    Exercise(
        "07-b",
        "In each race, is the second kernel faster, slower, or is that undecided?",
        "a list of four words out of faster, slower and undecided",
        _judge_standings,
        (
            Mistake(
                list(_by_medians()),
                "These compare the medians of both. How far would they move with other rounds? See interval(ratios).",
                lambda answer: tuple(answer) == _by_medians(),
            ),
            Mistake(
                ["faster", "undecided", "slower", "faster"],
                "The first race is one kernel against itself.",
                lambda answer: _words(answer)[0] != "undecided",
            ),
            Mistake(
                ["undecided", "slower", "slower", "faster"],
                "The second kernel does do more. But five rounds do not show it: the interval is wide.",
                _says(2, "slower"),
            ),
            Mistake(
                ["undecided", "undecided", "undecided", "faster"],
                "In twenty rounds the interval of the third race is above 1.",
                _says(3, "undecided"),
            ),
        ),
        (
            "interval(ratios) has the ends of a confidence interval for the median ratio.",
            "Decided is what has 1 outside of its interval.",
        ),
        "prism_explore.tune.runner.stopping_rule decides how many rounds a race runs",
    ),
)
