# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""torch.compile(model, backend="prism"): regions of a real module become kernels that were searched and proved.

Input: the graph of a module, from torch. It is divided into regions around its products (`entry/torch_regions.py`).
Each region is searched like any program, for tensors of the sizes and strides of the call. In one interleaved run its
kernel is timed beside torch eager and the default compiler, and the fastest runs (`events/fastest.py`). Everything else
is unchanged, and the report has a line for every region, which also counts the calls that a kernel did not take:

    compiler = px.TorchCompiler()
    fast = torch.compile(model, backend=compiler)
    fast(x)
    print(compiler.report())

Sizes, including symbolic ones, are those of the call at which torch compiles. A call that a kernel does not accept,
because of its sizes or strides, runs torch's code. A region has one dtype, so code under autocast is unchanged, and no
region spans a side effect (autocast, a change of the gradient mode, a write in place).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.entry.torch_regions import PRODUCTS, Region, flat_rows, function_name, regions_around
from prism_explore.errors import PrismError, ShapeError, TargetUnavailable
from prism_explore.events.fastest import COMPILED, EAGER, find_faster_baseline
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import LARGEST_OPS, fused_ops
from prism_explore.runtime.best import Best
from prism_explore.session.session import Session
from prism_explore.targets import KNOWN, Target
from prism_explore.tune import Budget
from prism_explore.tune.runner.torch_code import torch_compiled

Rest: TypeAlias = Literal["eager", "inductor"]


@dataclass(slots=True)
class Calls:
    """Counts of the calls of a region that has a kernel."""

    accepted: int = 0
    """The kernel ran."""
    refused: int = 0
    """The torch code ran, because the kernel does not take such tensors."""
    why: str = ""
    """The reason of the last refusal."""

    def __str__(self) -> str:
        count = self.accepted + self.refused
        return f"; {self.refused} of {count} calls ran torch: {self.why}" if self.refused else ""


@dataclass(frozen=True, slots=True)
class RegionOutcome:
    """The outcome of one region."""

    region: str
    """Names of torch's nodes, starting with the product."""
    replaced: bool
    reason: str
    """Why it was not replaced, or the speed-up of the kernel."""
    program: str = ""
    """The traced program as text; empty where the region could not be traced."""
    candidate: str = ""
    ratio: float | None = None
    """Speed-up over torch eager; None where it was not measured."""
    is_compiled: bool = False
    """Whether the default compiler's code runs, because it was faster than the kernel and than torch eager."""
    calls: Calls = field(default_factory=Calls, compare=False)
    """What ran since."""

    def __str__(self) -> str:
        never_ran = self.calls.refused > 0 and not self.calls.accepted
        state = "compiled" if self.is_compiled else "replaced" if self.replaced and not never_ran else "left"
        return f"{state:<9} {self.region}: {self.reason}{self.calls}"


