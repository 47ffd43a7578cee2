# pyright: basic
# Optuna's types are loose.
"""A strategy that learns: Optuna's samplers, asked for numbers and told the times.

What the model likes best is enqueued, so a sampler begins with what is likely good; `random` is the baseline and is
not helped. What a sampler chooses from is the same for every candidate, so a few trials teach it something of all: the
candidate's place in the model's order, the place of its sizes in that order, and how far down the list of what each
choice of the schedule offers. Both places are on a logarithmic scale, for it matters whether a point is the model's
first or tenth, and hardly whether it is the 101st or the 110th.

With a `Kept` the study is kept in a file of SQLite: a search that was interrupted goes on with what its sampler had
learned. Trials themselves are in the database of trials; a study that is lost costs what the sampler had learned.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Outcome, Timed
from prism_explore.tune.strategies.local_search import Entrant, Key, Point, Pool

SamplerName: TypeAlias = Literal["tpe", "gp", "random"]
"""Tree-structured Parzen estimators, a Gaussian process, uniformly random."""

SEEDED = 10
"""Points that are enqueued in the model's order before the sampler is asked."""
ASKED = 8
"""Times in a row that it may propose what was tried; then the model's order has its turn."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a study is kept from search to search."""

    path: Path
    """A file of SQLite, with any number of studies."""
    about: tuple[str, ...]
    """Program, shapes, machine and versions: what was learned of one of each is worth nothing for another."""


