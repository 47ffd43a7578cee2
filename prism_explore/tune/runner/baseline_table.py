"""The baselines: ways to compute a program without a kernel of ours, one row each."""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, NOT_WAITED_FOR

AUTOTUNED = "torch.compile max-autotune"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A way to run the user's function: in torch, or by another compiler."""

    name: str
    description: str
    limit_s: float
    """For compiling and comparing; a baseline that takes longer is not timed."""
    maker: str = ""
    """For another compiler: `module:function` that makes a function of tensors from an exported program."""
    compiles: bool = False
    """Whether torch compiles it, for which a final race may not wait."""


BASELINES: tuple[Baseline, ...] = (
    Baseline(EAGER, "operator by operator, as written", 60.0),
    Baseline(COMPILED, "its default", 180.0, compiles=True),
    Baseline(AUTOTUNED, "tuned, weights frozen and packed beforehand", 600.0, compiles=True),
)
"""Only the last one may pack weights before it is timed. Weights are the inputs without symbols in their shape."""

LIBRARY_CALL = Baseline(LIBRARY, "one call that does all of it, eager", 60.0)
"""One torch function for the full program, such as scaled_dot_product_attention; the user's, or one found by the search
(`search/library_calls.py`)."""

DEFAULT_BASELINES = (EAGER, COMPILED, LIBRARY)


def not_waited_for(spent_s: float) -> str:
    """The note of a baseline that was not ready when the final race began.

    Args:
        spent_s: seconds for which it was compiled until then.
    """
    return f'{NOT_WAITED_FOR}: compiled for {spent_s:.0f} s so far; sess.best("all rivals") waits for it'
