# pyright: basic
# Optuna is only partly typed.
"""A strategy that learns from outcomes: Optuna's samplers.

The points with the least modelled time are enqueued first, except for `random`, which is the baseline. The search space
is the same for every candidate, so an outcome of one candidate informs the proposals of all. Its coordinates are the
rank of the candidate in the model's order, the rank of the sizes, and the position in the list of values of each
schedule choice. Ranks are on a logarithmic scale: the difference between the model's first and tenth point matters more
than that between the 101st and the 110th.

With a `StudyFile` the study is stored in an SQLite file, so an interrupted search continues with what its sampler had
learned. Trials themselves are stored in the database of trials.
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
from prism_explore.pipeline.stages import Outcome, Parameters, Timed
from prism_explore.tune.space.pool import Key, Point, Pool, PoolCandidate

SamplerName: TypeAlias = Literal["tpe", "gp", "random"]
"""Tree-structured Parzen estimators, a Gaussian process, uniformly random."""

ENQUEUED = 10
"""Points that are enqueued in the model's order before the sampler proposes."""
REPEATED = 8
"""Consecutive proposals of the sampler that may repeat a trial; then the model's order proposes."""


@dataclass(frozen=True, slots=True)
class StudyFile:
    """Where a study is stored between searches."""

    path: Path
    """An SQLite file with any number of studies."""
    about: tuple[str, ...]
    """Program, shapes, machine and versions: a study is used for the same ones only."""


