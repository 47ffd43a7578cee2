"""Torch's own databases of operators and modules as judge of the frontend: is each traced whole, and is it right?

    .venv/bin/python benchmarks/torch_operators.py
    .venv/bin/python benchmarks/torch_operators.py --only softmax --samples 9
    .venv/bin/python benchmarks/torch_operators.py --modules
    .venv/bin/python benchmarks/torch_operators.py --store verdicts.jsonl      # a second time, it goes on

Sources: `op_db` of `torch.testing._internal.common_methods_invocations` and, with `--modules`, `module_db` of
`common_modules`, with their sample inputs in float32; modules are in evaluation mode. They need the package
`expecttest`. Each sample is traced to a tensor program, or, where an operator has no row, to tensor programs with
opaque calls of torch between them. The reference interpreter computes the programs, torch the calls, and the results
are compared with torch's. There is no search.

A sample that returns its inputs or views of them computes nothing that could be searched. It is judged with its results
doubled, so that the view is part of a program. Samples are left out if a tensor of theirs has a dim of size 0, if they
have no tensor, or if their result does not depend on one.

An operator is one of:

whole       every sample is traced to one tensor program, and every result agrees
opaque      every sample is traced, some with opaque calls or in several parts, and every result agrees
partly      some samples are traced, and their results agree
refused     no sample is traced; the reason of the first is kept
export      torch.export cannot trace any sample
WRONG       a traced sample disagrees with torch
left out    there is no float32 sample, or all are left out
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from torch.utils import _pytree

from benchmarks.machine_info import package_versions, run_header
from prism_explore.errors import PrismError, UnsupportedOperator
from prism_explore.frontend.export import exported, traced, with_known_tensors
from prism_explore.frontend.mixed_program import evaluate_mixed
from prism_explore.frontend.mixed_trace import traced_in_parts
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.runtime.masked_rows import EXCLUDED, MaskedRows

Kind = Literal["whole", "opaque", "partly", "refused", "export", "WRONG", "left out"]
KINDS: tuple[Kind, ...] = ("whole", "opaque", "partly", "refused", "export", "WRONG", "left out")
EXPORT_FAILED = "torch.export could not trace"
NOTHING_COMPUTED = "there is nothing to search"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one operator."""

    operator: str
    kind: Kind
    taken: int
    """Samples that were traced and agree."""
    tried: int
    reason: str = ""
    """Why the first sample that is not one tensor program was refused or is opaque, or where it disagrees."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a function or module: a graph of it, and the tensors that it is called with."""

    function: Any
    leaves: tuple[Any, ...]
    """Its arguments, flattened."""
    layout: Any
    doubles: bool = False
    """Whether each float result is doubled."""

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The tensors among its arguments."""
        return tuple(x for x in self.leaves if isinstance(x, torch.Tensor))

    @property
    def module(self) -> torch.fx.GraphModule:
        """A graph of one node whose inputs are the tensors."""

        graph = torch.fx.Graph()
        inputs = tuple(graph.placeholder(f"x{n + 1}") for n in range(len(self.tensors)))
        if isinstance(self.function, torch.nn.Module):
            root = torch.nn.ModuleDict({"module": self.function})
            args, kwargs = self._arguments(inputs)
            found = graph.call_module("module", args, kwargs)
        else:
            root = torch.nn.Module()
            found = graph.call_function(lambda *given: self._called(given), inputs)
        graph.output(graph.call_function(_doubled, (found,)) if self.doubles else found)
        return torch.fx.GraphModule(root, graph)

    def _called(self, given: tuple[Any, ...]) -> Any:
        args, kwargs = self._arguments(given)
        return self.function(*args, **kwargs)

    def _arguments(self, given: tuple[Any, ...]) -> Any:
        """Positional and named arguments, with `given` in place of the tensors."""
        rest = iter(given)
        return _pytree.tree_unflatten(
            [next(rest) if isinstance(x, torch.Tensor) else x for x in self.leaves], self.layout
        )

    def run(self) -> list[torch.Tensor]:
        """The tensors that torch returns."""
        found = self.module(*copy.deepcopy(self.tensors))
        return [x for x in _pytree.tree_leaves(found) if isinstance(x, torch.Tensor)]


def _doubled(found: Any) -> Any:
    return _pytree.tree_map_only(torch.Tensor, lambda x: x * 2 if x.is_floating_point() else x, found)


def call_of(function: Any, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> Call:
    """A call with its arguments flattened."""
    leaves, layout = _pytree.tree_flatten((arguments, by_name))
    return Call(function, tuple(leaves), layout)


def spread(calls: Sequence[Call], count: int) -> Sequence[Call]:
    """The first call and others, evenly spaced, of those whose tensors all have an element."""
    calls = [call for call in calls if call.tensors and all(x.numel() for x in call.tensors)]
    return calls[:: max(1, len(calls) // count)][:count]


def operator_calls(entry: Any) -> list[Call]:
    """The samples of an operator of `op_db`."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = list(islice(entry.sample_inputs("cpu", torch.float32), 200))
    return [call_of(entry.op, (sample.input, *sample.args), sample.kwargs) for sample in found]


