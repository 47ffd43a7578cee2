"""The pruning rules as one table, in the order in which they are checked.

To add a rule: write its row and test in the file of its kind, and put the row into `RULES` (README, "Add a pruning
rule").
"""

from __future__ import annotations

from prism_explore.generate.pruning.duplicates import CANONICAL
from prism_explore.generate.pruning.loop_legality import LOOP_LEGALITY
from prism_explore.generate.pruning.operator_budget import NEEDED, OPERATORS, TERMS
from prism_explore.generate.pruning.reachability import NOT_TOGETHER, UNREACHABLE
from prism_explore.generate.pruning.rule import PruningRule
from prism_explore.generate.pruning.shape import SHAPE_MISMATCH
from prism_explore.generate.pruning.shared_memory import SHARED_MEMORY
from prism_explore.generate.pruning.space_limits import ACCUMULATORS, PARTIAL_RESULTS
from prism_explore.generate.pruning.time_bound import TIME_BOUND

RULES: tuple[PruningRule, ...] = (
    SHAPE_MISMATCH,
    ACCUMULATORS,
    PARTIAL_RESULTS,
    CANONICAL,
    LOOP_LEGALITY,
    UNREACHABLE,
    NOT_TOGETHER,
    OPERATORS,
    NEEDED,
    TERMS,
    TIME_BOUND,
    SHARED_MEMORY,
)
"""At each stage of a step the first rule whose test fails is the reason for the cut."""

RULE_NAMES: tuple[str, ...] = tuple(rule.name for rule in RULES)
