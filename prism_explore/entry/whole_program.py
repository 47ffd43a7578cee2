"""The search of a whole torch program: parts become proved kernels, operators that no row translates stay with torch.

    whole = px.WholeProgram(model, x=px.T("b", 64), at={"b": 8})
    whole.run()
    print(whole)            # one table: what is searched, what torch computes, why, and which row is missing
    best = whole.best()     # called like the model

The program is traced to tensor programs and opaque calls between them (`frontend/mixed_trace.py`). Each different
tensor program has a session of its own. The claim is about the whole: each part is proved equal to its tensor program,
and an opaque call is assumed to be a function of its arguments. A call writes into what the code writes into, such as a
cache.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, TypeAlias

from prism_explore.entry.torch_race import KERNELS, race
from prism_explore.entry.torch_report import WholeRace
from prism_explore.errors import ShapeError
from prism_explore.events.fastest import COMPILED, EAGER
from prism_explore.frontend.mixed_program import Computation, MixedProgram, run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.frontend.opaque import OpaqueCall, assumption
from prism_explore.generate.abstract_expr.size_estimate import why_no_search
from prism_explore.ir.ops import Band, Input, ViewOp, op_label
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import NAMES, TensorType
from prism_explore.ir.transforms.partition import canonical_text
from prism_explore.pipeline.search_space import why_no_single_kernel
from prism_explore.runtime.best import Best
from prism_explore.session.new_task import TUNED_AT
from prism_explore.session.options import machine_of, usual_space
from prism_explore.session.session import Session
from prism_explore.targets import Target
from prism_explore.tune.runner.baseline_table import DEFAULT_BASELINES
from prism_explore.tune.runner.torch_code import torch_compiled

State: TypeAlias = Literal["searched", "opaque", "torch"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """One step of a program: what computes it, and why."""

    state: State
    """`searched`; `opaque`: an operator without a row, or that no single kernel computes; `torch`: views, float64 on a
    CPU, what is too large."""
    what: str
    """The operators."""
    result: str
    """The tensor that it computes, with its type."""
    why: str
    """What the search found, or why there was none."""
    line: str = ""
    """The line of the user's code, of an opaque call."""


