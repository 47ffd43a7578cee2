"""How far tuning goes, and the strategies by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.tune.runner.stopping_rule import RACE_S
from prism_explore.tune.strategies.local_search import Climbing, Exhaustive, Halving, Ranked, Strategy
from prism_explore.tune.strategies.optuna_samplers import Kept, Sampled

StrategyName: TypeAlias = Literal["climbing", "halving", "ranked", "exhaustive", "tpe", "gp", "random"]
"""Around the incumbent by turns, across families, the model's order, everything, and Optuna's samplers by name."""


def strategy_of(name: StrategyName, seed: int, kept: Kept | None = None) -> Strategy:
    """The strategy of a name; `kept` is where a sampler of Optuna's keeps what it learns.

    Raises:
        ShapeError: no such strategy.
    """
    match name:
        case "climbing":
            return Climbing(Ranked(seed), seed)
        case "halving":
            return Halving(Climbing(Ranked(seed), seed), seed)
        case "ranked":
            return Ranked(seed)
        case "exhaustive":
            return Exhaustive()
        case "tpe" | "gp" | "random":
            return Sampled(seed, name, kept)
        case _:
            raise ShapeError(f"no strategy {name!r}; there are {', '.join(get_args(StrategyName))}")


@dataclass(frozen=True, slots=True)
class Budget:
    """When tuning ends, whichever comes first, and what it tries first.

    Example:
        >>> import prism_explore as px
        >>> px.Budget(trials=16, seconds=10.0).trials
        16
    """

    trials: int = 60
    seconds: float = 60.0
    """Of trials; the play-off behind them takes some 3 s more."""
    patience: int = 30
    """Trials in a row that did not improve the incumbent."""
    near: float = 0.03
    """How close to the floor is close enough, as a share of it."""
    strategy: StrategyName = "climbing"
    at_once: int = 1
    """Trials that are proposed before any of them is heard; then they need not wait for each other, so an executor's
    workers may run them. A flight that began is told to its end, whatever the seconds say. The more fly at once, the
    less each proposal knows."""

    def __post_init__(self) -> None:
        strategy_of(self.strategy, 0)
        for name in ("trials", "seconds", "patience"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not value >= 0:
                raise ShapeError(f"Budget({name}=...) counts from 0 on, found {value!r}")
        if type(self.at_once) is not int or self.at_once < 1:
            raise ShapeError(f"Budget(at_once=...) counts whole trials from 1 on, found {self.at_once!r}")

    @property
    def race_s(self) -> float:
        """Seconds after which a race that is open ends."""
        return min(RACE_S, self.seconds / max(1, self.trials) / 2)
