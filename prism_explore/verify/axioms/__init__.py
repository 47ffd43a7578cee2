"""The axioms of certificates, one row each, by kind; ../README.md says how to add one.

    arithmetic    numbers, the ring of sums and products, powers
    sums          sums over an axis
    functions     exp and other elementwise functions
    indicators    0-1 conditions on coordinates: masks, bands, slices
    maxima        maxima over an axis, and loops with a running maximum
    conditions    rows that derive side conditions

An axiom is an equation between terms that holds at every point, for all real values. Division by zero gives zero, so
`a * a^-1` is 1 only where a is not zero. The root of a negative number is not specified; normal forms assume of it that
positive factors may be pulled out (rule P6), which no row states. Terms are functions of named coordinates (see
`certificate/expressions`), so an equation never renames an axis, and all requirements on its variables are side
conditions.

A side condition that was derived stays true however the e-graph grows, because the rows of `CONDITIONS` only add facts.
A set of dependencies that shrinks by merging would not have this property.

The text of a row is in egglog's syntax.
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