def module_calls(entry: Any) -> list[Call]:
    """The samples of a module of `module_db`, each a module of its own."""
    found: list[Call] = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kind = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": False}
        for sample in entry.module_inputs_func(entry, **kind):
            made, given = sample.constructor_input, sample.forward_input
            if any(isinstance(x, torch.Tensor) and x.dtype == torch.float64 for x in made.kwargs.values()):
                continue  # fractional pooling's random numbers, which fit no float32 input
            module = entry.module_cls(*made.args, **made.kwargs).eval()
            # A lazy module makes its parameters in its first call.
            module(*given.args, **given.kwargs)
            found.append(call_of(module.requires_grad_(False), tuple(given.args), given.kwargs))
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one sample that could be traced."""

    opaque: str = ""
    """Why it is not one tensor program; empty where it is."""
    wrong: str = ""
    """Where it differs from torch; empty where it agrees."""


def outcome(call: Call) -> Outcome:
    """One sample, traced and compared with torch.

    Raises:
        PrismError: it cannot be traced.
    """
    inputs = {f"x{n + 1}": x for n, x in enumerate(call.tensors)}
    graph = with_known_tensors(exported(call.module, inputs, "operator", in_parts=True))
    try:
        if graph.written:
            raise UnsupportedOperator(f"it writes into {', '.join(graph.written)}")
        made = traced(graph)
    except PrismError as failure:
        if NOTHING_COMPUTED in str(failure):
            raise
        mixed = traced_in_parts(graph)
        given = {name: x.numpy() for name, x in mixed.bind(*call.tensors).items()}
        with np.errstate(all="ignore"):
            found = evaluate_mixed(mixed, given, wide=False)
        return Outcome(short_reason(failure), disagreement(call, found[: len(found) - len(mixed.written)]))
    bound = made.bind(*call.tensors)
    with np.errstate(all="ignore"):
        results = evaluate_results(made.program, {b.name: x.numpy() for b, x in zip(made.bindings, bound, strict=True)})
    if MaskedRows(made.program).has_empty_row(bound, {}):
        return Outcome(f"{EXCLUDED}; such a call runs torch")
    if made.form is None:
        return Outcome(wrong=disagreement(call, results))
    tensors = {**inputs, **made.parameters}
    leaves = _pytree.tree_leaves(made.form.filled(results if len(results) > 1 else results[0], tensors))
    found = [np.asarray(x) for x in leaves if isinstance(x, np.ndarray | torch.Tensor)]
    return Outcome(wrong=disagreement(call, found))


def disagreement(call: Call, found: Sequence[Any]) -> str:
    """Where results differ from torch's; empty where they agree."""
    wanted = call.run()
    for x, y in zip(wanted, found, strict=True):
        if tuple(x.shape) != y.shape:
            return f"shape {y.shape}, torch has {tuple(x.shape)}"
        if x.is_complex():
            x, y = torch.view_as_real(x.resolve_conj()), np.stack([y.real, y.imag], -1)
        a, b = x.double().numpy(), np.asarray(y, np.float64)
        scale = float(np.max(np.abs(a[np.isfinite(a)]), initial=1.0))
        # The interpreter does not round what a cast stores in 16 bits; torch does.
        rounding = torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
        agrees = np.isclose(a, b, rtol=max(1e-4, rounding), atol=2e-6 * scale, equal_nan=True)
        if not agrees.all():
            at = int(np.argmax(~agrees))
            return f"{b.flat[at]}, torch has {a.flat[at]}"
    return ""