class OptunaSampler:
    """Proposals of one of Optuna's samplers, which starts with the model's ranking."""

    def __init__(self, seed: int, sampler: SamplerName = "tpe", file: StudyFile | None = None) -> None:
        """Optuna is imported, and the file opened, at the first proposal.

        Args:
            seed: of the sampler.
            sampler: its name.
            file: where the study is stored; in memory if None.

        Raises:
            ShapeError: there is no such sampler, or a package that it needs is not installed.
        """
        if sampler not in get_args(SamplerName):
            raise ShapeError(f"no sampler {sampler!r}; there are {', '.join(get_args(SamplerName))}")
        if sampler == "gp" and find_spec("scipy") is None:
            raise ShapeError("the sampler 'gp' needs scipy, which is not installed: pip install scipy, or take 'tpe'")
        self._seed, self._sampler, self._file = seed, sampler, file
        self._study: Any = None
        self._ranked: Iterator[Point] = iter(())
        self._candidates: tuple[str, ...] = ()
        """All candidates that were ever in the pool, in the model's order: a sampler's search space may not change."""
        self._last_size = 1
        self._open_trials: dict[Key, Any] = {}

    @property
    def study(self) -> Any:
        """Optuna's study after the first proposal or outcome, for Optuna's own tools."""
        return self._study

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The sampler's proposal, enqueued points first; by the model if the sampler repeats itself; None at the end.

        Raises:
            JournalVersionError: the file does not contain studies, or is damaged.
        """
        self._open(pool)
        for _ in range(REPEATED):
            trial = self._study.ask()
            point = self._point(trial, pool)
            if point is not None and point.key not in tried:
                self._open_trials[point.key] = trial
                return point
            self._study.tell(trial, state=_state("FAIL"))  # the point is not bad, but was tried
        in_pool = {c.id for c in pool.candidates}
        return next((p for p in self._ranked if p.key not in tried and p.verified.candidate.id in in_pool), None)

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Learn from a trial, whichever strategy proposed it; failures count too."""
        from optuna.trial import create_trial

        self._open(pool)
        value = math.log(outcome.time_s) if isinstance(outcome, Timed) else None
        state = _state("PRUNED" if value is None else "COMPLETE")
        trial = self._open_trials.pop(point.key, None)
        if trial is not None:
            self._study.tell(trial, value, state=state)
            return
        found = self._coordinates(point, pool)
        if found is not None:
            distributions = {name: self._distribution(name) for name in found}
            self._study.add_trial(create_trial(params=found, distributions=distributions, value=value, state=state))

    # ------------------------------------------------------------ the study
    def _open(self, pool: Pool) -> None:
        if self._study is not None:
            return
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        candidates = sorted((c for c in pool.candidates if c.sizes), key=lambda c: c.sizes[0])
        self._candidates = tuple(c.id for c in candidates)
        self._last_size = max((len(c.sizes) for c in candidates), default=1)
        file = self._file
        try:
            self._study = optuna.create_study(
                sampler=self._make_sampler(),
                storage=None if file is None else f"sqlite:///{file.path.absolute()}",
                study_name=None if file is None else self._study_name(file, candidates),
                load_if_exists=True,
            )
        except Exception as error:  # SQLAlchemy's, Alembic's and Optuna's own
            if file is None:
                raise
            raise JournalVersionError(
                f"{file.path} is not a file of Optuna studies, or is damaged: {str(error).splitlines()[0]}. It was not "
                "changed; move it away: samplers then start without what they learned, and no trial is lost"
            ) from None
        self._ranked = pool.in_model_order()
        if self._sampler != "random" and not self._study.trials:
            for _, point in zip(range(ENQUEUED), pool.in_model_order(), strict=False):
                self._study.enqueue_trial(self._coordinates(point, pool))

    def _make_sampler(self) -> Any:
        import optuna

        match self._sampler:
            case "tpe":
                with warnings.catch_warnings():  # `multivariate` has been marked experimental since 2020
                    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                    return optuna.samplers.TPESampler(seed=self._seed, n_startup_trials=ENQUEUED, multivariate=True)
            case "gp":
                return optuna.samplers.GPSampler(seed=self._seed, n_startup_trials=ENQUEUED)
            case "random":
                return optuna.samplers.RandomSampler(seed=self._seed)

    def _study_name(self, file: StudyFile, candidates: list[PoolCandidate]) -> str:
        """Different for other candidates, sizes, machines or versions."""
        graphs = [(show(c.verified.candidate.sgraph), list(c.sizes)) for c in candidates]
        return f"{self._sampler} {sha256(json.dumps([file.about, graphs]).encode()).hexdigest()[:24]}"

    # ------------------------------------------------------------ the search space
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
        """The point of one of Optuna's trials; None if its candidate was dropped or has no sizes."""
        if not self._candidates:
            return None
        name = self._candidates[self._suggested(trial, "candidate") - 1]
        rank = self._suggested(trial, "sizes") - 1
        candidate = pool.find(name)
        if candidate is None or not candidate.sizes:
            return None
        modelled_s, sizes = candidate.sizes[rank % len(candidate.sizes)]
        schedule = tuple(
            (choice, values[min(int(self._suggested(trial, f"schedule {choice}") * len(values)), len(values) - 1)])
            for choice, values in pool.choices_of(candidate, sizes)
        )
        return Point(candidate.verified, Parameters(sizes, schedule), modelled_s)

    def _suggested(self, trial: Any, name: str) -> Any:
        distribution = self._distribution(name)
        if isinstance(distribution.low, int):
            return trial.suggest_int(name, distribution.low, distribution.high, log=distribution.log)
        return trial.suggest_float(name, distribution.low, distribution.high)

    def _coordinates(self, point: Point, pool: Pool) -> dict[str, float] | None:
        """A point in the sampler's space; None if its candidate was dropped or its sizes are not in the pool."""
        candidate = next((c for c in pool.candidates if c.verified is point.verified), None)
        if candidate is None or candidate.id not in self._candidates:
            return None
        own = point.parameters
        rank = next((n for n, (_, sizes) in enumerate(candidate.sizes, 1) if sizes == own.sizes), None)
        if rank is None:
            return None  # the pool contains only a part of a large space
        chosen = dict(own.schedule)
        found: dict[str, float] = {"candidate": self._candidates.index(candidate.id) + 1, "sizes": rank}
        for choice, values in pool.choices_of(candidate, own.sizes):
            if chosen.get(choice) in values:
                found[f"schedule {choice}"] = (values.index(chosen[choice]) + 0.5) / len(values)
        return found


def _state(name: str) -> Any:
    from optuna.trial import TrialState

    return TrialState[name]
