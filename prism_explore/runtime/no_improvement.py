"""What `best` gives where nothing came below the time to beat: torch's own code, and why it stays.

`NoImprovement` stands where a `Best` would: it is called like the function, and says what was found. It has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.events.fastest import CALLED, EAGER
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import RivalTimed
from prism_explore.events.ledger import fastest_rival
from prism_explore.events.no_improvement import NothingBelow
from prism_explore.frontend import LibraryCall, Traced, single_result
from prism_explore.runtime.best import code_of, codes_of


@dataclass(frozen=True)
class NoImprovement:
    """Nothing that was searched is below the time to beat; a call runs torch, in the fastest way that it can.

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

    outcome: NothingBelow
    """Whose time it was, and what came nearest."""
    baselines: tuple[RivalTimed, ...]
    """Timed before anything grew; none where the time to beat was given as a number."""
    traced: Traced | None
    """The torch code; None where the program was not traced from torch."""
    also: LibraryCall | None = None
    """The library call that was a rival, if one was given or found."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The torch code's own result and gradient, on whatever that code takes.

        Raises:
            ShapeError: there is no torch code, or an argument is missing, unknown, or given twice.
        """
        if self._torch is None or self.traced is None:
            raise ShapeError(f"{self.outcome} There is no torch code here to call; px.Session.load takes it")
        return single_result(self._torch(*self.traced.signature.in_order(args, kwargs)))

    @property
    def runs(self) -> str:
        """What a call runs, such as `torch eager`; empty where there is no torch code."""
        codes = codes_of(self.traced, self.also)
        timed = [r for r in self.baselines if r.name in codes]
        fastest = fastest_rival(timed)
        return fastest.name if fastest is not None else EAGER if EAGER in codes else ""

    @property
    def why(self) -> str:
        """What was found, as a sentence, and what a call runs where that is not the rival itself."""
        if not self.runs or self.runs == self.outcome.by:
            return str(self.outcome)
        not_called = (
            f", for {self.outcome.by} packs its weights beforehand" if self.outcome.by not in (*CALLED, "") else ""
        )
        return f"{self.outcome} A call runs {self.runs}{not_called}."

    @cached_property
    def _torch(self) -> Callable[..., Any] | None:
        return code_of(self.traced, self.also, self.runs)

    def __repr__(self) -> str:
        rows = (
            f"  {r.name:<28} {seconds_text(r.time_s) if r.samples else f'not timed: {r.note}'}" for r in self.baselines
        )
        return "\n".join([self.why, *rows])