def judged(call: Call) -> Outcome | None:
    """As `outcome`, the results doubled where nothing else is computed; None for a sample to be left out.

    Raises:
        PrismError: it cannot be traced.
    """
    for tried in (call, replace(call, doubles=True)):
        try:
            return outcome(tried)
        except PrismError as failure:
            if NOTHING_COMPUTED in str(failure):
                continue
            if has_empty_result(call):
                return None
            raise
    return None


def has_empty_result(call: Call) -> bool:
    """Whether torch returns a tensor without elements; False where torch cannot run the sample on this machine."""
    try:
        return any(not x.numel() for x in call.run())
    except Exception:
        return False


def short_reason(failure: PrismError) -> str:
    """A message without line and list of operators."""
    return re.sub(r"\s+", " ", str(failure).partition("; used at")[0].partition(". Supported")[0])[:160]


def name_of(entry: Any) -> str:
    """The name of an entry of either database, with its variant."""
    variant = getattr(entry, "variant_test_name", "")
    return str(entry.name) + (f".{variant}" if variant else "")


def judge(entry: Any, count: int) -> Verdict:
    """One operator or module, on up to `count` samples."""
    name, is_module = name_of(entry), hasattr(entry, "module_cls")
    if torch.float32 not in entry.dtypes:
        return Verdict(name, "left out", 0, 0)
    taken, whole, tried, exported, reason = 0, 0, 0, 0, ""
    for call in spread(module_calls(entry) if is_module else operator_calls(entry), count):
        try:
            found = judged(call)
        except PrismError as failure:
            tried += 1
            exported += EXPORT_FAILED not in str(failure)
            reason = reason or short_reason(failure)
            continue
        if found is None:
            continue
        tried += 1
        if found.wrong:
            return Verdict(name, "WRONG", taken, tried, found.wrong)
        taken, whole, exported = taken + 1, whole + (not found.opaque), exported + 1
        reason = reason or found.opaque
    if not tried:
        return Verdict(name, "left out", 0, 0)
    kind: Kind = "refused" if exported else "export"
    for possible, holds in (("partly", taken > 0), ("opaque", taken == tried), ("whole", whole == tried)):
        kind = possible if holds else kind
    return Verdict(name, kind, taken, tried, reason)


def modules(only: str = "") -> list[Any]:
    """Torch's database of modules, or the entries whose names match."""
    from torch.testing._internal.common_modules import module_db

    return [e for e in module_db if re.search(only, e.name)]


def operators(only: str = "") -> list[Any]:
    """Torch's database, or the entries whose names match."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [e for e in op_db if re.search(only, e.name)]


def stored(path: Path) -> dict[str, Verdict]:
    """The verdicts of a file that `--store` wrote, by operator; none if there is no such file."""
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return {v.operator: v for v in (Verdict(**json.loads(line)) for line in lines)}


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
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--samples", type=int, default=4, help="number of samples of each")
    parser.add_argument("--modules", action="store_true", help="judge modules instead of operators")
    parser.add_argument("--list", action="store_true", help="print each verdict")
    parser.add_argument("--store", type=Path, help="a file of verdicts: those in it are kept, the others are appended")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start, verdicts = perf_counter(), []
    known = stored(options.store) if options.store else {}
    if options.store and not known:
        header = {**run_header(), "versions": package_versions(), "samples": options.samples}
        options.store.write_text(json.dumps(header) + "\n")
    for entry in (modules if options.modules else operators)(options.only):
        began = perf_counter()
        if name_of(entry) in known:
            verdicts.append(known[name_of(entry)])
            continue
        try:
            verdicts.append(judge(entry, options.samples))
        except Exception as failure:  # a crash is a finding of its own
            if isinstance(failure, UnsupportedOperator):
                raise
            verdicts.append(Verdict(name_of(entry), "WRONG", 0, 0, f"crash: {type(failure).__name__}: {failure}"[:200]))
        v = verdicts[-1]
        if options.store:
            with options.store.open("a") as file:
                file.write(json.dumps(asdict(v)) + "\n")
        if options.list:
            print(
                f"{v.operator:50} {v.kind:10} {v.taken}/{v.tried} {perf_counter() - began:5.1f} s  {v.reason}",
                flush=True,
            )
    print_reasons(verdicts)
    what = "modules" if options.modules else "operators"
    print(f"\n{counts(verdicts)}{len(verdicts)} {what}, {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
