import pytest
import torch

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.ir.tensors import tensor as T

KEEP = torch.ones(6, 6, dtype=torch.bool).tril()


def masked(x):
    return x.masked_fill(~KEEP, -torch.inf)


FINITE = {
    "softmax": lambda x: masked(x).softmax(-1),
    "scaled softmax": lambda x: (masked(x) / 3 - 1).softmax(-1),
    "largest": lambda x: masked(x).amax(-1),
    "logsumexp": lambda x: torch.logsumexp(masked(x), -1),
    "sigmoid": lambda x: masked(x).sigmoid() * x,
    "tanh of the negative": lambda x: (-masked(x)).tanh(),
    "comparison": lambda x: x * (masked(x) > 0.5),
    "clamped": lambda x: masked(x).clamp(min=-50),
    "maximum": lambda x: torch.maximum(masked(x), x),
    "relu": lambda x: masked(x).mT.relu(),
}
INFINITE = {
    "masked": masked,
    "scaled": lambda x: masked(x) * -2,
    "log_softmax": lambda x: masked(x).log_softmax(-1),
    "view": lambda x: masked(x).mT.reshape(36),
    "square": lambda x: masked(x) ** 2,
    "sum": lambda x: masked(x).sum(-1),
    "relu of the negative": lambda x: (-masked(x)).relu(),
    "silu": lambda x: torch.nn.functional.silu(masked(x)),
    "product": lambda x: masked(x) @ x,
    "difference": lambda x: masked(x) - masked(x * 2),
    "joined": lambda x: torch.cat((x, masked(x)), 0),
    "mean": lambda x: masked(x).mean(),
    "selected": lambda x: torch.where(x > 0, masked(x), 0.0),
    "smallest": lambda x: masked(x).amin(-1),
    "second of two results": lambda x: (x.exp(), masked(x)),
}


@pytest.mark.parametrize("code", FINITE.values(), ids=FINITE)
def test_what_absorbs_minus_infinity_is_traced_and_is_finite_in_torch(code):
    assert code(torch.randn(6, 6)).isfinite().all()
    trace(code, {"x": T(6, 6)})


@pytest.mark.parametrize("code", INFINITE.values(), ids=INFINITE)
def test_a_result_with_masked_entries_is_refused_because_torch_has_no_finite_number_there(code):
    found = code(torch.randn(6, 6))
    assert not all(f.isfinite().all() for f in (found if isinstance(found, tuple) else (found,)))
    with pytest.raises(UnsupportedOperator, match="may be infinite where a mask covers it"):
        trace(code, {"x": T(6, 6)})
