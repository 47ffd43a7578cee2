"""The budget of a tuning run, and the strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.tune.runner.stopping_rule import RACE_S
from prism_explore.tune.strategies.local_search import LocalSearch
from prism_explore.tune.strategies.optuna_samplers import OptunaSampler, StudyFile
from prism_explore.tune.strategies.ranked import Exhaustive, ModelOrder
from prism_explore.tune.strategies.strategy import Strategy
from prism_explore.tune.strategies.successive_halving import SuccessiveHalving

StrategyName: TypeAlias = Literal["climbing", "halving", "ranked", "exhaustive", "tpe", "gp", "random"]
"""Local search, successive halving across families, the time model's order, every point, Optuna's samplers."""


def strategy_of(name: StrategyName, seed: int, study: StudyFile | None = None) -> Strategy:
    """The strategy with a name; `study` is where an Optuna sampler stores what it learns.

    Raises:
        ShapeError: there is no such strategy.
    """
    match name:
        case "climbing":
            return LocalSearch(ModelOrder(seed), seed)
        case "halving":
            return SuccessiveHalving(LocalSearch(ModelOrder(seed), seed), seed)
        case "ranked":
            return ModelOrder(seed)
        case "exhaustive":
            return Exhaustive()
        case "tpe" | "gp" | "random":
            return OptunaSampler(seed, name, study)
        case _:
            raise ShapeError(f"no strategy {name!r}; there are {', '.join(get_args(StrategyName))}")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a tuning run, and its strategy. The run ends when the first limit is reached.

    Example:
        >>> from prism_explore import Budget
        >>> Budget(trials=20, seconds=10).strategy
        'climbing'
    """

    trials: int = 60
    """Largest number of kernels that are tried. A long search times one more before its end; see `early_trial`."""
    seconds: float = 60.0
    """For trials; the play-off after them takes about 3 s more."""
    patience: int = 6
    """The run ends after this many consecutive trials without a gain. On replays of `climbing` over five exhaustive
    sweeps, runs that ended after 6 were within 5 % of 64 trials in 95 % of the cases. Other strategies need more."""
    gain: float = 0.02
    """The share by which the incumbent must become faster to count as a gain. Smaller gains add up."""
    near: float = 0.05
    """The run ends when the incumbent is within this share of the lower bound, or of the machine's limit as it is
    measured beside the incumbent."""
    strategy: StrategyName = "climbing"
    """How trials are chosen; see `StrategyName`."""
    at_once: int = 1
    """Trials that are proposed before the outcome of any of them is known, so that an executor's workers can run them
    in parallel. Such a batch is completed even if `seconds` are over. With more at once, each proposal uses fewer
    outcomes."""
    early_trial: bool = True
    """Whether a long search times its first kernel before it has ended, so that there is an answer to look at."""
    details: bool = True
    """Whether the proof of the answer gets a certificate, all rounds beside the baselines are run, and the machine's
    limit is measured in them. Otherwise a certificate is made on request (`Session.certify`), and the race ends when it
    is clear of each baseline whether it is faster."""

    def __post_init__(self) -> None:
        strategy_of(self.strategy, 0)
        for name in ("trials", "seconds", "patience", "gain"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not value >= 0:
                raise ShapeError(f"Budget({name}=...) must be a number of at least 0, found {value!r}")
        if self.gain >= 1:
            raise ShapeError(f"Budget(gain=...) is a share below 1, such as 0.02, found {self.gain!r}")
        if type(self.at_once) is not int or self.at_once < 1:
            raise ShapeError(f"Budget(at_once=...) must be an integer of at least 1, found {self.at_once!r}")

    @property
    def race_s(self) -> float:
        """Seconds after which an undecided race ends; with one trial there is no race, and few rounds time it."""
        return min(RACE_S, self.seconds / self.trials / 2) if self.trials > 1 else 0.0

    @property
    def is_quick(self) -> bool:
        """Whether no limit exceeds that of the budget "quick"."""
        quick = BUDGETS["quick"]
        return self.trials <= quick.trials and self.seconds <= quick.seconds and self.patience <= quick.patience


BudgetName: TypeAlias = Literal["quick", "thorough"]
BUDGETS: Mapping[BudgetName, Budget] = {
    "quick": Budget(),
    "thorough": Budget(trials=64, seconds=120.0, patience=64, gain=0.0, near=0.01),
}
"""Budgets by name; a session's is quick if left out."""
