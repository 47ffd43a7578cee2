"""Code that holds tensors and numbers: refused where a call depends on earlier ones, and unchanged by the trace."""

import pytest
import torch
from torch import nn

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.frontend.mixed_program import run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.tensors import tensor as T

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")


class Kept(nn.Module):
    """Has a buffer and a plain tensor that each call replaces."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.last = torch.ones(8)

    def forward(self, x):
        self.mean = 0.5 * self.mean + x.mean(0)
        self.last, y = x[0], torch.tanh(x + self.mean + self.last)
        return y


class Steps:
    """Counts its calls, and decays by their number."""

    def __init__(self):
        self.count, self.sum, self.shown, self.cache, self.angles = 0, torch.zeros(8), 0, [], None

    def counted(self, x):
        self.count += 1
        return x / (1 - 0.9**self.count)

    def added(self, x):
        self.sum += x.mean(0)
        return x + self.sum

    def appended(self, x):
        self.cache.append(x)
        return torch.cat(self.cache).sum(0)

    def logged(self, x):
        self.shown += 1
        self.last = torch.tanh(x)
        return self.last * 2

    def rotated(self, x):
        if self.angles is None:
            self.angles = torch.arange(8.0).cos()
        return x * self.angles


held = torch.zeros(8)


def replaced_global(x):
    global held
    held = held + x.mean(0)
    return x + held


def of_closure(make):
    kept = make()
    return lambda x: kept(x) * 2


def of_dict():
    state = {"h": torch.zeros(8)}

    def f(x):
        state["h"] = torch.tanh(x[0] + state["h"])
        return x * state["h"]

    return f


def of_cell():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    return f


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (Steps().counted, "counted reads self.count and changes it"),
        (Steps().added, r"added writes into self.sum \(add_\).*test_stateless_trace.py:\d+ in added"),
        (Steps().appended, r"appended reads self.cache\[0\] and changes it"),
        (replaced_global, "reads held and assigns a new tensor to it.*return the new one$"),
        (of_dict(), r"reads state\['h'\] and assigns a new tensor"),
        (of_cell(), "reads count and changes it"),
        (of_closure(Kept), "writes into kept.mean|reads kept.(mean|last).*px.WholeProgram.* of the module"),
        (of_closure(lambda: nn.BatchNorm1d(8)), "writes into kept.num_batches_tracked.*of the module"),
    ],
    ids=["number", "in place", "list", "global", "dict", "closure", "module", "batch norm"],
)
def test_code_whose_calls_depend_on_earlier_ones_is_refused(code, message):
    for way in (trace, trace_mixed):
        with pytest.raises(UnsupportedOperator, match=message):
            way(code, {"x": T(4, 8)})


def test_what_later_calls_do_not_read_or_what_is_computed_once_is_no_state():
    x = torch.randn(4, 8)
    for way in (Steps.logged, Steps.rotated):
        steps = Steps()
        traced = trace(way.__get__(steps), {"x": T(4, 8)})
        assert (steps.shown, steps.angles, hasattr(steps, "last")) == (0, None, False)
        torch.testing.assert_close(traced.reference(x), way(Steps(), x))


@pytest.mark.parametrize("wrap", [lambda m: nn.Sequential(m), lambda m: torch.fx.GraphModule(*as_graph(m))])
def test_new_values_of_a_part_of_a_module_are_written(wrap):
    part, twin, x = Kept(), Kept(), torch.randn(4, 8)
    with pytest.raises(UnsupportedOperator, match=r"self\.0\.last"):
        trace(wrap(part), {"input": x})
    program = trace_mixed(wrap(part), {"input": x})

    assert not part.mean.any()
    for x in torch.randn(3, 4, 8):
        torch.testing.assert_close(run_mixed(program, program.named([x])), twin(x))
        torch.testing.assert_close((part.mean, part.last), (twin.mean, twin.last))


def as_graph(module):
    class Tracer(torch.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    root = nn.Sequential(module)
    return root, Tracer().trace(root)
