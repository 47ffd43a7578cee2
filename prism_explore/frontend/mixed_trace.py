# pyright: basic
# torch and its graphs are untyped throughout.
"""Traces a torch program whole: parts that rows translate, and opaque calls of torch between them.

    read    each operator's value; an operator that no row takes becomes an opaque call, its results further inputs
    call    views, constants and sizes that an opaque call reads are calls, too; parts have their own copies of them
    order   a *stage* per node: a part reads only opaque calls of earlier stages, and runs as late as its readers allow
    cut     the operators of a stage, if `fits` does not allow all in one part, into parts with one result each

A part that cannot be translated alone, such as one whose result is a mask, is left to torch, and the cut starts anew.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isinf
from typing import Any

from prism_explore.errors import PrismError, ShapeError, UnsupportedOperator
from prism_explore.frontend.aten.complex_numbers import complex_of
from prism_explore.frontend.aten.constants import MaskedConstant, is_minus_infinity
from prism_explore.frontend.aten.lookups import LOOKUPS
from prism_explore.frontend.aten.small_tables import numbers_of_tensors
from prism_explore.frontend.aten.table import BY_NAME
from prism_explore.frontend.export import Exported, exported, is_readable, translate, with_known_tensors
from prism_explore.frontend.known_tensors import constant_of
from prism_explore.frontend.loop_steps import loops_in, parts_read, steps_of
from prism_explore.frontend.lower_aten import (
    TORCH_BACKEND,
    Integers,
    Translation,
    Unused,
    Value,
    View,
    is_size_of_data,
    operator_name,
    valid_name,
)
from prism_explore.frontend.mixed_program import Computation, MixedProgram, ProgramInput, Step
from prism_explore.frontend.opaque import (
    Argument,
    CallResult,
    OpaqueCall,
    TensorRef,
    has_writing_form,
    plain_constant,
    result_type,
    why_not_opaque,
)
from prism_explore.frontend.result_form import Computed, ResultForm
from prism_explore.frontend.traced_program import Traced
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.ops import Expand, Permute, Reshape, Slice
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import DTYPE_OF_NAME, INTEGERS, TensorType, dtype_name
from prism_explore.support.union_find import UnionFind

LONGEST = 48
"""The most nodes of a part that is cut from a stage."""
SHORT = 12
"""A row that makes at most as many nodes is never left to torch."""


def trace_mixed(
    code: Callable[..., Any],
    inputs: Mapping[str, Any],
    name: str | None = None,
    fits: Callable[[TensorProgram], bool] = lambda part: True,
    why_left: Callable[[TensorProgram], str] = lambda operator: "",
) -> MixedProgram:
    """The whole program of a torch function or module, as tensor programs and opaque calls.

    Args:
        code: a function of tensors, or an `nn.Module`.
        inputs: per argument a TensorType (its dims may be symbols) or an example tensor.
        name: the name of the program; by default the name of the code.
        fits: whether a part is small enough for one search.
        why_left: why torch computes an operator whose row makes this program; empty where a part may have it.

    Raises:
        UnsupportedOperator: torch.export cannot trace the code, or an operator is no function of its arguments.
        ShapeError: arguments do not match the signature, or dims do not fit.
    """
    return traced_in_parts(with_known_tensors(exported(code, inputs, name, in_parts=True)), fits, why_left)


def traced_in_parts(
    given: Exported,
    fits: Callable[[TensorProgram], bool] = lambda part: True,
    why_left: Callable[[TensorProgram], str] = lambda operator: "",
) -> MixedProgram:
    """The whole program of torch's graph; the other arguments and errors are those of `trace_mixed`."""
    if any(map(is_minus_infinity, given.constants.values())):
        with suppress(PrismError):
            found = _in_parts(given, fits, why_left, in_parts=False)
            if not any(isinstance(step, OpaqueCall) for step in found.steps):
                return found
    return _in_parts(given, fits, why_left, in_parts=True)


