"""Torch's own operator database as judge of the frontend: is each operator traced whole, and does it stay right?

    .venv/bin/python benchmarks/torch_operators.py
    .venv/bin/python benchmarks/torch_operators.py --only softmax --samples 9

Source: `torch.testing._internal.common_methods_invocations.op_db`, with its sample inputs in float32. It needs the
package `expecttest`. Each sample is traced to a tensor program, or, where an operator has no row, to tensor programs
with opaque calls of torch between them. The reference interpreter computes the programs, torch the calls, and the
results are compared with torch's. There is no search. Samples with a dim of size 0 are left out.

An operator is one of:

whole       every sample is traced to one tensor program, and every result agrees
opaque      every sample is traced, some with opaque calls or in several parts, and every result agrees
partly      some samples are traced, and their results agree
refused     no sample is traced; the reason of the first is kept
export      torch.export cannot trace any sample
WRONG       a traced sample disagrees with torch
no floats   the operator has no float32 samples of one element or more
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from torch.utils import _pytree

from prism_explore.errors import PrismError, UnsupportedOperator
from prism_explore.frontend import trace
from prism_explore.frontend.mixed_program import evaluate_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.interpreter.reference import evaluate

Kind = Literal["whole", "opaque", "partly", "refused", "export", "WRONG", "no floats"]
KINDS: tuple[Kind, ...] = ("whole", "opaque", "partly", "refused", "export", "WRONG", "no floats")
EXPORT_FAILED = "torch.export could not trace"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one operator."""

    operator: str
    kind: Kind
    taken: int
    """Samples that were traced and agree."""
    tried: int
    reason: str = ""
    """Why the first sample that was not taken was refused, or where it disagrees."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator: a module of its tensors, and these tensors."""

    module: torch.fx.GraphModule
    tensors: tuple[torch.Tensor, ...]


def call_of(function: Any, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> Call:
    """A call as a graph of one node whose inputs are the call's tensors."""
    leaves, layout = _pytree.tree_flatten((arguments, by_name))
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]

    def code(*given: Any) -> Any:
        rest = iter(given)
        args, kwargs = _pytree.tree_unflatten(
            [next(rest) if isinstance(x, torch.Tensor) else x for x in leaves], layout
        )
        return function(*args, **kwargs)

    graph = torch.fx.Graph()
    inputs = tuple(graph.placeholder(f"x{n + 1}") for n in range(len(tensors)))
    graph.output(graph.call_function(code, inputs))
    return Call(torch.fx.GraphModule(torch.nn.Module(), graph), tuple(tensors))


def samples(entry: Any, count: int) -> Iterator[Call]:
    """The first sample of an operator and others, evenly spaced over its list."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = list(islice(entry.sample_inputs("cpu", torch.float32), 200))
    calls = [call_of(entry.op, (sample.input, *sample.args), sample.kwargs) for sample in found]
    calls = [call for call in calls if all(x.numel() for x in call.tensors)]
    yield from calls[:: max(1, len(calls) // count)][:count]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one sample that could be traced."""

    is_whole: bool
    """Whether it is one tensor program."""
    wrong: str = ""
    """Where it differs from torch; empty where it agrees."""


def outcome(call: Call) -> Outcome:
    """One sample, traced and compared with torch.

    Raises:
        PrismError: it cannot be traced.
    """
    inputs = {f"x{n + 1}": x for n, x in enumerate(call.tensors)}
    try:
        made = trace(call.module, inputs, name="operator")
    except PrismError:
        mixed = trace_mixed(call.module, inputs, "operator")
        given = {name: x.numpy() for name, x in mixed.bind(*call.tensors).items()}
        with np.errstate(all="ignore"):
            return Outcome(False, disagreement(call, evaluate_mixed(mixed, given, wide=False)))
    bound = made.bind(*call.tensors)
    with np.errstate(all="ignore"):
        results = evaluate(made.program, {b.name: x.numpy() for b, x in zip(made.bindings, bound, strict=True)})
    return Outcome(True, disagreement(call, results if isinstance(results, tuple) else (results,)))