class WholeProgram:
    """The searches over the parts of one torch function or module.

    Args:
        code: a torch function or module.
        target: the machine, by name or as a Target.
        at: values of the program's symbols, at which kernels are tuned.
        time_s: seconds for enumeration over all parts, and as many for proofs.
        name: the name of the program.
        inputs: per argument `T(...)` or an example tensor; for arguments with names like those above.
        session: further arguments of every session, such as `seed`, `budget`, `baselines`.
        more_inputs: types of arguments, as keywords.

    Raises:
        UnsupportedOperator: torch.export cannot trace the code, or an operator is no function of its arguments, such as
            one that draws random numbers.
        ShapeError: arguments or dims do not fit.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> def gate(x):
        ...     values, indices = torch.softmax(x, -1).topk(2)
        ...     return values / values.sum(-1, keepdim=True), indices
        >>> [row.state for row in px.WholeProgram(gate, x=px.T("b", 64)).coverage]
        ['searched', 'opaque', 'searched']
    """

    def __init__(
        self,
        code: Callable[..., Any],
        *,
        target: str | Target = "cpu",
        at: Mapping[str, int] | None = None,
        time_s: float = 300.0,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        session: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> None:
        declared = {**(inputs or {}), **more_inputs}
        self._at = dict(at or {})
        options = dict(session or {})
        self._baselines = options.get("baselines", DEFAULT_BASELINES)
        self.program: MixedProgram = trace_mixed(
            code, declared, name, lambda part: not why_no_search(part), why_no_single_kernel
        )
        self._declared = self.program.in_order((), declared)
        self._kind: Literal["cpu", "gpu"] = machine_of(target).kind
        searched = [c for c in self.program.computations if not _why_not_searched(c.traced.program, self._kind)]
        different = {_key(c): c for c in searched}
        sessions: dict[str, Session] = {}
        for key, part in different.items():
            program = part.traced.program
            sessions[key] = Session(
                part.traced,
                target=target,
                at={s: n for s, n in (at or {}).items() if s in program.graph.data_symbols},
                space=replace(usual_space(program, options.get("budget")), time_s=time_s / len(different)),
                **options,
            )
        self.sessions: tuple[Session, ...] = tuple(sessions.values())
        self._session_of = tuple(sessions.get(_key(c)) for c in self.program.computations)

    def run(self) -> None:
        """Search every part to its end; an interrupt pauses, and `run()` resumes."""
        for session in self.sessions:
            session.run()

    def close(self) -> None:
        """Release the resources of the searches; their results can still be read."""
        for session in self.sessions:
            session.close()

    def best(self, *examples: Any) -> BestWhole:
        """The whole program with the best kernel in each part that has one; runs the searches to their end first.

        It is timed beside torch eager and torch.compile, all in the same rounds. A call runs the fastest of them.

        Args:
            *examples: arguments to time it on, in order. By default the example tensors that the
                program was declared with, and drawn ones otherwise; drawn integers are 0, as they may be indices.

        Returns:
            A callable with the arguments and the results of the code.

        Raises:
            ShapeError: the examples are not the arguments of the code.
        """
        import torch

        given = self.program.in_order(examples, {}) if examples else ()
        if given:
            self.program.sizes(self.program.named(given))
        found = {id(s): s.best() for s in self.sessions}
        bests = [found[id(s)] if s is not None else None for s in self._session_of]
        kernels = [k if isinstance(k, Best) else None for k in bests]
        parts = _Parts(self.program, kernels)
        ways: dict[str, Callable[..., Any]] = {EAGER: self.program.reference}
        if COMPILED in self._baselines:
            ways[COMPILED] = torch_compiled(self.program.reference)
        if any(kernels):
            ways[KERNELS] = parts.on_tensors
            given = given or self._drawn()
            with torch.no_grad(), _Kept(self.program, given) as kept:
                result = race(kept.fresh, ways)
        else:
            result = WholeRace(EAGER, {}, "no part has a kernel")
        return BestWhole(parts, ways[result.winner], result, self.claim)

    def _drawn(self) -> tuple[Any, ...]:
        """The example tensors that the program was declared with, and drawn ones for declared types."""
        import torch

        symbols = (s for i in self.program.inputs for d in i.type.dims for s in d.symbols)
        sizes = dict.fromkeys(symbols, TUNED_AT) | self._at
        for session in self.sessions:
            sizes |= session.task.shapes
        device = "cuda" if any(s.task.target.kind == "gpu" for s in self.sessions) else "cpu"
        generator = torch.Generator().manual_seed(0)

        def drawn(given: Any) -> Any:
            if not isinstance(given, TensorType):
                return torch.as_tensor(given)
            dtype = getattr(torch, NAMES[given.dtype])
            shape = given.shape_at(sizes)
            if dtype.is_floating_point:
                return torch.randn(shape, generator=generator).to(device, dtype)
            highest = 2 if dtype == torch.bool else 1  # integers may be indices: 0 is always one
            return torch.randint(highest, shape, generator=generator).to(device, dtype)

        return tuple(map(drawn, self._declared))

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        """What computes each step of the program, in order.

        Views and constants that only opaque calls read are left out.
        """
        sessions = iter(self._session_of)
        rows = (
            _row(step, next(sessions) if isinstance(step, Computation) else None, self._kind)
            for step in self.program.steps
        )
        return tuple(row for row in rows if row is not None)

    @property
    def claim(self) -> str:
        """What was searched, what is proved, and what that assumes, in sentences."""
        parts = [s for s in self._session_of if s is not None]
        proved = sum(s.chosen is not None for s in parts)
        calls = self.program.calls
        sentences = [
            f"Parts of {self.program.name}: {len(self._session_of)}; searched: {len(parts)} ({len(self.sessions)} "
            f"different); with a proved kernel: {proved}. Opaque calls: {len(calls)}.",
            assumption([c.operator for c in calls]),
        ]
        if any(s.state not in ("finished", "cancelled") for s in self.sessions):
            sentences.append("The searches have not ended.")
        return " ".join(filter(None, sentences))

    def __repr__(self) -> str:
        rows = self.coverage
        width = max((len(r.what) for r in rows), default=0)
        lines = [f"  {r.state:<8}  {r.what:<{min(width, 48)}}  {r.result}  {_why(r)}".rstrip() for r in rows]
        return "\n".join([self.claim, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col'>{name}</th>" for name in ("state", "operators", "result", "why", "line"))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in (r.state, r.what, r.result, r.why, r.line))}</tr>"
            for r in self.coverage
        )
        return f"<p>{escape(self.claim)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class BestWhole:
    """The fastest way to compute a whole program that was found; it is called like the code.

    `implementation` names it: `kernels`, `torch eager` or `torch.compile`. With kernels, a part without one, and a call
    that a kernel does not accept, run torch's code for that part. Gradients are those of torch's code.

    Args:
        parts: the program with kernels in its parts.
        fastest: what a call runs.
        race: the times of all ways, and which one is `fastest`.
        proof: what is proved of the kernels, and what that assumes.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> whole = px.WholeProgram(lambda x: torch.sort(x)[0] * 2, x=px.T(4), target="h100")
        >>> whole.best()(torch.tensor([4.0, 3.0, 2.0, 1.0]))  # a GPU that is not there: torch computes all parts
        tensor([2., 4., 6., 8.])
    """

    def __init__(self, parts: _Parts, fastest: Callable[..., Any], race: WholeRace, proof: str) -> None:
        self.with_kernels: _Parts = parts
        """The program with kernels, also where torch was faster."""
        self.program, self.kernels = parts.program, parts.kernels
        self.race, self.proof = race, proof
        self._fastest = fastest

    @property
    def implementation(self) -> str:
        """What a call runs: `kernels`, `torch eager` or `torch.compile`."""
        return self.race.winner

    @property
    def refused(self) -> tuple[str, ...]:
        """Why kernels did not take calls, each reason once."""
        return tuple(self.with_kernels.refused)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the code on torch tensors.

        Raises:
            ShapeError: an argument is missing, or has another shape than declared.
        """
        given = self.program.in_order(args, kwargs)
        if self.implementation != KERNELS:  # which check their arguments
            self.program.sizes(self.program.named(given))
        return self._fastest(*given)

    def __repr__(self) -> str:
        lines = [self.proof, f"  {self.race}"]
        for part, kernel in zip(self.program.computations, self.kernels, strict=True):
            lines.append(f"  {', '.join(part.names)}: {kernel.implementation if kernel is not None else 'torch'}")
        return "\n".join(lines)


class _Parts:
    """A program with kernels in its parts; it is called like the code."""

    def __init__(self, program: MixedProgram, kernels: Sequence[Best | None]) -> None:
        self.program = program
        self.kernels: tuple[Best | None, ...] = tuple(kernels)
        self.refused: list[str] = []
        references = [c.traced.reference for c in program.computations]
        self._code = [
            self._with_fallback(k, t) if k is not None else t for k, t in zip(kernels, references, strict=True)
        ]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.on_tensors(*self.program.in_order(args, kwargs))

    def on_tensors(self, *tensors: Any) -> Any:
        """The results for the tensors among the arguments, in order."""
        return run_mixed(self.program, self.program.named(tensors), self._code)

    def _with_fallback(self, kernel: Best, torch_code: Callable[..., Any]) -> Callable[..., Any]:
        def run(*tensors: Any) -> Any:
            try:
                return kernel(*tensors)
            except ShapeError as error:
                if str(error) not in self.refused:
                    self.refused.append(str(error))
                    warnings.warn(f"prism: torch computes a part of {self.program.name}: {error}", stacklevel=2)
                return torch_code(*tensors)

        return run


class _Kept:
    """The arguments of a program for repeated calls, whatever it writes into them and into tensors of its own."""

    def __init__(self, program: MixedProgram, given: Sequence[Any]) -> None:
        self._program = program
        named = dict(zip(program.arguments, given, strict=True))
        self._given = tuple(x.clone() if name in program.written else x for name, x in named.items())
        self._before = {source: x.clone() for source, x in self._written.items()}

    @property
    def _written(self) -> dict[str, Any]:
        """The tensors that a call would write into now."""
        known = {**self._program.own_tensors, **dict(zip(self._program.arguments, self._given, strict=True))}
        return {source: known[source] for source in self._program.written}

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.fresh()

    def fresh(self) -> tuple[Any, ...]:
        """The arguments, with all tensors as they were before."""
        for source, x in self._written.items():
            x.copy_(self._before[source])
        return self._given


def _key(part: Computation) -> str:
    """Parts with equal keys are one search: the program, which argument each input is, and the order of the results."""
    position = {a: n for n, a in enumerate(part.traced.arguments)}
    inputs = [f"{position[b.source]}{b.permute}{b.bits}" for b in part.traced.bindings]
    results = "" if part.traced.form is None else str(part.traced.form.leaves)
    return f"{' '.join(inputs)}\n{results}\n{canonical_text(part.traced.program)}"


def _why_not_searched(program: TensorProgram, kind: Literal["cpu", "gpu"]) -> str:
    """Why torch computes a part; empty where it is searched."""
    if all(isinstance(n.op, Input | Band | ViewOp) for n in program.graph.nodes):
        return "views only: nothing to compute"
    if kind == "cpu" and any(i.type.dtype == "f64" for i in program.inputs):
        return "float64: CPU kernels compute in float32, and half of the digits would be lost"
    return why_no_search(program)


def _row(step: Computation | OpaqueCall, session: Session | None, kind: Literal["cpu", "gpu"]) -> Coverage | None:
    match step:
        case OpaqueCall():
            if not step.reason:
                return None
            result = ", ".join(map(str, step.results))
            return Coverage("opaque", step.operator, result, step.reason, step.line)
        case Computation():
            nodes = [n.op for n in step.traced.program.graph.nodes if not isinstance(n.op, Input | Band)]
            names = ", ".join(op_label(op) for op in nodes[:6]) + (
                f" and {len(nodes) - 6} more" if len(nodes) > 6 else ""
            )
            result = ", ".join(f"{name} {t}" for name, t in step.results)
            if session is None:
                return Coverage("torch", names, result, _why_not_searched(step.traced.program, kind))
            found = session.chosen
            kernel = "" if found is None else f"kernel {found.candidate.id}, proved"
            return Coverage("searched", names, result, kernel or _without_kernel(session))


def _without_kernel(session: Session) -> str:
    match session.state:
        case "finished" | "cancelled":
            return session.claim
        case "failed":
            return session.failure
        case "ready" | "running" | "paused":
            return "the search has not ended"


def _why(row: Coverage) -> str:
    return row.why + (f" ({row.line})" if row.line else "")