def _in_parts(
    given: Exported,
    fits: Callable[[TensorProgram], bool],
    why_left: Callable[[TensorProgram], str],
    *,
    in_parts: bool,
) -> MixedProgram:
    """The program, with what torch computes; for `in_parts`, see `known_constant`."""
    left = _writes(given)
    is_weighed = False
    while True:
        reader = _Reader(given, left, in_parts=in_parts)
        reader.read()
        if reader.positions:
            left |= reader.positions
            continue
        cut = _Cut(reader, fits)
        if not is_weighed:
            is_weighed = True
            if more := cut.left(why_left):
                left |= more
                continue
        try:
            steps = cut.steps()
        except _NotAlone as failure:
            left |= failure.reasons
            continue
        return reader.program(steps)


def _writes(given: Exported) -> dict[Any, str]:
    """The operators that torch runs as writes into a tensor of the caller: nothing else reads what they change."""
    (output,) = (n for n in given.graph.nodes if n.op == "output")
    found: dict[Any, str] = {}
    for source, value in zip(given.written, output.args[0], strict=False):
        writes: list[Any] = []
        node = value
        while node.op == "call_function" and has_writing_form(operator_name(node.target)):
            writes.append(node)
            node = node.args[0]
        if node.op == "placeholder":
            first = itertools.takewhile(lambda write: len(write.args[0].users) == 1, reversed(writes))
            found |= dict.fromkeys(first, f"torch writes it into {source}")
    return found


class _NotAlone(Exception):
    """Operators that rows translate only together with their readers, each with the reason."""

    def __init__(self, reasons: Mapping[Any, str]) -> None:
        super().__init__(*reasons.values())
        self.reasons = reasons