class Sampled:
    """Proposals by one of Optuna's samplers, seeded with the model's ranking."""

    def __init__(self, seed: int, sampler: SamplerName = "tpe", kept: Kept | None = None) -> None:
        """Optuna is imported when it is first needed, and the file opened then.

        Args:
            seed: of the sampler.
            sampler: its name.
            kept: where the study is kept; in memory if not given.

        Raises:
            ShapeError: no such sampler, or what it needs is not installed.
        """
        if sampler not in get_args(SamplerName):
            raise ShapeError(f"no sampler {sampler!r}; there are {', '.join(get_args(SamplerName))}")
        if sampler == "gp" and find_spec("scipy") is None:
            raise ShapeError("the sampler 'gp' needs scipy, which is not installed: pip install scipy, or take 'tpe'")
        self._seed, self._sampler, self._kept = seed, sampler, kept
        self._study: Any = None
        self._ranked: Iterator[Point] = iter(())
        self._candidates: tuple[str, ...] = ()
        """All that were ever in the pool, in the model's order: what a sampler chooses from may not change."""
        self._last_size = 1
        self._asked: dict[Key, Any] = {}

    @property
    def study(self) -> Any:
        """Optuna's study, once something was proposed or heard; its own tools read it."""
        return self._study

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """What the sampler says, first what was enqueued; by the model where it repeats itself; None at the end.

        Raises:
            JournalVersionError: the file is none of studies, or is damaged.
        """
        self._open(pool)
        for _ in range(ASKED):
            trial = self._study.ask()
            point = self._point(trial, pool)
            if point is not None and point.key not in tried:
                self._asked[point.key] = trial
                return point
            self._study.tell(trial, state=_state("FAIL"))  # not a bad point, only not a new one
        entered = {e.verified.candidate.id for e in pool.entrants}
        return next((p for p in self._ranked if p.key not in tried and p.verified.candidate.id in entered), None)

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Learn from a trial, whoever proposed it; a failure is one."""
        from optuna.trial import create_trial

        self._open(pool)
        value = math.log(outcome.time_s) if isinstance(outcome, Timed) else None
        state = _state("PRUNED" if value is None else "COMPLETE")
        trial = self._asked.pop(point.key, None)
        if trial is not None:
            self._study.tell(trial, value, state=state)
            return
        found = self._places(point, pool)
        if found is not None:
            distributions = {name: self._distribution(name) for name in found}
            self._study.add_trial(create_trial(params=found, distributions=distributions, value=value, state=state))

    # ------------------------------------------------------------ the study
    def _open(self, pool: Pool) -> None:
        if self._study is not None:
            return
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        entrants = sorted((e for e in pool.entrants if e.sizes), key=lambda e: e.sizes[0])
        self._candidates = tuple(e.verified.candidate.id for e in entrants)
        self._last_size = max((len(e.sizes) for e in entrants), default=1)
        kept = self._kept
        try:
            self._study = optuna.create_study(
                sampler=self._made(),
                storage=None if kept is None else f"sqlite:///{kept.path.absolute()}",
                study_name=None if kept is None else self._name(kept, entrants),
                load_if_exists=True,
            )
        except Exception as error:  # SQLAlchemy's, Alembic's and Optuna's own
            if kept is None:
                raise
            raise JournalVersionError(
                f"{kept.path} is no file of studies, or is damaged: {str(error).splitlines()[0]}. It was left as it "
                "is; move it away, which loses what samplers learned, and no trial"
            ) from None
        self._ranked = pool.by_model()
        if self._sampler != "random" and not self._study.trials:
            for _, point in zip(range(SEEDED), pool.by_model(), strict=False):
                self._study.enqueue_trial(self._places(point, pool))

    def _made(self) -> Any:
        import optuna

        match self._sampler:
            case "tpe":
                with warnings.catch_warnings():  # jointly over all numbers: "experimental" since 2020
                    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                    return optuna.samplers.TPESampler(seed=self._seed, n_startup_trials=SEEDED, multivariate=True)
            case "gp":
                return optuna.samplers.GPSampler(seed=self._seed, n_startup_trials=SEEDED)
            case "random":
                return optuna.samplers.RandomSampler(seed=self._seed)

    def _name(self, kept: Kept, entrants: list[Entrant]) -> str:
        """Of a study: another one for other candidates, sizes, machines or versions."""
        graphs = [(show(e.verified.candidate.sgraph), e.sizes) for e in entrants]
        return f"{self._sampler} {sha256(json.dumps([kept.about, graphs]).encode()).hexdigest()[:24]}"

    # ------------------------------------------------------------ what it chooses from
    def _distribution(self, name: str) -> Any:
        from optuna.distributions import FloatDistribution, IntDistribution

        is_log = self._sampler != "random"
        match name:
            case "candidate":
                return IntDistribution(1, len(self._candidates), log=is_log)
            case "sizes":
                return IntDistribution(1, self._last_size, log=is_log)
            case _:
                return FloatDistribution(0.0, 1.0)

    def _point(self, trial: Any, pool: Pool) -> Point | None:
        """What a trial of Optuna's stands for; None where its candidate was dropped or has not so many sizes."""
        if not self._candidates:
            return None
        name = self._candidates[self._suggested(trial, "candidate") - 1]
        place = self._suggested(trial, "sizes") - 1
        entrant = next((e for e in pool.entrants if e.verified.candidate.id == name), None)
        if entrant is None or not entrant.sizes:
            return None
        modelled_s, sizes = entrant.sizes[place % len(entrant.sizes)]
        schedule = tuple(
            (choice, values[min(int(self._suggested(trial, f"schedule {choice}") * len(values)), len(values) - 1)])
            for choice, values in pool.choices_of(entrant, sizes)
        )
        return pool.point(entrant, modelled_s, sizes, schedule)

    def _suggested(self, trial: Any, name: str) -> Any:
        given = self._distribution(name)
        if isinstance(given.low, int):
            return trial.suggest_int(name, given.low, given.high, log=given.log)
        return trial.suggest_float(name, given.low, given.high)

    def _places(self, point: Point, pool: Pool) -> dict[str, float] | None:
        """A point as the sampler knows it; None where its candidate was dropped or its sizes are not listed."""
        entrant = next((e for e in pool.entrants if e.verified is point.verified), None)
        if entrant is None or entrant.verified.candidate.id not in self._candidates:
            return None
        here = point.parameters
        place = next((n for n, (_, sizes) in enumerate(entrant.sizes, 1) if sizes == here.sizes), None)
        if place is None:
            return None  # of a large space, the pool lists a part
        chosen = dict(here.schedule)
        found: dict[str, float] = {
            "candidate": self._candidates.index(entrant.verified.candidate.id) + 1,
            "sizes": place,
        }
        for choice, values in pool.choices_of(entrant, here.sizes):
            if chosen.get(choice) in values:
                found[f"schedule {choice}"] = (values.index(chosen[choice]) + 0.5) / len(values)
        return found


def _state(name: str) -> Any:
    from optuna.trial import TrialState

    return TrialState[name]
