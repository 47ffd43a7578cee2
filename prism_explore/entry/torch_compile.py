# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""torch.compile(model, backend="prism"): regions of a real module become kernels that were searched and proved.

Input: the graph of a module, from torch. A *region* is a product with the cheap operators before it (such as a norm,
recomputed for each product that reads it) and after it (an activation, a residual), and a second product where both
meet, as in gated layers. Each region is searched like any program; its kernel replaces it unless torch was faster in
one interleaved run (`events/fastest.py`). Everything else is unchanged, and every region has a row with its outcome:

    compiler = px.TorchCompiler()
    fast = torch.compile(model, backend=compiler)
    fast(x)
    print(compiler.report())

Sizes, including symbolic ones, are those of the call at which torch compiles. A call that a kernel does not accept,
because of its sizes or strides, runs torch's code. A region has one dtype, so code under autocast is unchanged, and no
region spans a side effect (autocast, a change of the gradient mode, a write in place).
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import PrismError, ShapeError, TargetUnavailable
from prism_explore.events.fastest import EAGER, find_faster_baseline
from prism_explore.ir.elementwise import COMPOSITE, UNARY
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import LARGEST_OPS, fused_ops
from prism_explore.runtime.best import Best
from prism_explore.session.session import Session
from prism_explore.targets import KNOWN, Target
from prism_explore.tune import Budget

Rest: TypeAlias = Literal["eager", "inductor"]
MAX_NODES = 24
"""Largest number of nodes in one region."""
RECOMPUTE_RATIO = 8
"""A shared operator is recomputed in a region whose weights have at least this many times its elements."""

_PRODUCTS = {"linear", "matmul", "mm", "bmm", "addmm", "scaled_dot_product_attention"}
_POINTWISE = {
    *("add", "sub", "mul", "truediv", "div", "pow", "maximum", "minimum", "to", "float"),
    *(aten for row in UNARY.values() for aten in row.aten),
    *COMPOSITE,
}
_PER_ROW = {"mean", "sum", "rms_norm", "layer_norm", "softmax"}
"""Reductions; a region includes them only over the last dim."""


@dataclass(frozen=True, slots=True)
class Row:
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

    def __str__(self) -> str:
        return f"{'replaced' if self.replaced else 'left':<9} {self.region}: {self.reason}"


@dataclass(slots=True)
class TorchCompiler:
    """A backend for torch.compile that records the outcome of each region.

    Args:
        target: the machine; this CPU by default.
        budget: of tuning, per region.
        rest: what runs the code that is not replaced: "eager" or "inductor".
        at_least: the required speed-up over torch eager, within the noise of the run.
        seed: for the searches.

    Example:
        >>> import prism_explore as px
        >>> compiler = px.TorchCompiler(budget=px.Budget(trials=8, seconds=5.0))
        >>> compiler.report()  # torch.compile(model, backend=compiler) fills it
        'torch handed over no product'
    """

    target: str | Target = "cpu"
    budget: Budget = field(default_factory=lambda: Budget(trials=16, seconds=10.0))
    rest: Rest = "eager"
    at_least: float = 1.0
    seed: int = 0
    rows: list[Row] = field(default_factory=list[Row])
    """One per region, in the order of torch's graphs."""
    _found: dict[str, tuple[Row, Best | None]] = field(default_factory=dict[str, "tuple[Row, Best | None]"])

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
        for product in [n for n in graph.nodes if _name(n) in _PRODUCTS]:
            if product in decided:
                continue
            row, region, best = self._decide(product, taken)
            self.rows.append(row)
            decided |= region.exclusive if region is not None else set()
            if region is not None and best is not None:
                taken |= region.exclusive
                _replace(module, region, best)
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
        return "\n".join(map(str, self.rows)) or "torch handed over no product"

    def _decide(self, product: Any, taken: set[Any]) -> tuple[Row, Region | None, Best | None]:
        """Search the largest possible region around a product."""
        row = Row(product.name, False, "no region around it")
        for region in _regions(product, taken):
            row, best = self._search(region)
            if best is not None or row.program:
                return row, region, best
        return row, None, None

    def _search(self, region: Region) -> tuple[Row, Best | None]:
        name = region.name
        if reason := region.obstacle:
            return Row(name, False, reason), None
        try:
            module, given = region.module(), region.example_inputs()
            sess = Session(
                module,
                inputs=given,
                target=self.target,
                budget=self.budget,
                seed=self.seed,
                baselines=(EAGER,),
                name="region",
            )
        except PrismError as error:
            return Row(name, False, str(error).splitlines()[0]), None
        try:
            text = show(sess.program)
            takes = fused_ops(sess.program)
            if takes > LARGEST_OPS:
                return Row(name, False, f"{takes} operators in one kernel; {LARGEST_OPS} are searched"), None
            if text not in self._found:
                found = sess.best()
                best = found if isinstance(found, Best) else None
                self._found[text] = (self._row(name, text, sess, best), best)
        finally:
            sess.close()
        row, best = self._found[text]
        said = f"{row.reason}{region.sizes_text}"
        return Row(name, row.replaced, said, text, row.candidate, row.ratio), best if row.replaced else None

    def _row(self, name: str, text: str, sess: Session, best: Best | None) -> Row:
        if best is None:
            return Row(name, False, sess.claim, text)
        ratio = best.ratios.get(EAGER)
        if ratio is None:
            why = next((r.note for r in best.baselines if r.name == EAGER), "")
            return Row(name, False, f"torch eager could not be timed beside it: {why}", text, best.candidate)
        said = f"{best.candidate} is {ratio:.2f}x as fast as torch eager"
        slow = find_faster_baseline(best.baselines, self.at_least)
        if slow is not None:
            said += f"; {self.at_least:g}x is asked for ({slow})"
        return Row(name, slow is None, said, text, best.candidate, ratio)