class _Reader(Translation):
    """The value of every node of a graph, where opaque calls are further inputs."""

    may_leave = True
    repeats = True  # a part computes again what another one has computed, too

    def __init__(self, given: Exported, left: Mapping[Any, str], *, in_parts: bool) -> None:
        self.given = given
        self.own_tensors = dict(given.parameters)
        sources = dict(given.sources)
        fixed: dict[str, Value] = {}
        for placeholder, (name, _) in given.sources.items():  # torch computes what reads them
            if name in given.parameters and dtype_name(given.parameters[name].dtype) in FLOAT8_FORMATS:
                fixed[placeholder] = Unused(f"{name!r}, a tensor of 8-bit floats,")
        self._symbols = _symbols_of(given)
        infinite: set[str] = set()
        self._unread: set[str] = set()
        """Integer constants that no lookup can read."""
        for placeholder, tensor in given.constants.items():
            known = constant_of(given.graph, placeholder, tensor, in_parts=in_parts)
            if known is not None:
                fixed[placeholder] = known
            elif tensor is not None and not tensor.numel():
                fixed[placeholder] = Unused(f"the constant {placeholder!r} of the code, which has no elements,")
            elif tensor is not None and not bool(tensor.isfinite().all()):
                infinite.add(placeholder)
                fixed[placeholder] = Unused(f"the constant {placeholder!r} of the code, which is not finite,")
            elif tensor is not None and dtype_name(tensor.dtype) in DTYPE_OF_NAME:
                sources[placeholder] = (placeholder, result_type(tensor, self.size_of))
                if not is_readable(tensor):
                    self._unread.add(placeholder)
            else:
                fixed[placeholder] = Unused(f"the constant {placeholder!r} of the code")
            self.own_tensors[placeholder] = tensor
        # Of the module's tensors, whose numbers may change, programs of parts have none.
        super().__init__(given.name, sources, BY_NAME, fixed, numbers=numbers_of_tensors(given.constants))
        self.tensors, self.fixed = sources, fixed
        (self.output,) = (n for n in given.graph.nodes if n.op == "output")
        self.nodes = _read_nodes(given.graph)
        self.left = left
        self.opaque: dict[Any, str] = {}
        """Calls of operators, each with the reason why torch computes it."""
        self.lines: dict[Any, str] = {}
        self.made: dict[Any, int] = {}
        """Per node, how many nodes of the program its row made."""
        self.views: set[Any] = set()
        """Nodes whose rows rearrange only."""
        self.positions: dict[Any, str] = {}
        """Integers that are computed and that a lookup reads, each with the reason why torch computes it."""
        self._infinite = {n for n in self.nodes if n.name in infinite}
        """Nodes whose elements may be infinite: rows are formulas over real numbers."""

    def read(self) -> None:
        """Give every node its value."""
        for node in self.nodes:
            before = len(self.build.nodes)
            if node.op not in ("placeholder", "call_function"):
                what = f"{self.given.name} has control flow that depends on data ({node.name})"
                raise UnsupportedOperator(f"{what}; put it outside of the function; {TORCH_BACKEND} leaves it to torch")
            self.visit(node)
            self.lines[node] = self.line
            made = self.build.nodes[before:]
            self.made[node] = len(made)
            is_part = operator_name(node.target) == "getitem" and node.args[0] in self.views
            if is_part or (made and all(isinstance(n.op, Permute | Reshape | Expand | Slice) for n in made)):
                self.views.add(node)

    def value_of(self, node: Any) -> Value:
        """The value of a node; `Unused` where nothing reads it."""
        return self._values.get(node, Unused("what nothing reads"))

    def computes(self, node: Any) -> bool:
        """Whether the value of a node is a tensor of the program, and no view or value of a tensor which it reads."""
        value = self.value_of(node)
        is_read = node in self.views or any(self.value_of(n) == value for n in node.all_input_nodes)
        return isinstance(value, int) and not is_read

    def integers(self, value: Value) -> Integers | None:
        """As for any translation; None also for constants that no lookup can read."""
        found = super().integers(value)
        return None if found is None or found.placeholder in self._unread else found

    def _call(self, node: Any) -> Value:
        name = operator_name(node.target)
        reads_infinite = not self._infinite.isdisjoint(node.all_input_nodes)
        if name == "getitem" and node.args[0] in self.opaque:
            self._infinite |= {node} if reads_infinite else set()
            return self._declared(node, node.meta["val"])
        reason = self.left.get(node, "it reads numbers that may be infinite" if reads_infinite else "")
        if not all(map(_has_elements, (node, *node.all_input_nodes))):
            reason = "it has a tensor without elements"
        if not reason:
            try:
                return super()._call(node)
            except (UnsupportedOperator, ShapeError) as failure:
                reason = short_reason(failure)
            if name in LOOKUPS:
                self.positions |= {n: "a lookup reads it" for n in node.all_input_nodes if self._is_computed_integer(n)}
        found = node.meta.get("val")
        several = isinstance(found, tuple | list)
        if not several and not hasattr(found, "dtype"):
            what = f"operator {name} computes a number that is no polynomial of symbols"
            raise UnsupportedOperator(
                f"{what}: {reason}; {TORCH_BACKEND} leaves it to torch; used at {self.line or 'an unknown line'}"
            )
        self.check_is_function(node)
        self.opaque[node] = reason
        constants = [x for x in (*node.args, *node.kwargs.values()) if isinstance(x, float)]
        if (reads_infinite or any(map(isinf, constants))) and (several or found.is_floating_point()):
            self._infinite.add(node)
        return Unused("several results") if several else self._declared(node, found)

    def _is_computed_integer(self, node: Any) -> bool:
        is_call = node.op == "call_function" and hasattr(node.target, "_schema") and node not in self.opaque
        return is_call and is_integer(node) and isinstance(self.value_of(node), int | MaskedConstant)

    def check_is_function(self, node: Any) -> None:
        """Check that torch may compute a node as an opaque call.

        Raises:
            UnsupportedOperator: it may not.
        """
        if why := why_not_opaque(node.target, node.args, node.kwargs):
            raise self._refused(node, why)

    def _declared(self, node: Any, value: Any) -> Value:
        self.tensors[node.name] = (node.name, self.type_of(node, value))
        found = View(node.name, tuple(range(self.tensors[node.name][1].rank)))
        return complex_of(self, found) if value.dtype.is_complex else found

    def type_of(self, node: Any, value: Any = None) -> TensorType:
        """The type of a node's tensor, row-major."""
        try:
            return result_type(node.meta["val"] if value is None else value, self.size_of)
        except UnsupportedOperator as failure:
            raise self._refused(node, str(failure)) from None

    def _refused(self, node: Any, why: str) -> UnsupportedOperator:
        return UnsupportedOperator(
            f"operator {operator_name(node.target)} has no row and cannot be left to torch: {why}; "
            f"used at {self.line or self.lines.get(node) or 'an unknown line'}"
        )

    def size_of(self, size: Any) -> Dim:
        """A traced size.

        Raises:
            UnsupportedOperator: it is no polynomial of declared symbols.
        """
        if isinstance(size, int):
            return dim(size)
        if is_size_of_data(size):
            raise UnsupportedOperator(
                f"the shape of what it returns depends on data; {TORCH_BACKEND} leaves it to torch, "
                "or instead of x[mask] write torch.where(mask, a, b) or multiply by the mask"
            )
        text = str(size.node.expr).replace("**", "^")
        try:
            return dim(re.sub(r"[A-Za-z_]\w*", lambda m: f"({self._symbols[m[0]]})", text))
        except (PrismError, KeyError):
            raise UnsupportedOperator(f"it returns a tensor with the size {text}, no polynomial of symbols") from None

    # ------------------------------------------------------------ calls as data
    def is_tensor(self, node: Any) -> bool:
        """Whether a node is a tensor, not a size, a number, or several results."""
        return hasattr(node.meta.get("val"), "dtype")

    def call(self, node: Any, results: Sequence[Any]) -> OpaqueCall:
        """A node as plain data; `results` are the nodes that name its results."""

        def argument(x: Any) -> Argument:
            if isinstance(x, list | tuple):
                return tuple(map(argument, x))
            if not hasattr(x, "op"):
                return plain_constant(x)
            return TensorRef(x.name) if self.is_tensor(x) else self.size(x)

        made = tuple(
            CallResult(r.name, self.type_of(r), None if r is node else int(r.args[1]), r.meta["val"].dtype.is_complex)
            for r in results
        )
        try:
            keywords = tuple((k, argument(v)) for k, v in node.kwargs.items())
            return OpaqueCall(
                str(node.target),
                tuple(map(argument, node.args)),
                keywords,
                made,
                self.opaque.get(node, ""),
                self.lines.get(node, ""),
            )
        except UnsupportedOperator as failure:
            raise self._refused(node, str(failure)) from None

    def program(self, steps: Iterable[Step]) -> MixedProgram:
        """The program of these steps."""
        given, steps = self.given, tuple(steps)
        returned = [TensorRef(r.name) if hasattr(r, "op") else r for r in self.output.args[0]]
        read = {r.name for r in returned if isinstance(r, TensorRef)}
        written = dict(zip(given.written, returned, strict=False))
        for step in steps:
            read.update(step.operands if isinstance(step, OpaqueCall) else step.traced.arguments)
        inputs: list[ProgramInput] = []
        for node in (n for n in self.nodes if n.op == "placeholder"):
            source = self.tensors[node.name][0] if node.name in self.tensors else node.name
            if node.name in read or source in given.arguments or source in written:
                known = self.tensors.get(node.name)
                t = known[1] if known is not None else result_type(self.own_tensors[node.name], self.size_of)
                inputs.append(ProgramInput(node.name, source, t))
        used = {i.source for i in inputs}
        return MixedProgram(
            given.name,
            given.arguments,
            tuple(inputs),
            steps,
            tuple(returned[len(written) :]),
            given.structure,
            given.code,
            {source: x for source, x in self.own_tensors.items() if source in used},
            given.call,
            {source: value.name for source, value in written.items()},
        )


