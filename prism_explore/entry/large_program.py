"""Search of a program that is too large for one search: it is partitioned, and each part is searched.

    found = px.LargeProgram(model, x=px.T("b", 4096), target="h100")
    found.run()
    found               # what was not attempted, what was searched, what was proved
    found.graph()       # the full graph: proved kernels for parts, predefined operators for the rest

Equal parts, such as the layers of a model, are searched once. The claims are about the parts only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prism_explore.frontend import trace
from prism_explore.generate.abstract_expr.size_estimate import fits
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import op_label
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.partition import Part, assemble, canonical_text, partition, rename_inputs
from prism_explore.pipeline.search_space import LARGEST_OPS, fused_ops
from prism_explore.pipeline.stages import Verified
from prism_explore.session.options import usual_space
from prism_explore.session.session import Session
from prism_explore.targets import Target


@dataclass(frozen=True, slots=True)
class SearchedPart:
    """A part and its search."""

    part: Part
    session: Session | None
    """None where the part is a predefined operator; equal parts share one."""

    @property
    def proved(self) -> Verified | None:
        """The best kernel's candidate, or the first proved one where nothing was timed."""
        return self.session.chosen if self.session is not None else None


class LargeProgram:
    """The searches over one program's parts.

    Args:
        code: a torch function or module, or a TensorProgram.
        target: the machine, by name or as a Target.
        time_s: seconds for enumeration over all parts, and as many for proofs.
        largest: how many operators one kernel for a part may have, loads included.
        name: the name of the program.
        inputs: per argument `T(...)` or an example tensor; for arguments with names like those above.
        session: further arguments of every session, such as `at`, `seed`, `budget`.
        more_inputs: types of arguments, as keywords.

    Raises:
        UnsupportedOperator: the code uses an operator that is not supported.
        ShapeError: arguments or dims do not fit.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> parts = px.LargeProgram(program, target="h100", session={"at": {"b": 4}})
        >>> parts.graph() == program.graph  # nothing was searched yet
        True
    """

    def __init__(
        self,
        code: Callable[..., Any] | TensorProgram,
        *,
        target: str | Target = "cpu",
        time_s: float = 300.0,
        largest: int = LARGEST_OPS,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        session: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> None:
        if isinstance(code, TensorProgram):
            self.program = code
        else:
            self.program = trace(code, {**(inputs or {}), **more_inputs}, name).program
        parts = partition(self.program, lambda part: fits(part, largest))
        different = {canonical_text(p.program) for p in parts if p.searched}
        sessions: dict[str, Session] = {}
        for part in parts:
            key = canonical_text(part.program)
            if part.searched and key not in sessions:
                options = dict(session or {})
                space = replace(usual_space(part.program, options.get("budget")), time_s=time_s / len(different))
                if "at" in options:
                    options["at"] = {s: n for s, n in options["at"].items() if s in part.program.graph.data_symbols}
                sessions[key] = Session(part.program, target=target, space=space, **options)
        self.parts = tuple(SearchedPart(p, sessions[canonical_text(p.program)] if p.searched else None) for p in parts)
        self.sessions = tuple(sessions.values())

    def run(self) -> None:
        """Search every part to its end; an interrupt pauses, and `run()` resumes."""
        for session in self.sessions:
            session.run()

    def close(self) -> None:
        """Release the resources of the searches; their results can still be read."""
        for session in self.sessions:
            session.close()

    def graph(self) -> SGraph:
        """The full program with a proved kernel in place of each part that has one.

        It equals the program because each part's kernel equals the part; nothing else was searched for.

        Returns:
            The graph of the program.
        """
        graphs = {
            number: rename_inputs(done.candidate.sgraph, searched.part.program)
            for number, searched in enumerate(self.parts)
            if (done := searched.proved) is not None
        }
        return assemble(self.program, [s.part for s in self.parts], graphs)

    @property
    def claim(self) -> str:
        """What was not attempted, what was searched, and the result, in sentences."""
        searched = [s for s in self.parts if s.session is not None]
        fused = [s for s in searched if s.proved is not None]
        total = sum(len(s.part.positions) for s in self.parts)
        covered = sum(len(s.part.positions) for s in fused)
        different = len(self.sessions)
        sentences = [
            f"{self.program.name} has {total} operators, {fused_ops(self.program)} in one kernel with its loads: "
            f"one kernel for all of it was not attempted, nor any that spans two parts.",
            f"{len(searched)} of its {len(self.parts)} parts were searched ({different} different); "
            f"{len(fused)} of them have a proved kernel, for {covered} operators.",
            f"The other {total - covered} operators stay predefined ones." if covered < total else "",
        ]
        if any(s.state not in ("finished", "cancelled") for s in self.sessions):
            sentences.append("The searches have not ended.")
        return " ".join(filter(None, sentences))

    def __repr__(self) -> str:
        lines = [self.claim]
        for number, s in enumerate(self.parts, 1):
            nodes = self.program.graph.nodes
            ops = ", ".join(op_label(nodes[n].op) for n in s.part.positions)
            where = f"%{s.part.positions[0]}" + (f" to %{s.part.positions[-1]}" if len(s.part.positions) > 1 else "")
            if s.session is None:
                lines.append(f"  {number}. {where}: {ops}; predefined")
                continue
            found = s.session.index.ledger.funnel
            proved = s.proved
            kernel = f"kernel {proved.candidate.id}" if proved is not None else "no proved kernel"
            counted = f"{found.families} families, {found.proved} candidates proved, {found.unknown} unknown"
            lines.append(f"  {number}. {where}: {ops}; {kernel}; {counted}")
        return "\n".join(lines)