def disagreement(call: Call, found: Sequence[Any]) -> str:
    """Where results differ from torch's; empty where they agree."""
    wanted = [x for x in _pytree.tree_leaves(call.module(*call.tensors)) if isinstance(x, torch.Tensor)]
    for x, y in zip(wanted, found, strict=True):
        if tuple(x.shape) != y.shape:
            return f"shape {y.shape}, torch has {tuple(x.shape)}"
        a, b = x.double().numpy(), np.asarray(y, np.float64)
        scale = float(np.max(np.abs(a[np.isfinite(a)]), initial=1.0))
        if not np.allclose(a, b, rtol=1e-4, atol=2e-6 * scale, equal_nan=True):
            at = int(np.argmax(~np.isclose(a, b, rtol=1e-4, atol=2e-6 * scale, equal_nan=True)))
            return f"{b.flat[at]}, torch has {a.flat[at]}"
    return ""


def short_reason(failure: PrismError) -> str:
    """A message without line and list of operators."""
    return re.sub(r"\s+", " ", str(failure).partition("; used at")[0].partition(". Supported")[0])[:160]


def judge(entry: Any, count: int) -> Verdict:
    """One operator, on up to `count` samples."""
    name = entry.name + (f".{entry.variant_test_name}" if entry.variant_test_name else "")
    if torch.float32 not in entry.dtypes:
        return Verdict(name, "no floats", 0, 0)
    taken, whole, tried, exported, reason = 0, 0, 0, 0, ""
    for call in samples(entry, count):
        tried += 1
        try:
            found = outcome(call)
        except PrismError as failure:
            exported += EXPORT_FAILED not in str(failure)
            reason = reason or short_reason(failure)
            continue
        if found.wrong:
            return Verdict(name, "WRONG", taken, tried, found.wrong)
        taken, whole, exported = taken + 1, whole + found.is_whole, exported + 1
    if not tried:
        return Verdict(name, "no floats", 0, 0)
    kind = (
        "whole"
        if whole == tried
        else "opaque"
        if taken == tried
        else "partly"
        if taken
        else "refused"
        if exported
        else "export"
    )
    return Verdict(name, kind, taken, tried, reason)


def operators(only: str = "") -> list[Any]:
    """Torch's database, or the entries whose names match."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [e for e in op_db if re.search(only, e.name)]


def counts(verdicts: Sequence[Verdict]) -> str:
    """One line per kind."""
    found = Counter(v.kind for v in verdicts)
    return "".join(f"{kind:10} {found[kind]:4}\n" for kind in KINDS)


def print_reasons(verdicts: Sequence[Verdict]) -> None:
    """Reasons with the operators that they concern, the most frequent first."""
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for v in verdicts:
        if v.reason:
            by_reason[v.kind, re.sub(r"\d+", "N", v.reason)].append(f"{v.operator} {v.taken}/{v.tried}")
    for (kind, reason), names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4}  {kind:8} {reason}\n        {', '.join(names)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names of operators")
    parser.add_argument("--samples", type=int, default=4, help="number of samples per operator")
    parser.add_argument("--list", action="store_true", help="print every operator")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start, verdicts = perf_counter(), []
    for entry in operators(options.only):
        began = perf_counter()
        try:
            verdicts.append(judge(entry, options.samples))
        except Exception as failure:  # a crash is a finding of its own
            if isinstance(failure, UnsupportedOperator):
                raise
            verdicts.append(Verdict(entry.name, "WRONG", 0, 0, f"crash: {type(failure).__name__}: {failure}"[:200]))
        if options.list:
            v = verdicts[-1]
            print(
                f"{v.operator:50} {v.kind:10} {v.taken}/{v.tried} {perf_counter() - began:5.1f} s  {v.reason}",
                flush=True,
            )
    print_reasons(verdicts)
    print(f"\n{counts(verdicts)}{len(verdicts)} operators, {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
