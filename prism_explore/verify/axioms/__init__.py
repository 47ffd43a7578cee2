"""The axioms of certificates, one row each; see *Add an axiom* in ../README.md.

An axiom is an equation between terms that holds at every point, for all real values, under the
convention x/0 = 0 (so `a * a^-1` is 1 only where a is not zero) and with the root of a negative
number left unspecified. Terms denote functions of named coordinates (see `certificate/expressions`), so
an equation never renames an axis, and all requirements on its variables are side conditions.

Side conditions are derived by the rows of `CONDITIONS`, which only add facts: a derived fact stays true
however the e-graph grows. (A set of dependencies that shrinks by merging
would not have this property: a fact that arrives late would turn a *may depend* into a *does not*.)

The text of a row is egglog's syntax.
"""

from __future__ import annotations

from prism_explore.verify.axiom_schema import CONSTRUCTORS as CONSTRUCTORS
from prism_explore.verify.axiom_schema import SIGNATURE as SIGNATURE
from prism_explore.verify.axiom_schema import Axiom as Axiom
from prism_explore.verify.axiom_schema import Condition as Condition
from prism_explore.verify.axiom_schema import number as number
from prism_explore.verify.axioms.arithmetic import NUMBERS, POWERS, RING
from prism_explore.verify.axioms.conditions import CONDITIONS as CONDITIONS
from prism_explore.verify.axioms.functions import FUNCTIONS
from prism_explore.verify.axioms.indicators import BITS
from prism_explore.verify.axioms.maxima import LOOPS, MAXIMA
from prism_explore.verify.axioms.sums import SUMS

AXIOMS: tuple[Axiom, ...] = (*NUMBERS, *RING, *SUMS, *POWERS, *FUNCTIONS, *BITS, *MAXIMA, *LOOPS)
"""All axioms, in the order in which searches apply them."""
