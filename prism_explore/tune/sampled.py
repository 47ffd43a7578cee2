# pyright: basic
# Optuna's types are loose.
"""A strategy that learns: Optuna's samplers, asked for numbers and told the times.

Trials in the model's order come first, so the sampler begins with what is likely good. A choice is a candidate,
the place of its sizes in the model's order, so that near numbers mean sizes of like promise, and a place in
what each choice of the schedule offers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.ir.stages import Outcome, Timed
from prism_explore.tune.strategy import Entrant, Key, Point, Pool

SamplerName: TypeAlias = Literal["tpe", "gp", "random"]
"""Tree-structured Parzen estimators, a Gaussian process, uniformly random."""

SEEDED = 10
"""Trials in the model's order before the sampler is asked."""
ASKED = 20
"""Times in a row that it may propose what was tried; then the model's order has its turn."""


class Sampled:
    """Proposals by one of Optuna's samplers, seeded with the model's ranking."""

    def __init__(self, seed: int, sampler: SamplerName = "tpe") -> None:
        """Optuna is imported when it is first needed.

        Raises:
            ShapeError: no such sampler, or what it needs is not installed.
        """
        if sampler not in get_args(SamplerName):
            raise ShapeError(f"no sampler {sampler!r}; there are {', '.join(get_args(SamplerName))}")
        if sampler == "gp" and find_spec("scipy") is None:
            raise ShapeError("the sampler 'gp' needs scipy, which is not installed: pip install scipy, or take 'tpe'")
        self._seed, self._sampler = seed, sampler
        self._study: Any = None
        self._ranked: Iterator[Point] | None = None
        self._candidates: tuple[str, ...] = ()
        """All that were ever in the pool: what a sampler chooses from may not change."""
        self._asked: dict[Key, Any] = {}

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """First what the model likes, then what the sampler does; None when nothing is left."""
        self._open(pool)
        if len(self._study.trials) >= SEEDED:
            for _ in range(ASKED):
                trial = self._study.ask()
                point = self._point(trial, pool)
                if point is not None and point.key not in tried:
                    self._asked[point.key] = trial
                    return point
                self._study.tell(trial, state=_state("PRUNED"))
        assert self._ranked is not None, "opened"
        entered = {e.verified.candidate.id for e in pool.entrants}
        return next((p for p in self._ranked if p.key not in tried and p.verified.candidate.id in entered), None)

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Learn from a trial, whoever proposed it; a failure is one."""
        from optuna.distributions import CategoricalDistribution, IntDistribution
        from optuna.trial import create_trial

        self._open(pool)
        value = math.log(outcome.time_s) if isinstance(outcome, Timed) else None
        state = _state("FAIL" if value is None else "COMPLETE")
        trial = self._asked.pop(point.key, None)
        if trial is not None:
            self._study.tell(trial, value, state=state)
            return
        entrant = _entrant(pool, point.verified.candidate.id)
        if entrant is None or all(sizes != point.parameters.sizes for _, sizes in entrant.sizes):
            return  # of a large space, the sampler knows a part
        numbers = _places(point, entrant, pool)
        self._study.add_trial(
            create_trial(
                params={"candidate": point.verified.candidate.id, **{name: at for name, (at, _) in numbers.items()}},
                distributions={
                    "candidate": CategoricalDistribution(self._candidates),
                    **{name: IntDistribution(0, last) for name, (_, last) in numbers.items()},
                },
                value=value,
                state=state,
            )
        )

    def _open(self, pool: Pool) -> None:
        if self._study is not None:
            return
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = {
            "tpe": lambda: optuna.samplers.TPESampler(seed=self._seed, n_startup_trials=SEEDED),
            "gp": lambda: optuna.samplers.GPSampler(seed=self._seed, n_startup_trials=SEEDED),
            "random": lambda: optuna.samplers.RandomSampler(seed=self._seed),
        }
        self._study = optuna.create_study(sampler=samplers[self._sampler]())
        self._ranked = pool.by_model()
        self._candidates = tuple(e.verified.candidate.id for e in pool.entrants)

    def _point(self, trial: Any, pool: Pool) -> Point | None:
        """What a trial of Optuna's stands for; None where its candidate was dropped or has no legal sizes."""
        entrant = _entrant(pool, trial.suggest_categorical("candidate", self._candidates))
        if entrant is None or not entrant.sizes:
            return None
        name = entrant.verified.candidate.id
        modelled_s, sizes = entrant.sizes[trial.suggest_int(f"{name} sizes", 0, len(entrant.sizes) - 1)]
        schedule = tuple(
            (choice, values[trial.suggest_int(f"{name} {choice}", 0, len(values) - 1)])
            for choice, values in pool.choices_of(entrant, sizes)
        )
        return pool.point(entrant, modelled_s, sizes, schedule)


def _entrant(pool: Pool, candidate: str) -> Entrant | None:
    return next((e for e in pool.entrants if e.verified.candidate.id == candidate), None)


def _places(point: Point, entrant: Entrant, pool: Pool) -> dict[str, tuple[int, int]]:
    """Per name that the sampler knows, the place of a point's number and the last place there is."""
    name, here = entrant.verified.candidate.id, point.parameters
    order = [sizes for _, sizes in entrant.sizes]
    found = {f"{name} sizes": (order.index(here.sizes), len(order) - 1)}
    chosen = dict(here.schedule)
    for choice, values in pool.choices_of(entrant, here.sizes):
        if chosen.get(choice) in values:
            found[f"{name} {choice}"] = (values.index(chosen[choice]), len(values) - 1)
    return found


def _state(name: str) -> Any:
    from optuna.trial import TrialState

    return TrialState[name]