def prism(module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend registered with torch as `prism`; it issues the report as a warning."""
    compiler = TorchCompiler()
    made = compiler(module, examples, **options)
    warnings.warn(f"prism: {compiler.report()}", stacklevel=2)
    return made


# ---------------------------------------------------------------- regions
@dataclass(frozen=True, slots=True)
class Region:
    """A set of nodes of torch's graph with one result."""

    nodes: tuple[Any, ...]
    """In graph order; the last is the result."""
    inputs: tuple[Any, ...]
    """Nodes outside the region that it reads."""
    exclusive: frozenset[Any]
    """Nodes that nothing outside the region reads, except the result."""

    @property
    def name(self) -> str:
        """Display name."""
        return " ".join(n.name for n in self.nodes if n in self.exclusive)

    @property
    def row_dims(self) -> tuple[int, ...] | None:
        """Leading dims to flatten into one, where every operator works on rows independently; None otherwise."""
        lead = self._leading_dims
        if len(lead) < 2:
            return None
        for node in self.nodes:
            name = _name(node)
            if name not in _POINTWISE | _PER_ROW | {"linear"} or _sizes(node)[:-1] != lead:
                return None
            weights = node.args[1:] if name == "linear" else ()
            given = [i for i in node.all_input_nodes if i in self.inputs and not self.has_rows(i) and i not in weights]
            if any(len(_sizes(i)) > 1 for i in given):
                return None
        return lead

    @property
    def _leading_dims(self) -> tuple[int, ...]:
        return _sizes(self.nodes[-1])[:-1]

    def has_rows(self, node: Any) -> bool:
        """Whether a tensor has the leading dims of the result."""
        shape = _sizes(node)
        return len(shape) == len(self._leading_dims) + 1 and shape[:-1] == self._leading_dims

    @property
    def obstacle(self) -> str:
        """Why no kernel can replace the region; empty where one can."""
        tensors = (*self.inputs, *self.nodes)
        if numbers := [n.name for n in tensors if not hasattr(_value(n), "shape")]:
            return f"it reads {numbers[0]}, a number that is known only when it runs"
        if unknown := [n.name for n in tensors if None in _sizes(n)]:
            return f"a size of {unknown[0]} depends on data"
        floating = (_value(n).dtype for n in tensors if _value(n).is_floating_point())
        dtypes = dict.fromkeys(str(d).removeprefix("torch.") for d in floating)
        if len(dtypes) > 1:
            return f"{', '.join(dtypes)} meet in it, by a cast or by autocast; a kernel is of one dtype"
        node = self.nodes[0]
        while not _has_side_effect(node):
            if node is self.nodes[-1]:
                return ""
            node = node.next
        return f"{node.name} writes in place or switches something between its operators, so their order matters"

    @property
    def sizes_text(self) -> str:
        """The sizes of the search, as text, where torch's sizes are symbolic."""
        shapes = [tuple(_value(i).shape) for i in self.inputs]
        open_sizes = dict.fromkeys(f"{n}={n.node.hint}" for s in shapes for n in s if not isinstance(n, int))
        return f"; at {', '.join(open_sizes)}, torch runs at other sizes" if open_sizes else ""

    def example_inputs(self) -> dict[str, Any]:
        """Meta tensors of the inputs' shapes, by argument name of the module."""
        import torch

        rows, found = self.row_dims, {}
        for i, node in enumerate(self.inputs):
            sizes = _sizes(node)
            shape = (prod(rows), sizes[-1]) if rows and self.has_rows(node) else sizes
            found[f"x{i}"] = torch.empty(shape, dtype=_value(node).dtype, device="meta")
        return found

    def module(self) -> Any:
        """A separate module with the same nodes."""
        import torch

        graph = torch.fx.Graph()
        made: dict[Any, Any] = {n: graph.placeholder(f"x{i}") for i, n in enumerate(self.inputs)}
        for node in self.nodes:
            made[node] = graph.node_copy(node, lambda n: made[n])
        graph.output(made[self.nodes[-1]])
        return torch.fx.GraphModule(torch.nn.Module(), graph)


def _regions(product: Any, taken: set[Any]) -> Iterator[Region]:
    """Regions around a product, largest first."""
    seen: set[frozenset[Any]] = set()
    for behind in (True, False):
        for before in (True, False):
            core = _grow(product, taken, before, behind)
            if core is not None and frozenset(core) not in seen:
                seen.add(frozenset(core))
                yield _region(core)


def _grow(product: Any, taken: set[Any], before: bool, behind: bool) -> set[Any] | None:
    core = {product} | (_producers(product, taken) if before else set())
    result, products = product, 1
    while behind and len(result.users) == 1:
        (user,) = result.users
        if _name(user) not in _POINTWISE or user in taken:
            break
        grown = {user}
        for other in user.all_input_nodes:
            if other is result or other in core:
                continue
            branch = _branch(other, user, taken, before) if products == 1 else None
            if branch is not None and branch & core == branch:
                continue
            if branch is not None:
                grown |= branch
                products += 1
        if len(core | grown) > MAX_NODES or not _is_convex(core | grown, user):
            break
        core |= grown
        result = user
    if len(core) > MAX_NODES or not _is_convex(core, result):
        return None
    return core


def _branch(node: Any, user: Any, taken: set[Any], before: bool) -> set[Any] | None:
    """A chain of cheap operators from a product that nothing else reads, with its producers; None for no such chain."""
    chain: set[Any] = set()
    while set(node.users) == {user} and node not in taken:
        chain.add(node)
        if _name(node) in _PRODUCTS:
            return chain | (_producers(node, taken) if before else set())
        if _name(node) not in _POINTWISE or len(node.all_input_nodes) != 1:
            return None
        node, user = node.all_input_nodes[0], node
    return None


def _producers(product: Any, taken: set[Any]) -> set[Any]:
    """The cheap operators before a product whose recomputation cost is negligible."""
    weights = max((_elements(i) for i in product.all_input_nodes if i.op in ("placeholder", "get_attr")), default=0)
    found: set[Any] = set()
    open_nodes = list(product.all_input_nodes)
    while open_nodes:
        node = open_nodes.pop()
        cheap = _is_cheap(node) and node not in taken and node not in found
        if not cheap or (len(node.users) > 1 and _elements(node) * RECOMPUTE_RATIO > weights):
            continue
        found.add(node)
        open_nodes += node.all_input_nodes
    return found


def _region(core: set[Any]) -> Region:
    graph = next(iter(core)).graph
    nodes = tuple(n for n in graph.nodes if n in core)
    inputs = tuple(dict.fromkeys(i for n in nodes for i in n.all_input_nodes if i not in core))
    needed: set[Any] = {nodes[-1]}
    for node in reversed(nodes[:-1]):
        if set(node.users) <= needed:
            needed.add(node)
    return Region(nodes, inputs, frozenset(needed))


def _is_convex(core: set[Any], result: Any) -> bool:
    """Whether no input of a region depends on its result or on a node that only the region computes."""
    inner = {n for n in core if not _is_cheap(n) or n is result}
    outside = [i for n in core for i in n.all_input_nodes if i not in core]
    seen: set[Any] = set()
    while outside:
        node = outside.pop()
        if node in inner:
            return False
        if node not in seen:
            seen.add(node)
            outside += node.all_input_nodes
    return all(n is result or set(n.users) <= core or _is_cheap(n) for n in core)


def _is_cheap(node: Any) -> bool:
    name = _name(node)
    if name in _PER_ROW:
        along = [*node.args[1:2], *(node.kwargs[k] for k in ("dim", "normalized_shape") if k in node.kwargs)]
        return along in ([-1], [[-1]], [(-1,)]) or name in ("rms_norm", "layer_norm")
    return name in _POINTWISE and _value(node) is not None


def _name(node: Any) -> str:
    """Name of the called function; empty where the node returns no floating-point tensor."""
    if node.op not in ("call_function", "call_method") or not getattr(_value(node), "is_floating_point", bool)():
        return ""
    if node.op == "call_method":
        return node.target
    if node.target is operator.matmul:
        return "matmul"
    return getattr(node.target, "__name__", "")


def _has_side_effect(node: Any) -> bool:
    """Whether a node has a side effect: autocast, a change of the gradient mode, a write in place."""
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    in_place = (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE or node.kwargs.get("inplace")
    return node.op in ("call_function", "call_method") and bool(in_place or node.is_impure())


_IN_PLACE = {"setitem", "iadd", "isub", "imul", "itruediv", "ipow", "imatmul"}


def _value(node: Any) -> Any:
    return node.meta.get("example_value")


def _sizes(node: Any) -> tuple[Any, ...]:
    """A tensor's sizes in the call at which torch compiles; None for a data-dependent size."""
    return tuple(n if isinstance(n, int) else n.node.hint for n in _value(node).shape)


def _elements(node: Any) -> int:
    return prod(n or 0 for n in _sizes(node)) if hasattr(_value(node), "shape") else 0


# ---------------------------------------------------------------- replacement
def _replace(module: Any, region: Region, best: Best) -> None:
    import torch

    leads = tuple(map(region.has_rows, region.inputs)) if region.row_dims else ()
    unsaid = [region.name]  # taken out by the first that says it: a region may run in several threads

    class Replaced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain = region.module()

        def forward(self, *inputs: Any) -> Any:
            flat = inputs
            if leads:
                flat = tuple(x.reshape(-1, x.shape[-1]) if own else x for x, own in zip(inputs, leads, strict=True))
            try:
                found = best.kernel(*flat)
            except ShapeError as error:
                with suppress(IndexError):
                    warnings.warn(f"prism: {unsaid.pop()} runs in torch: {error}", stacklevel=2)
                return self.plain(*inputs)
            return found.reshape(*inputs[leads.index(True)].shape[:-1], found.shape[-1]) if leads else found

    result = region.nodes[-1]
    name = f"prism_{result.name}"
    module.add_submodule(name, Replaced())
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

    piece, ours = 0, False
    pieces: dict[Any, int] = {}
    for node in module.graph.nodes:
        is_ours = node.op == "call_module" and str(node.target).startswith("prism_")
        if is_ours != ours or is_ours:
            piece, ours = piece + 1, is_ours
        pieces[node] = piece
    whole: Any = split_module(module, module, lambda node: pieces[node])
    inductor = lookup_backend("inductor")
    for name, part in whole.named_children():
        if not any(n.op == "call_module" for n in part.graph.nodes):
            setattr(whole, name, torch.compile(part, backend=inductor, dynamic=False))
    return whole.forward
