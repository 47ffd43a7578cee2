"""What a torch.compile backend did: one table of regions, of what stayed in torch and why, and of the final race."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from prism_explore.errors import ShapeError
from prism_explore.events.fastest import EAGER
from prism_explore.events.format import seconds_text
from prism_explore.runtime.kernel_for_sizes import Bucket
from prism_explore.session.session import Session


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
    """Names of torch's nodes."""
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
    kernel_s: float | None = None
    """Measured time of the kernel in the race of the region."""
    torch_s: Mapping[str, float] = field(default_factory=dict[str, float])
    """Measured times of torch eager and the default compiler in the same race."""
    proof: str = ""
    """What supports that the kernel is right."""
    cut: str = ""
    """The modelled or measured cost by which the partition chose the region."""
    search: Callable[[], Session] | None = field(default=None, compare=False, repr=False)
    """Returns the search, which equal regions share; None where there was none."""
    effort: str = ""
    """That it was searched quickly, and for which share of the time; empty where it was not."""
    spent_s: float = 0.0
    """Seconds that the search took in this build; regions that share it have the same."""
    kept: str = ""
    """The date of the search, where an earlier build made it."""
    calls: Calls = field(default_factory=Calls, compare=False)
    """What ran since."""
    buckets: Callable[[], Sequence[Bucket]] = field(default=tuple, compare=False, repr=False)
    """Returns the other sizes for which a kernel was made or refused since; regions that share it have the same."""

    @property
    def state(self) -> str:
        """What runs: `replaced` by the kernel, `compiled` by the default compiler, or `left` to torch eager."""
        never_ran = self.calls.refused > 0 and not self.calls.accepted
        return "compiled" if self.is_compiled else "replaced" if self.replaced and not never_ran else "left"

    def __str__(self) -> str:
        return f"{self.state:<9} {self.region}: {self.reason}{self.how}{self.calls}"

    @property
    def how(self) -> str:
        """How the answer was found (with less work, how long, in an earlier build), and what runs at other sizes."""
        kept = f"found on {self.kept}, proved again" if self.kept else ""
        spent = f"in {seconds_text(self.spent_s)}" if self.spent_s else ""
        return "".join(f"; {said}" for said in (self.effort, spent, kept, _at_other_sizes(self.buckets())) if said)


def _at_other_sizes(buckets: Sequence[Bucket]) -> str:
    """Where kernels run and where torch does, and why; and what is being built or timed."""
    said: dict[str, list[str]] = {}
    for b in buckets:
        what = b.stage if b.stage != "decided" else "torch" if b.kernel is None else "kernels"
        said.setdefault(f"{what} at", []).append(str(b))
    return "; ".join(f"{what} {', '.join(sizes)}" for what, sizes in sorted(said.items()))


@dataclass(frozen=True, slots=True)
class WholeRace:
    """The race of a whole graph, after its regions were replaced."""

    winner: str
    """What a call runs."""
    seconds: Mapping[str, float]
    """Median time per way to run the graph; empty where there was no race."""
    note: str = ""
    """Why there was no race, or how much faster the winner is."""
    errors: Mapping[str, float] = field(default_factory=dict[str, float])
    """Per way, the largest deviation of a result from float64, relative to the result's largest value."""
    kept: str = ""
    """The date of the race, where an earlier build held it on this machine."""
    is_disturbed: bool = False
    """Whether other processes took cores from too many rounds, so that a later build races again."""

    def __str__(self) -> str:
        timed = ", ".join(f"{name} {seconds_text(s)}" for name, s in self.seconds.items())
        kept = f"the decision of {self.kept} is kept" if self.kept else ""
        said = f"a call runs {self.winner}" + (f": {timed}" if timed else "")
        return "; ".join(filter(None, (said, self.note, self._error_text, kept)))

    @property
    def _error_text(self) -> str:
        own, eager = self.errors.get(self.winner), self.errors.get(EAGER)
        if own is None or eager is None or self.winner == EAGER:
            return ""
        times = f", {own / eager:.2f} times torch eager's" if eager else ""
        return f"its error against float64 is {own:.1e}{times}"