def _has_elements(node: Any) -> bool:
    return all(not isinstance(n, int) or n for n in getattr(node.meta.get("val"), "shape", ()))


def _read_nodes(graph: Any) -> list[Any]:
    """The nodes before the output without those that nothing reads; what writes in place is read."""
    read: set[Any] = set()
    for node in reversed(graph.nodes):
        if node in read or node.op != "call_function" or operator_name(node.target).endswith("_"):
            read |= {node, *node.all_input_nodes}
    return [n for n in graph.nodes if n in read and n.op != "output"]


def _symbols_of(given: Exported) -> dict[str, Dim]:
    """The declared symbol of each of torch's."""
    found: dict[str, Dim] = {}
    for node in given.graph.nodes:
        if node.op == "placeholder" and node.name in given.sources:
            for size, d in zip(node.meta["val"].shape, given.sources[node.name][1].dims, strict=True):
                if not isinstance(size, int):
                    found[str(size.node.expr)] = d
    return found


class _Cut:
    """The steps of a graph that was read."""

    def __init__(self, reader: _Reader, fits: Callable[[TensorProgram], bool]) -> None:
        self.reader, self.fits = reader, fits
        self.stuck: set[Any] = set()
        """Computed nodes that are in no part."""
        self.computed = {
            n for n in reader.nodes if n.op == "call_function" and n not in reader.opaque and reader.computes(n)
        }
        self.returned = [r for r in reader.output.args[0] if hasattr(r, "op")]
        self.results: dict[Any, list[Any]] = {n: [] for n in reader.opaque}
        """Per call, the nodes that name its results."""
        self.call_of: dict[Any, Any] = {}
        for node in reader.nodes:
            if node in reader.opaque and reader.is_tensor(node):
                self._name_result(node, node)
            elif operator_name(node.target) == "getitem" and node.args[0] in reader.opaque:
                self._name_result(node.args[0], node)
        for node in reader.opaque:
            self._call_what_is_read(node.all_input_nodes)
        self._call_what_is_read(self.returned)
        self.given = {n for n, call in self.call_of.items() if call in reader.opaque}
        """Results of opaque calls: parts read them like arguments, but copy views and constants."""
        self.step_of = self._steps_of_loops()
        """The step that a node of a loop is in."""
        self.cuts: dict[tuple[int, ...], list[int]] = {}
        """Positions behind the parts of nodes of a step, by the length of the step and their places in it."""
        self.reads = {node: self._sources(node) for node in self.computed}

    def _name_result(self, call: Any, result: Any) -> None:
        self.results.setdefault(call, []).append(result)
        self.call_of[result] = call

    def _call_what_is_read(self, read: Iterable[Any]) -> None:
        """Views, constants and masks that torch reads, or that are returned, become calls."""
        for node in read:
            is_known = node.op == "placeholder" or node in self.computed or node in self.call_of
            if not is_known and self.reader.is_tensor(node):
                call = _called_node(node)
                self.reader.check_is_function(call)
                self._name_result(call, node)
                self._call_what_is_read(call.all_input_nodes)

    def _steps_of_loops(self) -> dict[Any, tuple[Any, ...]]:
        """The step of each node of an unrolled loop; what steps read of the parts of a tensor becomes calls."""
        found: dict[Any, tuple[Any, ...]] = {}
        for nodes, period in loops_in([n for n in self.reader.nodes if n in self.computed], LONGEST):
            results = [len(self._results(nodes[k + period : k + 2 * period])) for k in range(period)]
            for step in steps_of(nodes, period, results):
                found |= dict.fromkeys(step, step)
                read = parts_read(step, self.computed | self.given)
                self._call_what_is_read(read)
                self.given |= set(read)
        return found

    # ------------------------------------------------------------ stages
    def _sources(self, node: Any) -> set[Any]:
        """The computed nodes and calls that a computed node reads, directly or through what it copies."""
        found: set[Any] = set()
        seen: set[Any] = set()
        open_nodes = list(node.all_input_nodes)
        while open_nodes:
            n = open_nodes.pop()
            if n in self.computed or n in self.given:
                found.add(n)
            elif n not in seen:
                seen.add(n)
                open_nodes += n.all_input_nodes
        return found

    def _stages(self) -> tuple[dict[Any, int], dict[Any, int]]:
        """The stage of each computed node, and of each call."""
        stage: dict[Any, int] = {}
        calls: dict[Any, int] = {}

        def latest_of(read: Iterable[Any]) -> int:
            return max((stage.get(n, calls.get(self.call_of.get(n), 0)) for n in read), default=0)

        for node in self.reader.nodes:
            if node in self.computed:
                stage[node] = latest_of(self.reads[node])
            if node in self.results:
                calls[node] = 1 + latest_of(node.all_input_nodes)
        latest: dict[Any, int] = {}
        for node in reversed(self.reader.nodes):
            if node in self.results:
                for s in node.all_input_nodes:
                    latest[s] = min(latest.get(s, calls[node]), calls[node] - 1)
            if node in self.computed:
                stage[node] = max(stage[node], latest.get(node, stage[node]))
                for s in self.reads[node]:
                    latest[s] = min(latest.get(s, stage[node]), stage[node])
        return stage, calls

    def left(self, why_left: Callable[[TensorProgram], str]) -> dict[Any, str]:
        """The operators that torch computes though they have a row, each with the reason."""
        found: dict[Any, str] = {}
        for node in self.computed:
            if self.reader.made[node] > SHORT:
                part = self._part([node])
                if part is not None and (reason := why_left(part.traced.program)):
                    found[_called_node(node)] = reason
        return found

    def steps(self) -> list[Step]:
        """The steps in order.

        Raises:
            _NotAlone: operators cannot be translated alone.
        """
        stage, calls = self._stages()
        found: list[Step] = []
        for number in range(max((*stage.values(), *calls.values()), default=0) + 1):
            found += [self.reader.call(n, self.results[n]) for n in self.reader.nodes if calls.get(n) == number]
            nodes = [n for n in self.reader.nodes if stage.get(n) == number]
            for group in self._connected(nodes):
                found += self._parts(group)
        if self.stuck:
            first = (n for n in self.reader.nodes if n in self.stuck and self.stuck.isdisjoint(self.reads[n]))
            raise _NotAlone({_called_node(n): "its result is no tensor that a kernel can store" for n in first})
        return found

    def _connected(self, nodes: Sequence[Any]) -> list[list[Any]]:
        """Nodes of one stage, apart where they share nothing computed."""
        sets = UnionFind(nodes)
        for n in nodes:
            for source in self.reads[n]:
                if source in sets:
                    sets.union(source, n)
        groups: dict[Any, list[Any]] = {}
        for n in nodes:
            groups.setdefault(sets.find(n), []).append(n)
        return list(groups.values())

    # ------------------------------------------------------------ parts
    def _parts(self, nodes: Sequence[Any]) -> list[Computation]:
        """Each step of a loop by itself; other nodes in one part where that fits, else in few runs of one result."""
        found: list[Computation] = []
        for step, grouped in itertools.groupby(nodes, self.step_of.get):
            members = list(grouped)
            found += self._runs(members) if step is None else self._parts_of_step(step, members)
        return found

    def _parts_of_step(self, step: Sequence[Any], nodes: Sequence[Any]) -> list[Computation]:
        """The nodes of a step, cut where those of an earlier step at the same places were, if that makes parts."""
        places = (len(step), *(k for k, n in enumerate(step) if n in nodes))
        ends = self.cuts.get(places, [])
        runs = [nodes[a:b] for a, b in itertools.pairwise([0, *ends])]
        parts = [part for run in runs if (part := self._part(run, several=len(runs) == 1)) is not None]
        if not ends or len(parts) < len(runs):
            parts = self._runs(nodes)
            position = {n.name: k for k, n in enumerate(nodes)}
            self.cuts[places] = [*(position[p.names[-1]] + 1 for p in parts[:-1]), len(nodes)]
        return parts

    def _runs(self, nodes: Sequence[Any]) -> list[Computation]:
        """All nodes in one part where that fits, else runs of them with one result each, as few as possible."""
        if (whole := self._part(nodes, several=True)) is not None:
            return [whole]
        best: list[tuple[Computation, ...] | None] = [()]
        while len(best) <= len(nodes):
            best += [None] * (len(nodes) + 1 - len(best))
            reached = max(n for n, parts in enumerate(best) if parts is not None)
            for end in range(reached + 1, len(nodes) + 1):
                best[end] = self._fewest(nodes, end, best)
            if best[-1] is None:  # the node behind the last cut is in no part: the others are cut without it
                reached = max(n for n, parts in enumerate(best) if parts is not None)
                self.stuck.add(nodes[reached])
                best[reached + 1 :] = [best[reached]]
        return list(best[-1] or ())

    def _fewest(
        self, nodes: Sequence[Any], end: int, best: Sequence[tuple[Computation, ...] | None]
    ) -> tuple[Computation, ...] | None:
        """The fewest parts that compute the nodes before `end`, and of these the longest last one.

        A run that contains one with the same result which does not fit is larger, and does not fit either. So the
        starts are bisected: a translation of each takes minutes for a model.

        Args:
            nodes: in order.
            end: a position in them.
            best: the fewest parts up to each earlier position; None where there are none.
        """
        starts = dict[int, list[int]]()
        for start in range(max(0, end - LONGEST), end):
            before = best[start]
            if before is not None and len(self._results(nodes[start:end])) == 1:
                starts.setdefault(len(before), []).append(start)
        too_long = -1
        for count in sorted(starts):
            group = [start for start in starts[count] if start > too_long]
            found: tuple[Computation, ...] | None = None
            while group:
                middle = len(group) // 2
                run = nodes[group[middle] : end]
                part = self._translation(run)
                if part is None:
                    del group[middle]
                elif len(run) > 1 and not self.fits(part.traced.program):
                    too_long, group = group[middle], group[middle + 1 :]
                else:
                    found, group = (*(best[group[middle]] or ()), part), group[:middle]
            if found is not None:
                return found
        return None

    def _part(self, nodes: Sequence[Any], several: bool = False) -> Computation | None:
        """These nodes as a part; None where they have no translation or do not fit, or unwanted further results."""
        if len(self._results(nodes)) > 1 and not several:
            return None
        part = self._translation(nodes)
        return None if part is None or (len(nodes) > 1 and not self.fits(part.traced.program)) else part

    def _results(self, nodes: Sequence[Any]) -> list[Any]:
        """Those that something outside of these nodes reads."""
        members = set(nodes)
        return [n for n in nodes if n in self.returned or any(not self._is_inside(u, members) for u in n.users)]

    def _translation(self, nodes: Sequence[Any]) -> Computation | None:
        """These nodes as a part of any size; None where they have no translation."""
        results = self._results(nodes)
        if not results or any(map(is_integer, results)):
            return None
        try:
            made = _translated(self.reader, nodes, results, self.computed | self.given)
        except (UnsupportedOperator, ShapeError):
            return None
        return Computation(tuple((r.name, self.reader.type_of(r)) for r in results), made)

    def _is_inside(self, user: Any, members: set[Any]) -> bool:
        """Whether what a user computes is computed in a part with these members only."""
        if user in members:
            return True
        if user.op == "output" or user in self.computed or user in self.results:
            return False
        return all(self._is_inside(u, members) for u in user.users)


