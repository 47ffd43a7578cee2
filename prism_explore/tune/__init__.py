"""From proved candidates to a timed kernel: choose sizes, check results, race kernels. See README.md."""

from __future__ import annotations

from prism_explore.tune.budget import Budget, StrategyName
from prism_explore.tune.database import Database
from prism_explore.tune.request import TuneRequest
from prism_explore.tune.runner.backend import Backend
from prism_explore.tune.runner.worker import Worker
from prism_explore.tune.space.pool import Pool
from prism_explore.tune.tuner import tune

__all__ = ["Backend", "Budget", "Database", "Pool", "StrategyName", "TuneRequest", "Worker", "tune"]
