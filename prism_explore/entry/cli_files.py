"""File commands of the command line: check graphs, replay counterexamples, and print objects of a saved search.

prism-explore check qknorm.json.gz --against qknorm
prism-explore check case.txt
prism-explore show run.prism f1.c2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prism_explore.diagnose.check import Checker, CheckResult, certify, collect_evidence
from prism_explore.diagnose.evidence import Evidence
from prism_explore.errors import ParseError, PrismError
from prism_explore.events.kinds import CandidateInstantiated, VerdictReached
from prism_explore.frontend import trace
from prism_explore.frontend.mirage import read_mirage
from prism_explore.frontend.workloads import workload
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.session.record import Record, open_record
from prism_explore.verify.replay import Replay, replay_counterexample
from prism_explore.verify.verdict_events import verdict_event
from prism_explore.widgets.panels.tables import TABLES

TEXT_HEADS = ("sgraph", "program ", "refutation of ", "disagreement of ")
SHOWN = ("claim", "near_misses", *TABLES)
"""What `show` can print of a saved search, in addition to anything with an id."""


@dataclass(frozen=True, slots=True)
class GraphVerdict:
    """The verdict on one graph of a file."""

    name: str
    verdict: Literal["proved", "refuted", "unknown"]
    summary: str
    """The verdict as one line."""
    evidence: Evidence | None = None
    stated: str = ""
    """The verdict that the file states, where it differs."""

    @property
    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        shown = str(self.evidence) if self.evidence is not None else ""
        return {"name": self.name, "verdict": self.verdict, "says": self.summary, "was": self.stated, "evidence": shown}


def check_file(path: Path, against: str = "", replay_proofs: bool = False, seed: int = 0) -> Iterator[GraphVerdict]:
    """The verdict on every graph of a file.

    Args:
        path: graphs that Mirage saved, a saved search, an sGraph as text with or without its program, or a case.
        against: a workload or a file with a program, which the graphs should compute; a saved search, a case, and
            a text with a program bring their own.
        replay_proofs: whether egglog replays every proof.
        seed: for the refuter.

    Raises:
        ParseError: the file is none of these.
        PrismError: it does not say what the graphs should compute, and neither does `against`.
        OSError: the file cannot be read.
    """
    if path.suffix == ".prism":
        yield from _check_saved_search(open_record(path), replay_proofs, seed)
        return
    text = _text(path)
    if text.startswith(("refutation of ", "disagreement of ")):
        yield _replay_verdict(path.name, replay_counterexample(text))
        return
    if text:
        program, graph = _split(text)
        checker = Checker(parse_program(program) if program else _program(against, path))
        yield _graph_verdict(CheckResult(path.name, checker.check(parse(graph), seed)), replay_proofs)
        return
    checker = Checker(_program(against, path))
    for graph in read_mirage(path).graphs:
        yield _graph_verdict(CheckResult(graph.name, checker.check(graph.sgraph, seed)), replay_proofs)


def _graph_verdict(found: CheckResult, replay_proofs: bool) -> GraphVerdict:
    fact = verdict_event(found.verdict)
    return GraphVerdict(
        found.name,
        fact.verdict,
        str(found),
        certify(found.verdict) if replay_proofs else collect_evidence(found.verdict),
    )


def _replay_verdict(name: str, again: Replay) -> GraphVerdict:
    word: Literal["refuted", "unknown"] = "refuted" if again.differs and not again.disagree else "unknown"
    return GraphVerdict(name, word, f"{name}: {word}, {' '.join(str(again).split())}")


def _check_saved_search(record: Record, replay_proofs: bool, seed: int) -> Iterator[GraphVerdict]:
    """Every candidate of a saved search, verified again; the verdicts of the file are not trusted."""
    checker = Checker(record.program)
    stated = {e.candidate: e.verdict for e in record.of(VerdictReached)}
    for born in record.of(CandidateInstantiated):
        found = _graph_verdict(CheckResult(born.candidate, checker.check(parse(born.sgraph), seed)), replay_proofs)
        was = stated.get(born.candidate, "undecided")
        yield (
            found
            if was == found.verdict
            else GraphVerdict(found.name, found.verdict, found.summary, found.evidence, was)
        )


def show_saved(path: Path, what: str) -> str:
    """An object of a saved search as text: a table, the claim, a candidate's evidence, a region's reason, a family.

    Raises:
        PrismError: the file is no saved search, or there is nothing of this name in it.
        OSError: the file cannot be read.
    """
    record = open_record(path)
    match what:
        case "claim":
            return record.claim
        case "near_misses":
            near_misses = (
                f"{m.subject}: {m.description}" + (f"\n  passes if {m.reopens}" if m.reopens else "")
                for m in record.near_misses
            )
            return "\n".join(near_misses) or "A family is proved, so there are no near misses."
        case _ if what in TABLES:
            return record.text(what)
        case _ if what in record.families:
            return f"{record.families[what].why()}\n\n{record.families[what]!r}"
        case _ if what in record.pruned:
            return record.pruned[what].why()
        case _ if any(e.candidate == what for e in record.of(VerdictReached)):
            return f"{record.evidence(what)}\n\n{record.equalities(what).text()}"
        case _:
            raise PrismError(f"{path} has no {what!r}; there are {', '.join(SHOWN)}, and ids such as f1, f1.c1 and p7")


def _text(path: Path) -> str:
    """The file where it is in a textual form of this package; empty for others, such as (zipped) JSON."""
    try:
        text = path.read_text(encoding="utf-8").lstrip()
    except UnicodeDecodeError:
        return ""
    return text if text.startswith(TEXT_HEADS) else ""


def _split(text: str) -> tuple[str, str]:
    """The program of a text (empty for none), and the graph."""
    if text.startswith("sgraph"):
        return "", text
    program, found, graph = text.partition("\nsgraph")
    if not found:
        raise ParseError("a text with a program, but no sgraph behind it to be judged")
    return program, f"sgraph{graph}"


def _program(against: str, path: Path) -> TensorProgram:
    if not against:
        raise PrismError(
            f"{path} does not say what its graphs should compute: --against WORKLOAD, or a file with a program"
        )
    if Path(against).is_file():
        return parse_program(_split(text)[0] if "\nsgraph" in (text := _text(Path(against))) else text)
    row = workload(against)
    return trace(row.code, row.inputs, row.name).program
