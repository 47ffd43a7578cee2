# pyright: basic
# The torch code of a region has no types.
"""What a torch.compile backend keeps between builds: how graphs are cut, the answers of searches, decisions of races.

A build needs the kernel of a region and the times that decided, not the events of its search, and a search of many
steps takes as long to replay as to run. So each answer is stored in a file of its own in the folder of the cache. The
name of the file is a digest of all that determines the answer: the program and how arguments become its inputs, the
torch code, the budgets, machine, versions, and the code of this package. An answer that was read is proved again, and
its source is generated again. Where one of these fails, the region is searched. The compiled code is stored with a
digest of it and of the source; where the digest differs, the source is compiled.

How a graph is cut depends on the figures of the machine, which are measured again now and then. A cut that was kept has
the regions of the first build, whose answers are stored. The race of a whole graph is decided once per graph, kernels,
machine and versions. A decision that was kept says from when it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.codegen.cpu.load import load as load_cpu
from prism_explore.codegen.load import Loaded, load
from prism_explore.entry.torch_nodes import graph_text
from prism_explore.entry.torch_partition import Partition, partition_from_plain, partition_to_plain
from prism_explore.entry.torch_report import WholeRace
from prism_explore.errors import PrismError
from prism_explore.events.fastest import OURS
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.frontend import Traced
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Kernel
from prism_explore.runtime.best import Best
from prism_explore.runtime.saved_kernel import DAMAGED, SavedKernel
from prism_explore.search.explore import Task
from prism_explore.session.code_digest import code_digest, digest_of
from prism_explore.session.persistence import make_again
from prism_explore.session.search_cache import cache_folder, question_digest
from prism_explore.session.small_files import ANSWERS, CUTS, RACES, SmallFiles
from prism_explore.support.plain_data import PlainData
from prism_explore.support.thread_env import AT_IMPORT
from prism_explore.targets import Target
from prism_explore.tune.database import machine_name
from prism_explore.tune.runner.torch_code import on_program_inputs
from prism_explore.tune.runner.wire import (
    kernel_from_plain,
    kernel_to_plain,
    machine_code_from_plain,
    machine_code_to_plain,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a build needs of a region's search."""

    claim: str
    kernel: SavedKernel | None
    """None where the search found no kernel."""
    candidate: str = ""
    rows: tuple[BaselineMeasured, ...] = ()
    """Of the race of kernel and baselines."""
    kept: str = ""
    """The date of the search, where an earlier build made it."""

    @property
    def ratios(self) -> dict[str, float]:
        """Speed-ups over the baselines that were timed."""
        return {r.name: r.ratio for r in self.rows if r.name != OURS and r.samples}


def answer_of(claim: str, best: Best | None) -> Answer:
    """The answer of a search that has ended.

    Args:
        claim: of the search.
        best: its kernel.
    """
    return Answer(claim, None) if best is None else Answer(claim, best.kernel, best.candidate, best.baselines)


def traced_text(traced: Traced) -> str:
    """A program and how arguments become its inputs; regions with equal texts share a kernel."""
    bindings = "\n".join(f"{b.name} = {b.source}{list(b.permute)}{b.bits}" for b in traced.bindings)
    return f"{show(traced.program)}\n{bindings}"


