"""The result of a search in which no kernel can be faster than the time to beat: the torch code itself.

`Session.best` returns it instead of a `Best`. It is called like the function and states the outcome; it has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.events.fastest import CALLABLE, EAGER
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import RivalTimed
from prism_explore.events.ledger import fastest_baseline
from prism_explore.events.no_improvement import NothingFaster
from prism_explore.frontend import LibraryCall, Traced
from prism_explore.runtime.best import torch_function, torch_functions


@dataclass(frozen=True)
class NoImprovement:
    """No kernel of the search is below the time to beat; a call runs the fastest torch code that is available.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> found = px.Session(program, target="cpu", at={"b": 4}, time_to_beat_s=1e-12).best()
        >>> type(found).__name__
        'NoImprovement'
    """

    outcome: NothingFaster
    """The baseline whose time is to be beaten, and the candidate or region that came nearest."""
    baselines: tuple[RivalTimed, ...]
    """The baselines, timed before the enumeration; none where the time to beat was given as a number."""
    traced: Traced | None
    """The torch code; None where the program was not traced from torch."""
    library_call: LibraryCall | None = None
    """The library call among the baselines, if one was passed or found."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result and gradient of the torch code, for any arguments that it takes.

        Raises:
            ShapeError: there is no torch code, or an argument is missing, unknown, or given twice.
        """
        if self._torch_function is None or self.traced is None:
            raise ShapeError(f"{self.outcome} There is no torch code to call; pass it to px.Session.load")
        return self._torch_function(*self.traced.signature.in_order(args, kwargs))

    @property
    def implementation(self) -> str:
        """What a call runs, such as `torch eager`; empty where there is no torch code."""
        codes = torch_functions(self.traced, self.library_call)
        timed = [r for r in self.baselines if r.name in codes]
        fastest = fastest_baseline(timed)
        return fastest.name if fastest is not None else EAGER if EAGER in codes else ""

    @property
    def why(self) -> str:
        """The outcome as a sentence, and what a call runs where that is not the fastest baseline."""
        if not self.implementation or self.implementation == self.outcome.baseline:
            return str(self.outcome)
        not_called = (
            f", for {self.outcome.baseline} packs its weights beforehand"
            if self.outcome.baseline not in (*CALLABLE, "")
            else ""
        )
        return f"{self.outcome} A call runs {self.implementation}{not_called}."

    @cached_property
    def _torch_function(self) -> Callable[..., Any] | None:
        return torch_function(self.traced, self.library_call, self.implementation)

    def __repr__(self) -> str:
        rows = (
            f"  {r.name:<28} {seconds_text(r.time_s) if r.samples else f'not timed: {r.note}'}" for r in self.baselines
        )
        return "\n".join([self.why, *rows])
