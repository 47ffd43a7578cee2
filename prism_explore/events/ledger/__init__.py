"""What the events of a search add up to: counts per stage and rule, trials, families, steering, the best kernel.

Input: events, one by one (`Fold`) or all at once (`ledger`). Output: one frozen `Ledger`. Widgets, tables and the
command line read their counts from it and compute none, so that they agree.
"""

from prism_explore.events.ledger.fold import Fold, cuts, family_rows, ledger
from prism_explore.events.ledger.funnel import Account, Cut, Funnel, was_cut_by_budget
from prism_explore.events.ledger.rows import (
    FamilyRow,
    Ledger,
    Stop,
    Trial,
    family_of,
    fastest_rival,
    withheld,
)
from prism_explore.events.ledger.steering import Steering

__all__ = [
    "Account",
    "Cut",
    "FamilyRow",
    "Fold",
    "Funnel",
    "Ledger",
    "Steering",
    "Stop",
    "Trial",
    "cuts",
    "family_of",
    "family_rows",
    "fastest_rival",
    "ledger",
    "was_cut_by_budget",
    "withheld",
]
