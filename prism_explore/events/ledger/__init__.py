"""The ledger of a search: counts per stage and rule, trials, families, steering, the best kernel.

Input: events, one by one (`Fold`) or all at once (`ledger`). Output: one frozen `Ledger`. Widgets, tables and the
command line read all counts from it, so that they agree.
"""

from prism_explore.events.ledger.family_outcome import Outcome, OutcomeCode, best_first, outcome, why_untuned
from prism_explore.events.ledger.fold import Fold, family_rows, ledger
from prism_explore.events.ledger.funnel import THINGS, Funnel, PruneCount, SpaceBreakdown, What, was_limited_by_budget
from prism_explore.events.ledger.kernel_time import KernelTime
from prism_explore.events.ledger.rows import FamilyRow, Ledger, Stop, Trial, fastest_baseline, withheld
from prism_explore.events.ledger.steering import Steering

__all__ = [
    "THINGS",
    "FamilyRow",
    "Fold",
    "Funnel",
    "KernelTime",
    "Ledger",
    "Outcome",
    "OutcomeCode",
    "PruneCount",
    "SpaceBreakdown",
    "Steering",
    "Stop",
    "Trial",
    "What",
    "best_first",
    "family_rows",
    "fastest_baseline",
    "ledger",
    "outcome",
    "was_limited_by_budget",
    "why_untuned",
    "withheld",
]