@dataclass(slots=True)
class TorchCompiler:
    """A backend for torch.compile that records the outcome of each region.

    Args:
        target: the machine; this CPU by default.
        budget: of tuning, per region.
        rest: what runs the code that is not replaced: "eager" or "inductor".
        at_least: the required speed-up over the fastest baseline, within the noise of the run.
        baselines: what a kernel is timed beside: torch eager, which is always there, and the default compiler.
        seed: for the searches.

    Example:
        >>> import prism_explore as px
        >>> compiler = px.TorchCompiler(budget=px.Budget(trials=8, seconds=5.0))
        >>> compiler.report()  # torch.compile(model, backend=compiler) fills it
        'the graph has no product'
    """

    target: str | Target = "cpu"
    budget: Budget = field(default_factory=lambda: Budget(trials=16, seconds=10.0))
    rest: Rest = "eager"
    at_least: float = 1.0
    baselines: Sequence[str] = (EAGER, COMPILED)
    seed: int = 0
    outcomes: list[RegionOutcome] = field(default_factory=list[RegionOutcome])
    """One per region, in the order of torch's graphs."""
    _found: dict[str, tuple[RegionOutcome, Best | None]] = field(
        default_factory=dict[str, "tuple[RegionOutcome, Best | None]"]
    )

    def __post_init__(self) -> None:
        if self.rest not in get_args(Rest):
            raise ShapeError(f"rest= is one of {', '.join(map(repr, get_args(Rest)))}; found {self.rest!r}")
        if isinstance(self.target, str) and self.target not in KNOWN:
            raise TargetUnavailable(f"no target {self.target!r}; known are {', '.join(KNOWN)}")

    def __call__(self, module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
        """Compile a graph to the callable that torch runs in its place.

        Raises:
            ShapeError: an option was passed; the backend has none.
        """
        if options:
            raise ShapeError(f"the prism backend has no option {', '.join(options)}; set them on px.TorchCompiler(..)")
        graph = module.graph
        taken: set[Any] = set()
        decided: set[Any] = set()
        for product in [n for n in graph.nodes if function_name(n) in PRODUCTS]:
            if product in decided:
                continue
            outcome, region, best = self._decide(product, taken)
            self.outcomes.append(outcome)
            decided |= region.exclusive if region is not None else set()
            if region is not None and best is not None:
                taken |= region.exclusive
                _replace_region(module, region, best, outcome.calls)
            elif region is not None and outcome.is_compiled and self.rest == "eager":
                taken |= region.exclusive
                _insert(module, region, _compiled_region(region))
        graph.lint()
        module.recompile()
        if self.rest == "eager" or not any(n.op != "placeholder" for n in graph.nodes):
            return module.forward
        return _compile_rest(module)

    def report(self) -> str:
        """One line per region.

        Returns:
            The lines as text.
        """
        return "\n".join(map(str, self.outcomes)) or "the graph has no product"

    def _decide(self, product: Any, taken: set[Any]) -> tuple[RegionOutcome, Region | None, Best | None]:
        """Search the largest possible region around a product."""
        outcome = RegionOutcome(product.name, False, "no region around it")
        for region in regions_around(product, taken):
            outcome, best = self._search(region)
            if best is not None or outcome.program:
                return outcome, region, best
        return outcome, None, None

    def _search(self, region: Region) -> tuple[RegionOutcome, Best | None]:
        name = region.name
        if reason := region.obstacle:
            return RegionOutcome(name, False, reason), None
        try:
            module, inputs = region.module(), region.example_inputs()
            sess = Session(
                module,
                inputs=inputs,
                target=self.target,
                budget=self.budget,
                seed=self.seed,
                baselines=tuple(dict.fromkeys((EAGER, *self.baselines))),
                name="region",
            )
        except PrismError as error:
            return RegionOutcome(name, False, str(error).splitlines()[0]), None
        try:
            text = show(sess.program)
            operators = fused_ops(sess.program)
            if operators > LARGEST_OPS:
                return RegionOutcome(
                    name, False, f"{operators} operators in one kernel; the limit is {LARGEST_OPS}"
                ), None
            if text not in self._found:
                found = sess.best()
                best = found if isinstance(found, Best) else None
                self._found[text] = (self._outcome(name, text, sess, best), best)
        finally:
            sess.close()
        outcome, best = self._found[text]
        outcome = replace(outcome, region=name, reason=f"{outcome.reason}{region.sizes_text}", calls=Calls())
        return outcome, best if outcome.replaced else None

    def _outcome(self, name: str, text: str, sess: Session, best: Best | None) -> RegionOutcome:
        if best is None:
            return RegionOutcome(name, False, sess.claim, text)
        ratio = best.ratios.get(EAGER)
        if ratio is None:
            why = next((r.note for r in best.baselines if r.name == EAGER), "")
            return RegionOutcome(name, False, f"torch eager could not be timed: {why}", text, best.candidate)
        compiled = best.ratios.get(COMPILED)
        beside = f" and {compiled:.2f}x as fast as torch.compile" if compiled is not None else ""
        reason = f"{best.candidate} is {ratio:.2f}x as fast as torch eager{beside}"
        slow = find_faster_baseline(best.baselines, self.at_least)
        if slow is not None:
            reason += f"; {self.at_least:g}x is required ({slow})"
        is_compiled = slow is not None and slow.baseline.name == COMPILED and slow.baseline.ratio_p75 < 1.0
        return RegionOutcome(name, slow is None, reason, text, best.candidate, ratio, is_compiled)


def prism(module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend registered with torch as `prism`; it issues the report as a warning."""
    compiler = TorchCompiler()
    compiled = compiler(module, examples, **options)
    warnings.warn(f"prism: {compiler.report()}", stacklevel=2)
    return compiled


def _replace_region(module: Any, region: Region, best: Best, calls: Calls) -> None:
    import torch

    leads = tuple(map(region.has_rows, region.inputs)) if region.row_dims else ()
    warnings_left = [region.name]  # one warning per region, also if it runs in several threads

    class Replaced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.torch_code = region.module()

        def forward(self, *inputs: Any) -> Any:
            try:
                found = best.kernel(*_flattened(inputs, leads))
                calls.accepted += 1
            except ShapeError as error:
                calls.refused, calls.why = calls.refused + 1, str(error)
                with suppress(IndexError):
                    warnings.warn(f"prism: {warnings_left.pop()} runs in torch: {error}", stacklevel=2)
                return self.torch_code(*inputs)
            return found.reshape(*inputs[leads.index(True)].shape[:-1], found.shape[-1]) if leads else found

    _insert(module, region, Replaced())


def _flattened(inputs: tuple[Any, ...], leads: tuple[bool, ...]) -> tuple[Any, ...]:
    """The inputs, those with rows seen with all leading dims as one.

    Raises:
        ShapeError: that takes a copy of one of them.
    """
    if not leads:
        return inputs
    try:
        return tuple(flat_rows(x) if has_rows else x for x, has_rows in zip(inputs, leads, strict=True))
    except RuntimeError:
        raise ShapeError("an input's leading dims cannot be seen as one without a copy") from None


def _compiled_region(region: Region) -> Any:
    """The region's torch code, compiled by the default compiler at its first call."""
    import torch

    class Compiled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.torch_code = torch_compiled(region.module())

        def forward(self, *inputs: Any) -> Any:
            return self.torch_code(*inputs)

    return Compiled()


def _insert(module: Any, region: Region, made_module: Any) -> None:
    """Let a module compute a region's result in the graph."""
    result = region.nodes[-1]
    name = f"prism_{result.name}"
    module.add_submodule(name, made_module)
    with module.graph.inserting_before(result):
        made = module.graph.call_module(name, region.inputs)
    made.meta.update(result.meta)
    result.replace_all_uses_with(made)
    # Only nodes of the region: a write in place elsewhere has no users either, but is not dead code.
    for node in reversed(region.nodes):
        if not node.users:
            module.graph.erase_node(node)


def _compile_rest(module: Any) -> Callable[..., Any]:
    """Compile the code between the replaced regions with Inductor, one subgraph at a time."""
    import torch
    from torch._dynamo import lookup_backend
    from torch.fx.passes.split_module import split_module

    part_number, last_is_kernel = 0, False
    part_of: dict[Any, int] = {}
    for node in module.graph.nodes:
        is_kernel = node.op == "call_module" and str(node.target).startswith("prism_")
        if is_kernel != last_is_kernel or is_kernel:
            part_number, last_is_kernel = part_number + 1, is_kernel
        part_of[node] = part_number
    divided: Any = split_module(module, module, lambda node: part_of[node])
    inductor = lookup_backend("inductor")
    for name, part in divided.named_children():
        if not any(n.op == "call_module" for n in part.graph.nodes):
            setattr(divided, name, torch.compile(part, backend=inductor, dynamic=False))
    return divided.forward