@dataclass(frozen=True, slots=True)
class GraphOutcome:
    """The outcome of one graph that torch passed to the backend; a graph break or new sizes make another one."""

    regions: tuple[RegionOutcome, ...]
    left: tuple[tuple[str, str], ...]
    """Per computing node outside of all regions, its function and why it stays in torch."""
    computing: int
    """All nodes that compute floats."""
    covered: int
    """Those inside searched regions."""
    race: WholeRace
    build_s: float
    spent: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds of the build by phase, in order."""
    races: Callable[[], Sequence[tuple[str, WholeRace | str]]] = field(default=tuple, compare=False, repr=False)
    """Returns the races at other values of symbolic sizes since, each with these values, or what is done before one."""

    @property
    def share(self) -> float:
        """The share of computing nodes inside searched regions."""
        return self.covered / self.computing if self.computing else 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """All graphs of a backend; text when printed, a table in a notebook."""

    graphs: tuple[GraphOutcome, ...]
    breaks: tuple[str, ...] = ()
    """Why torch.compile left code of this process to Python since the backend was made."""

    @property
    def outcomes(self) -> list[RegionOutcome]:
        """The regions of all graphs, in order."""
        return [row for graph in self.graphs for row in graph.regions]

    def session(self, number: int) -> Session:
        """The search of a region; shown in a notebook, it is the explorer.

        Args:
            number: of the region, as in the table.

        Returns:
            The session. Where an earlier build made the search, it is one that reads the stored search when it runs.

        Raises:
            ShapeError: there is no such region, or it was not searched.
        """
        rows = self.outcomes
        if not 1 <= number <= len(rows):
            raise ShapeError(f"there is no region {number}; there are 1 to {len(rows)}")
        if (search := rows[number - 1].search) is None:
            raise ShapeError(f"region {number} was not searched: {rows[number - 1].reason}")
        return search()

    def __str__(self) -> str:
        if not self.graphs:
            return "; ".join(("torch has not compiled a graph yet", *self._left_to_python))
        lines: list[str] = []
        number = 0
        for n, graph in enumerate(self.graphs, 1):
            lines.append(_headline(n, graph))
            for row in graph.regions:
                number += 1
                lines.append(f"{number:>4} {row}" + (f" [{row.cut}]" if row.cut else ""))
            lines += [f"     in torch  {why}" for why in _counted(graph.left)]
            lines += [f"     at {sizes}, {race}" for sizes, race in graph.races()]
        return "\n".join((*lines, *self._left_to_python))

    __repr__ = __str__

    @property
    def _left_to_python(self) -> tuple[str, ...]:
        """A line on the graph breaks; none where there were none."""
        return (f"torch left code of this process to Python: {'; '.join(self.breaks)}",) if self.breaks else ()

    def __contains__(self, text: str) -> bool:
        return text in str(self)

    def _repr_html_(self) -> str:
        """The table of each graph."""
        number, parts = 0, list[str]()
        for n, graph in enumerate(self.graphs, 1):
            rows: list[Sequence[str]] = []
            for row in graph.regions:
                number += 1
                kernel = "" if row.kernel_s is None else seconds_text(row.kernel_s)
                torch_times = ", ".join(f"{name} {seconds_text(s)}" for name, s in row.torch_s.items())
                what = (row.state, row.region, row.candidate, kernel, torch_times, row.proof)
                rows.append((str(number), *what, f"{row.reason}{row.how}{row.calls}", row.cut))
            names = ("", "runs", "region", "kernel", "time", "torch", "proof", "why", "cut")
            head = "".join(f"<th>{name}</th>" for name in names)
            body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in rows)
            left = "".join(f"<li>{escape(why)}</li>" for why in _counted(graph.left))
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            rest = f"<p>In torch:</p><ul>{left}</ul>" if left else ""
            other = "".join(f"<li>at {escape(f'{sizes}, {race}')}</li>" for sizes, race in graph.races())
            rest += f"<p>At other sizes:</p><ul>{other}</ul>" if other else ""
            parts.append(f"<p>{escape(_headline(n, graph))}</p>{table}{rest}")
        parts += [f"<p>{escape(line)}</p>" for line in self._left_to_python if parts]
        return "".join(parts) or f"<p>{escape(str(self))}</p>"


@dataclass(frozen=True, slots=True)
class LeftToPython:
    """What torch.compile left to Python in this process so far, by what torch says of the reason."""

    breaks: Counter[str]
    """How often a graph ended there."""
    unsupported: Counter[str]
    """How often torch gave up tracing for another reason: that of a function left as a whole, or one that torch got
    over."""
    functions: int
    """The number of functions left as a whole."""

    def since(self, earlier: LeftToPython) -> tuple[str, ...]:
        """The reasons since then: each a sentence and, where a setting of torch avoids it, torch's hint at it."""
        found = self.breaks - earlier.breaks
        if self.functions > earlier.functions:
            found |= self.unsupported - earlier.unsupported
        return tuple(dict.fromkeys(map(_in_short, found)))


def left_to_python() -> LeftToPython:
    """What torch.compile left to Python so far."""
    counted = sys.modules.get("torch._dynamo.utils")  # nothing was compiled before it is imported
    if counted is None:
        return LeftToPython(Counter(), Counter(), 0)
    counters = counted.counters
    functions = counters["frames"]["total"] - counters["frames"]["ok"]
    return LeftToPython(Counter(counters["graph_break"]), Counter(counters["unimplemented"]), functions)


def _in_short(reason: str) -> str:
    """Torch's explanation of a graph break, and its hint at a setting; or what takes such code without one."""
    lines = [line.strip() for line in reason.strip().splitlines()]
    explained = [line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")]
    hints = [
        line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ") and "torch._dynamo.config" in line
    ]
    other = [f"; {who}" for name, who in _TAKEN_OTHERWISE.items() if name in reason]
    return " ".join([*(explained or lines)[:1], *hints[:1]]) + "".join(other)


_TAKEN_OTHERWISE = {"RNN, GRU, or LSTM": "px.WholeProgram takes them without a setting"}
"""By words of torch's explanation of a graph break, what takes such code."""


def _headline(number: int, graph: GraphOutcome) -> str:
    searched = f"{graph.covered} of {graph.computing} computing nodes in {len(graph.regions)} searched regions"
    phases = ", ".join(f"{name} {seconds_text(s)}" for name, s in graph.spent.items())
    built = f"built in {seconds_text(graph.build_s)}" + (f" ({phases})" if phases else "")
    return f"graph {number}: {searched}; {graph.race}; {built}"


def _counted(left: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{count} {name}: {why}" for (name, why), count in Counter(left).most_common()]