class AnswerFiles:
    """The stored answers and decisions in the folder of the cache; without a folder nothing is found or stored."""

    def __init__(self) -> None:
        folder = cache_folder()
        self._answers = None if folder is None else SmallFiles(folder, ANSWERS)
        self._races = None if folder is None else SmallFiles(folder, RACES)
        self._cuts = None if folder is None else SmallFiles(folder, CUTS)

    def cut(self, graph: Any, question: Sequence[object], cut: Callable[[], Partition]) -> Partition:
        """The stored cut of a graph, or a new one, which is stored.

        Args:
            graph: torch's.
            question: what determines the cut besides the graph.
            cut: makes a new one.
        """
        if self._cuts is None:
            return cut()
        digest = digest_of([graph_text(graph), *question, code_digest()])
        text = self._cuts.find(digest)
        if text is not None:
            with suppress(*DAMAGED):  # damaged: it is cut, and written anew
                return partition_from_plain(json.loads(text), graph)
        made = cut()
        self._cuts.store(digest, json.dumps(partition_to_plain(made, graph)))
        return made

    def find(self, task: Task) -> Answer | None:
        """The stored answer of a task, proved again; None if there is none, or it cannot be used.

        Args:
            task: of the region's search, with its torch code.
        """
        text = None if self._answers is None else self._answers.find(question_digest(task))
        if text is None:
            return None
        try:
            return _read(json.loads(text), task)
        except (*DAMAGED, PrismError):
            return None  # damaged: the region is searched, and the file is written anew

    def store(self, task: Task, answer: Answer) -> None:
        """Store an answer.

        Args:
            task: of the region's search.
            answer: its result.
        """
        if self._answers is None:
            return
        plain: dict[str, Any] = {"claim": answer.claim, "date": _now(), "kernel": None}
        if answer.kernel is not None:
            plain |= {
                "kernel": kernel_to_plain(answer.kernel.kernel),
                "measured": dict(answer.kernel.measured),
                "candidate": answer.candidate,
                "rows": [asdict(row) for row in answer.rows],
                "code": _code_to_plain(answer.kernel),
            }
        self._answers.store(question_digest(task), json.dumps(plain))

    def find_race(self, question: str, ways: Sequence[str]) -> WholeRace | None:
        """The decision of an earlier race; None if there is none.

        Args:
            question: see `race_question`.
            ways: the names among which to decide.
        """
        text = None if self._races is None else self._races.find(question)
        try:
            plain = None if text is None else json.loads(text)
            if plain is None or plain["winner"] not in ways:
                return None
            seconds = {str(name): float(s) for name, s in plain["seconds"].items()}
            errors = {str(name): float(e) for name, e in plain["errors"].items()}
            return WholeRace(str(plain["winner"]), seconds, str(plain["note"]), errors, str(plain["date"]))
        except DAMAGED:
            return None

    def store_race(self, question: str, race: WholeRace) -> None:
        """Store a decision that times support."""
        if self._races is not None and race.seconds:
            self._races.store(question, json.dumps({**asdict(race), "date": _now()}))


def race_question(graph: str, kernels: Sequence[str], target: Target, versions: tuple[tuple[str, str], ...]) -> str:
    """A digest of all that determines the race of a whole graph.

    Args:
        graph: the text of torch's graph.
        kernels: what runs each region, as text.
        target: the machine.
        versions: of the packages.
    """
    return digest_of([graph, kernels, machine_name(target), versions, dict(AT_IMPORT), code_digest()])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _code_to_plain(kernel: SavedKernel) -> dict[str, Any] | None:
    """The compiled code of a CPU kernel."""
    if not isinstance(kernel.compiled, LoadedKernel):
        return None
    code = machine_code_to_plain(kernel.compiled.machine_code)
    return {**code, "digest": digest_of([code, kernel.kernel.source])}


def _loaded(kernel: Kernel, code: Any) -> Loaded:
    if code is None or code.pop("digest") != digest_of([code, kernel.source]):
        return load(kernel)
    return load_cpu(kernel, code=machine_code_from_plain(code))


def _read(plain: Any, task: Task) -> Answer | None:
    date = str(plain["date"])
    if plain["kernel"] is None:
        return Answer(str(plain["claim"]), None, kept=date)
    kernel = kernel_from_plain(plain["kernel"])
    traced = task.reference
    if traced is None or kernel.verified.candidate.family.program != task.program:
        return None
    made = make_again(kernel, task)
    if made is None:
        return None
    saved = SavedKernel(
        made,
        _loaded(made, plain["code"]),
        traced.signature,
        traced.parameters,
        on_program_inputs(traced),
        plain["measured"],
    )
    rows = tuple(PlainData().read(BaselineMeasured, row) for row in plain["rows"])
    return Answer(str(plain["claim"]), saved, str(plain["candidate"]), rows, date)