def is_integer(node: Any) -> bool:
    """Whether a node is a tensor of integers that no kernel stores."""
    return DTYPE_OF_NAME.get(dtype_name(getattr(node.meta.get("val"), "dtype", ""))) in INTEGERS


def _called_node(node: Any) -> Any:
    """The node that computes a result."""
    return node.args[0] if operator_name(node.target) == "getitem" else node


def _translated(reader: _Reader, nodes: Sequence[Any], results: Sequence[Any], tensors: set[Any]) -> Traced:
    """Some nodes as a program and as torch code of their own, which reads `tensors` and copies all else."""
    import torch
    from torch.utils import _pytree

    root = torch.nn.Module()
    graph = torch.fx.Graph()
    made: dict[Any, Any] = {}
    sources: dict[str, tuple[str, TensorType]] = {}
    members = set(nodes)

    def copy(node: Any) -> Any:
        if node in made:
            return made[node]
        if node.op == "placeholder" and node.name in reader.fixed:
            name = valid_name(node.name)
            root.register_buffer(name, reader.own_tensors[node.name], persistent=False)
            made[node] = graph.create_node("get_attr", node.name)
            made[node].meta = dict(node.meta)
        elif node.op == "placeholder" or (node in tensors and node not in members):
            made[node] = read = graph.create_node("placeholder", node.name, name=node.name)
            read.meta = dict(node.meta)
            t = reader.tensors[node.name][1] if node.name in reader.tensors else reader.type_of(node)
            sources[read.name] = (node.name, t)
            if (value := node.meta["val"]).dtype.is_complex:
                with value.fake_mode:
                    read.meta["val"] = torch.view_as_real(value)
                made[node] = graph.call_function(torch.ops.aten.view_as_complex.default, (read,))
                made[node].meta = dict(node.meta)
        else:
            for a in node.all_input_nodes:
                copy(a)
            made[node] = graph.node_copy(node, lambda n: made[n])
            if node.target is torch.ops.aten.view.default:
                # What the part reads has other strides than in the trace where a kernel computed it.
                made[node].target = torch.ops.aten.reshape.default
        return made[node]

    for node in nodes:
        copy(node)
    graph.output(tuple(made[r] for r in results))
    _put_inputs_first(graph)
    name = f"{reader.given.name}_{results[-1].name}"
    program, translation = translate(
        name, graph, sources, reader.fixed, set(reader.own_tensors), reader.given.constants
    )
    _read_sizes_of_inputs(graph, sources, {b.source for b in translation.bindings})
    form = None
    if len(results) > 1:
        form = ResultForm(translation.results, _pytree.tree_structure(tuple(results)))
        if not all(isinstance(leaf, Computed) for leaf in form.leaves):
            raise UnsupportedOperator("a result of the part is one of its inputs")
    else:
        (returned,) = (n for n in graph.nodes if n.op == "output")
        returned.args = (returned.args[0][0],)
    module = torch.fx.GraphModule(root, graph)
    arguments = tuple(n.target for n in graph.nodes if n.op == "placeholder")
    return Traced(program, tuple(translation.bindings), module, arguments, form=form)


def _put_inputs_first(graph: Any) -> None:
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    first = next(iter(graph.nodes))
    for node in inputs:
        if node is not first:
            first.prepend(node)


def _read_sizes_of_inputs(graph: Any, sources: Mapping[str, tuple[str, TensorType]], read: set[str]) -> None:
    """Let sizes be those of tensors that the program reads, and drop arguments that it does not read."""
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    size_at = {
        d: (n, position)
        for n in placeholders
        if sources[n.name][0] in read
        for position, d in enumerate(sources[n.name][1].dims)
    }
    for node in placeholders:
        if sources[node.name][0] in read:
            continue
        for user in list(node.users):
            if operator_name(user.target) == "sym_size":
                found = size_at.get(sources[node.name][1].dims[int(user.args[1])])
                if found is not None:
                    user.args = found
        if not node.users:
            graph.erase_node(node)


def short_reason(failure: PrismError) -> str:
    """A refusal without the line and the way on."""
    text = re.sub(r"\s+", " ", str(failure).partition("; used at")[0])
    return re.sub(r"^operator (\S+) is not supported$", r"no row for \1", text)
