# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""torch.compile(model, backend="prism"): regions of a real module become kernels that were searched and proved.

Input: the graph of a module, from torch. It is cut into regions by cost (`entry/torch_partition.py`). Each region is
searched like any program, for tensors of the sizes and strides of the call. In one interleaved run its kernel is timed
beside torch eager and the default compiler, and the fastest runs (`events/fastest.py`). At the end the whole graph is
timed beside both (`entry/torch_race.py`), and its error is compared with that of torch eager (`entry/torch_errors.py`).
Everything outside of regions is unchanged. Weights are moved to huge pages before, in place, for all ways to run the
graph. The report says what runs:

    compiler = px.TorchCompiler()
    fast = torch.compile(model, backend=compiler)
    fast(x)
    compiler.report()  # a table; in a notebook as HTML
    compiler.report().session(1)  # the search of the first region; in a notebook the explorer

Where torch compiles again with symbolic sizes, kernels that the first graph's searches found at numbers are proved for
all sizes, and not searched again (`entry/torch_reuse.py`).

A region's work is in proportion to its share of the modelled time (`entry/torch_effort.py`). A second build of the same
model searches, tunes and races nothing again (`entry/torch_answers.py`).

A kernel is tuned for the sizes of the call at which torch compiles. Symbolic sizes are symbols of the region's program,
so the proof holds for all of them: at other sizes code is generated while the kernel is used, compared with float64 and
timed beside torch (`runtime/kernel_for_sizes.py`), and what runs the whole graph is decided again
(`entry/torch_ways.py`). Kernels for other sizes are built beside the calls, one at a time, and torch runs meanwhile;
with `wait=True` the call that needs them waits. Where a region has no program with symbols, torch runs it at other
sizes.

A call with strides that a kernel does not accept runs torch's code. Training is left to torch. No region spans a side
effect (the begin or end of autocast, a change of the gradient mode, a write in place). What autocast casts is cast in
the graph before (`entry/torch_autocast.py`); what depends on no input is computed once (`entry/torch_constants.py`).
Tensors of classes that have other tensors inside, as some quantized weights, are unwrapped (`entry/torch_wrappers.py`).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.entry.torch_answers import Answer, AnswerFiles, answer_of, race_question, traced_text
from prism_explore.entry.torch_autocast import is_casting, name_casts
from prism_explore.entry.torch_complex import split_complex
from prism_explore.entry.torch_constants import fold_constants
from prism_explore.entry.torch_default_compiler import (
    FailedCompiler,
    compiled_between_kernels,
    compiled_graph,
    copy_of,
    working,
)
from prism_explore.entry.torch_effort import Effort, efforts
from prism_explore.entry.torch_float8 import read_as_bytes
from prism_explore.entry.torch_layers import LAYER, expand_layers
from prism_explore.entry.torch_nodes import called_name, graph_text, is_wrapper, made_by, number_of, reason_of, value_of
from prism_explore.entry.torch_partition import Cost, Partition, partition
from prism_explore.entry.torch_race import KERNELS, KERNELS_AND_COMPILED, race_whole
from prism_explore.entry.torch_regions import Region
from prism_explore.entry.torch_replacement import compiled_region, insert_module, replace_region
from prism_explore.entry.torch_report import (
    Calls,
    GraphOutcome,
    LeftToPython,
    RegionOutcome,
    Report,
    WholeRace,
    left_to_python,
)
from prism_explore.entry.torch_reuse import with_symbols
from prism_explore.entry.torch_shifts import name_amounts, unless_changed
from prism_explore.entry.torch_simplify import simplify
from prism_explore.entry.torch_transforms import expand_transforms
from prism_explore.entry.torch_ways import WaysBySizes
from prism_explore.entry.torch_words import read_words_as_bytes
from prism_explore.entry.torch_wrappers import compile_unwrapped, reads_wrappers
from prism_explore.errors import PrismError, ShapeError, TargetUnavailable
from prism_explore.events.fastest import COMPILED, EAGER, OURS, find_faster_baseline
from prism_explore.events.format import seconds_text
from prism_explore.events.ledger.kernel_time import BUSY_SHARE
from prism_explore.events.phases import phase_of
from prism_explore.frontend import Traced, trace
from prism_explore.frontend.torch_tracing import open_to_other_threads, tracing
from prism_explore.generate.abstract_expr.size_estimate import why_no_search
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import why_no_single_kernel
from prism_explore.runtime.best import Best
from prism_explore.runtime.kernel_build import build_here, build_in_worker
from prism_explore.runtime.kernel_for_sizes import KernelForSizes
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.search.early_start import start_fork_servers_early
from prism_explore.session.new_task import package_versions
from prism_explore.session.session import Session
from prism_explore.support.background import Background, in_the_call
from prism_explore.support.huge_pages import move_to_huge_pages
from prism_explore.targets import KNOWN, Target, target
from prism_explore.tune import Budget
from prism_explore.tune.database import machine_name
from prism_explore.tune.runner.torch_code import compiled_for_this_cpu, on_program_inputs

Rest: TypeAlias = Literal["fastest", "eager", "inductor"]
SIDE_BY_SIDE = 2
"""The number of regions that are tuned at once. Their kernels are timed one after the other."""

_BUILDS = Background("prism-builds")
"""What is built beside the calls of compiled code, one at a time in this process."""


def _is_stopped() -> bool:
    return _BUILDS.is_stopped


@dataclass(frozen=True)
class _Program:
    """The program of a region."""

    traced: Traced
    at: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of its symbols in the call at which torch compiles."""
    fixed: str = ""
    """The symbolic sizes of torch that are numbers in it, and why; empty where there are none."""

    @cached_property
    def text(self) -> str:
        """Regions with equal texts share a kernel."""
        return f"{traced_text(self.traced)}\n{self.at or ''}"


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of one search, for all regions with its text."""

    outcome: RegionOutcome
    kernel: SavedKernel | KernelForSizes | None


@dataclass(slots=True)
class _Search:
    """A search of a build."""

    name: str
    """Of the first region with its program."""
    program: _Program
    effort: Effort
    session: Session
    seconds: float = 0.0
    """What it took so far."""


class _Clock:
    """Where the time of a build went."""

    def __init__(self, start: float) -> None:
        self._last = start
        self.spent: dict[str, float] = {}
        """Seconds by phase, in order."""

    def note(self, phase: str) -> float:
        """Count the time since the last note for a phase; returns it, in seconds."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.spent[phase] = self.spent.get(phase, 0.0) + seconds
        return seconds


@dataclass(slots=True)
class TorchCompiler:
    """A backend for torch.compile that records the outcome of each region.

    Args:
        target: the machine; this CPU by default.
        budget: of tuning, for the regions that take most of the time; others get less, see `entry/torch_effort.py`.
        rest: what runs the code that is not replaced: "eager", "inductor", or "fastest", which is decided by a race of
            the whole graph. The race also decides whether kernels run at all.
        at_least: the required speed-up of a region over the fastest baseline: in the median where `rest` decides what
            runs, and within the noise where a race of the whole graph follows.
        baselines: what a kernel is timed beside: torch eager, which is always there, and the default compiler.
        seed: for the searches.
        wait: whether a call at other sizes than those of the call at which torch compiles waits until the kernels for
            these sizes are built. Otherwise torch runs until then; `wait_for_builds` waits for all that were begun.

    Example:
        >>> import prism_explore as px
        >>> compiler = px.TorchCompiler(budget=px.Budget(trials=8, seconds=5.0))
        >>> compiler.report()  # torch.compile(model, backend=compiler) fills it
        torch has not compiled a graph yet
    """

    target: str | Target = "cpu"
    budget: Budget = field(default_factory=lambda: Budget(trials=16, seconds=10.0, patience=3))
    """On replays of 26 regions of eight models, which ran 16 trials each, a patience of 3 needed 4 trials and one of 6
    needed 7; the kernel of both was 1 % slower than the best of the 16, by share of the time."""
    rest: Rest = "fastest"
    at_least: float = 1.0
    baselines: Sequence[str] = (EAGER, COMPILED)
    seed: int = 0
    wait: bool = False
    graphs: list[GraphOutcome] = field(default_factory=list[GraphOutcome])
    """One per graph that torch passed."""
    _earlier: LeftToPython = field(default_factory=left_to_python, repr=False)
    """What torch.compile left to Python before."""
    _programs: dict[str, _Program | str] = field(default_factory=dict[str, "_Program | str"], repr=False)
    """By the text of a region: its program, or why it has none."""
    _found: dict[str, _Found] = field(default_factory=dict[str, _Found], repr=False)
    """By the text of a program and the bindings of its inputs."""
    _measured: dict[str, float] = field(default_factory=dict[str, float], repr=False)
    """By the text of a region: the time of what runs it, in seconds."""

    def __post_init__(self) -> None:
        if self.rest not in get_args(Rest):
            raise ShapeError(f"rest= is one of {', '.join(map(repr, get_args(Rest)))}; found {self.rest!r}")
        if isinstance(self.target, str) and self.target not in KNOWN:
            raise TargetUnavailable(f"no target {self.target!r}; known are {', '.join(KNOWN)}")

    def __call__(self, module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
        """Compile a graph to the callable that torch runs in its place.

        Raises:
            ShapeError: `mode=` or `options=` was passed to torch.compile.
        """
        if options:
            found = ", ".join(f"{name}={value!r}" for name, value in options.items())
            raise ShapeError(
                f"the prism backend takes no mode= and no options= of torch.compile; found {found}: pass "
                "backend=px.TorchCompiler(budget=.., rest=..) with what it has to do otherwise"
            )
        start = time.perf_counter()
        original = copy_of(module)
        if reason := _records_gradients(module.graph) or expand_transforms(module.graph):
            chosen = original.forward if self.rest == "eager" else compiled_graph(original, examples)
            race = WholeRace(EAGER if self.rest == "eager" else COMPILED, {}, reason)
            if isinstance(chosen, FailedCompiler):
                chosen, race = original.forward, WholeRace(EAGER, {}, f"{reason}; {COMPILED} failed: {chosen.reason}")
            self.graphs.append(GraphOutcome((), (), 0, 0, race, time.perf_counter() - start))
            return chosen
        if reads_wrappers(examples):
            return compile_unwrapped(module, examples, self)
        with open_to_other_threads():
            return self._compile(module, original, examples, start)

    def _compile(self, module: Any, original: Any, examples: Sequence[Any], start: float) -> Callable[..., Any]:
        clock = _Clock(start)
        known = name_amounts(module.graph, examples)
        read_as_bytes(module.graph)
        read_words_as_bytes(module.graph)
        expand_layers(module.graph, windows=self.rest == "fastest")
        name_casts(module.graph)
        simplify(module.graph)
        fold_constants(module.graph)
        split_complex(module.graph)
        question = (machine_name(self._machine), self._measured, is_casting(), package_versions())
        cut = AnswerFiles().cut(module.graph, question, lambda: self._new_cut(module.graph))
        clock.note("partition")
        compiled = cache(lambda: compiled_graph(copy_of(original), examples))
        if self.rest == "fastest" and _has_symbolic_floats(original.graph):
            with tracing(strict=False):
                compiled()  # may restart the trace, so it is first
        found = self._answers(cut, clock, compiled if self.rest == "fastest" else lambda: None)
        cuts = zip(cut.regions, cut.costs, found, strict=True)
        searched = [(region, self._of_region(f.outcome, region, cost), f.kernel) for region, cost, f in cuts]
        graph_outcome = _of_graph(cut, [row for _, row, _ in searched])
        # Backwards: the nodes before a region are then still those that it names as its inputs.
        for region, outcome, kernel in reversed(searched):
            if kernel is not None and outcome.replaced:
                replace_region(module, region, kernel, outcome.calls)
            elif outcome.is_compiled and self.rest == "eager":
                insert_module(module, region, compiled_region(region))
        fold_constants(module.graph, for_regions=False)
        module.graph.lint()
        module.recompile()
        has_kernels = any(row.replaced for _, row, _ in searched)
        moved = move_to_huge_pages(_weights(original, examples)) if has_kernels else 0
        _show_progress("prism: the whole graph beside torch")
        with tracing(strict=False):  # it compiles
            rows = [row for _, row, _ in searched]
            if all(self._is_at_its_sizes(region) for region, row, _ in searched if row.replaced):
                chosen, race = self._choose(module, original, _numbers_of_call(examples), rows, compiled)
            else:
                chosen, race = self._chosen_later(module, original, compiled)
        pages = f"{moved / 1e6:.0f} MB of weights are on huge pages" if moved else ""
        race = replace(race, note="; ".join(filter(None, (race.note, pages))))
        clock.note("whole graph")
        _show_progress("")
        spent = clock.spent
        races = (lambda: chosen.races) if isinstance(chosen, WaysBySizes) else tuple
        self.graphs.append(replace(graph_outcome, race=race, build_s=sum(spent.values()), spent=spent, races=races))
        return unless_changed(known, chosen, compiled if self.rest == "fastest" else lambda: original.forward)

    def _new_cut(self, graph: Any) -> Partition:
        """Cut a graph that no earlier build has cut; its regions will be searched, and workers be forked for them."""
        self._start_fork_servers()
        return partition(graph, self._machine, self._measured, self._refused)

    def _start_fork_servers(self) -> None:
        start_fork_servers_early(self._machine, self.budget, {EAGER, *self.baselines})

    def _answers(self, cut: Partition, clock: _Clock, compile_whole: Callable[[], Any]) -> list[_Found]:
        """The answer of each region: those of earlier builds first, then those of the searches."""
        effort = efforts([r.text for r in cut.regions], [c.seconds for c in cut.costs])
        searches: dict[str, _Search] = {}
        for region in {r.text: r for r in cut.regions}.values():
            program = self._program(region)
            if isinstance(program, _Program) and program.text not in self._found | searches:
                session = self._find(program, effort[region.text])
                if session is not None:
                    searches[program.text] = _Search(region.name[:60], program, effort[region.text], session)
        clock.note("stored answers")
        if searches:
            self._run(searches, clock, compile_whole)
        return [self._found_for(r) for r in cut.regions]

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchCompiler:
        """The compiler itself: a copy of a compiled module shares it, as it would share a function."""
        return self

    def __reduce__(self) -> tuple[type[TorchCompiler], tuple[Any, ...]]:
        """Only the options, so that compiled modules can be pickled: kernels are for this process."""
        return TorchCompiler, (self.target, self.budget, self.rest, self.at_least, self.baselines, self.seed)

    @property
    def outcomes(self) -> list[RegionOutcome]:
        """One per region, in the order of torch's graphs."""
        return self.report().outcomes

    def wait_for_builds(self, seconds: float | None = None) -> bool:
        """Wait until the kernels are built, for which calls so far run torch.

        Args:
            seconds: the longest time; without limit if None.

        Returns:
            Whether they are.
        """
        return _BUILDS.wait(seconds)

    def report(self) -> Report:
        """What was searched, what runs, what stayed in torch and why.

        Returns:
            A table, as text when printed and as HTML in a notebook.
        """
        return Report(tuple(self.graphs), left_to_python().since(self._earlier))

    @property
    def _machine(self) -> Target:
        return target(self.target) if isinstance(self.target, str) else self.target

    # ------------------------------------------------------------ regions
    def _refused(self, region: Region) -> str:
        """Why no kernel can compute a region; empty where one can be searched."""
        found = self._program(region)
        return found if isinstance(found, str) else ""

    def _program(self, region: Region) -> _Program | str:
        """The program of a region, with symbols where torch's sizes are symbolic; or why it has none."""
        if region.text not in self._programs:
            fixed = ""
            program: _Program | str = "code for other sizes is generated for CPUs only"
            if region.sizes and self._machine.kind == "cpu":
                program = _traced_with_symbols(region)
                merged = replace(region, merges_sizes=True)
                if not isinstance(program, _Program) and len(merged.sizes.at) < len(region.sizes.at):
                    of_merged = _traced_with_symbols(merged)
                    program = of_merged if isinstance(of_merged, _Program) else program
            if not isinstance(program, _Program):
                fixed = f"at {region.sizes}, torch runs at other sizes: {program}" if region.sizes else ""
                program = _traced(lambda: trace(region.module("at hints"), region.example_inputs(), "region"), region)
            if isinstance(program, _Program):
                program = self._with_known_sizes(replace(program, fixed=fixed))
            self._programs[region.text] = program
        return self._programs[region.text]

    def _with_known_sizes(self, program: _Program) -> _Program:
        """A program with symbols, at the sizes for which an earlier graph has its kernel; at its own if there is none.

        The kernel for its own sizes is then built as for any further sizes.
        """
        if not program.at:
            return program
        at = {
            text: p.at for p in self._programs.values() if isinstance(p, _Program) and (text := p.text) in self._found
        }
        same = (replace(program, at=sizes) for sizes in at.values() if sizes)
        if (known := next((p for p in same if p.text in self._found), None)) is not None:
            return known
        for found in tuple(self._found.values()):
            if not isinstance(found.kernel, SavedKernel):
                continue
            kernel = with_symbols(found.kernel.kernel, program.traced.program, self.seed)
            if kernel is not None:
                known, traced = replace(program, at=dict(kernel.shapes)), program.traced
                saved = replace(
                    found.kernel,
                    kernel=kernel,
                    signature=traced.signature,
                    parameters=traced.parameters,
                    reference=on_program_inputs(traced),
                )
                self._found[known.text] = self._at_all_sizes(found.outcome, saved, known)
                return known
        return program

    def _session(self, program: _Program, effort: Effort, cache: bool) -> Session:
        return Session(
            program.traced,
            target=self.target,
            at=program.at,
            budget=effort.budget(self.budget),
            space=effort.space(program.traced.program),
            seed=self.seed,
            baselines=effort.baselines(tuple(dict.fromkeys((EAGER, *self.baselines)))),
            cache=cache,
        )

    def _find(self, program: _Program, effort: Effort) -> Session | None:
        """Take the answer of an earlier build; where there is none, return the session of a search."""
        try:
            with self._session(program, effort, cache=False) as asked:
                kept = AnswerFiles().find(asked.task)
            if kept is None:
                return self._session(program, effort, cache=True)
        except PrismError as error:  # such as a dtype that has no kernels
            self._found[program.text] = _Found(RegionOutcome("", False, str(error).splitlines()[0]), None)
        else:
            search = cache(lambda: self._session(program, effort, cache=True))
            self._found[program.text] = self._outcome(kept, program, effort, search)
        return None

    def _run(self, searches: Mapping[str, _Search], clock: _Clock, compile_whole: Callable[[], Any]) -> None:
        """Enumerate and prove all, and then tune all, two at a time.

        Enumeration needs one core. Beside it the default compiler, which the last race needs, compiles the whole graph,
        and what workers are forked from imports torch. Tuning of the largest region beside them took longer: three
        threads of Python wait for each other.
        """
        self._start_fork_servers()
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool, ExitStack() as opened:
            for search in searches.values():
                opened.enter_context(search.session)
            proved = pool.submit(self._prove, searches.values(), clock)
            with tracing(strict=False):
                compile_whole()
            proved.result()
            clock.note("waiting for torch.compile")
            longest_first = sorted(searches.items(), key=lambda item: -item[1].effort.share)
            tuned = [(text, pool.submit(self._tune, search)) for text, search in longest_first]
            for number, (text, found) in enumerate(tuned, 1):
                _show_progress(f"prism: tuning {number} of {len(searches)}, {searches[text].name}")
                self._found[text] = found.result()
            clock.note("tuning and races of regions")

    def _tune(self, search: _Search) -> _Found:
        """Tune a region's proved candidates, race its kernel, and store the answer."""
        start_s, session = time.perf_counter(), search.session
        found = session.best()
        best = found if isinstance(found, Best) else None
        answer = answer_of(session.claim, best)
        made = self._outcome(answer, search.program, search.effort, lambda: session)
        # A failure to time something may be gone in the next build, and so may what slowed a kernel.
        is_known = session.chosen is None if best is None else EAGER in answer.ratios
        is_slowed = best is not None and best.timed.waited > BUSY_SHARE and not made.outcome.replaced
        if session.state == "finished" and is_known and not is_slowed:
            AnswerFiles().store(session.task, answer)
        session.close()
        search.seconds += time.perf_counter() - start_s
        return replace(made, outcome=replace(made.outcome, spent_s=search.seconds))

    def _prove(self, searches: Collection[_Search], clock: _Clock) -> None:
        for number, search in enumerate(searches, 1):
            _show_progress(f"prism: search {number} of {len(searches)}, {search.name}")
            search.session.run(until=_is_proved)
            search.seconds += clock.note("search and proof")

    def _found_for(self, region: Region) -> _Found:
        program = self._program(region)
        if isinstance(program, str):
            return _Found(RegionOutcome(region.name, False, program), None)
        found = self._found[program.text]
        times = [s for s in (found.outcome.kernel_s, *found.outcome.torch_s.values()) if s is not None]
        if times:
            self._measured[region.text] = min(times)
        return found

    def _outcome(self, answer: Answer, program: _Program, effort: Effort, search: Callable[[], Session]) -> _Found:
        text = show(program.traced.program)
        plain = RegionOutcome("", False, answer.claim, text, search=search, effort=str(effort), kept=answer.kept)
        if answer.kernel is None:
            return _Found(plain, None)
        times = {r.name: r.time_s for r in answer.rows if r.samples and r.name in (OURS, EAGER, COMPILED)}
        kernel_s = times.pop(OURS, None)
        ratio, compiled = answer.ratios.get(EAGER), answer.ratios.get(COMPILED)
        if ratio is None:
            why = next((r.note for r in answer.rows if r.name == EAGER), "")
            return _Found(replace(plain, reason=f"torch eager could not be timed: {why}"), None)
        beside = f" and {compiled:.2f}x as fast as torch.compile" if compiled is not None else ""
        reason = f"{answer.candidate} is {ratio:.2f}x as fast as torch eager{beside}"
        slow = find_faster_baseline(answer.rows, self.at_least)
        if slow is not None:
            reason += f"; {self.at_least:g}x is required ({slow})"
        least = min(answer.ratios[name] for name in (EAGER, COMPILED) if name in answer.ratios)
        is_unsure = slow is None and self.rest != "fastest" and least < self.at_least
        if is_unsure:
            reason += f"; that may be noise, and with rest={self.rest!r} no race of the whole graph decides it"
        outcome = replace(
            plain,
            replaced=slow is None and not is_unsure,
            reason=reason,
            candidate=answer.candidate,
            ratio=ratio,
            is_compiled=slow is not None and slow.baseline.name == COMPILED and slow.baseline.ratio_p75 < 1.0,
            kernel_s=kernel_s,
            torch_s=times,
            proof="proved over the reals",
        )
        if not program.at:
            return _Found(outcome, answer.kernel)
        return self._at_all_sizes(outcome, answer.kernel, program)

    def _at_all_sizes(self, outcome: RegionOutcome, tuned: SavedKernel, program: _Program) -> _Found:
        build, start = (build_here, in_the_call) if self.wait else (build_in_worker(_is_stopped), _BUILDS)
        kernel = KernelForSizes(tuned, self._machine, build=build, start=start, seed=self.seed)
        text = show(program.traced.program)
        return _Found(replace(outcome, program=text, buckets=lambda: kernel.buckets), kernel)

    def _of_region(self, found: RegionOutcome, region: Region, cost: Cost) -> RegionOutcome:
        kind = "measured" if cost.is_measured else "modelled"
        again = f", {cost.repeated:.2f} times the least traffic or arithmetic" if cost.repeated > 1.005 else ""
        return replace(
            found,
            region=region.name,
            reason=f"{found.reason}{_parts_text(region)}{_sizes_text(self._program(region))}",
            cut=f"cut at a {kind} {seconds_text(cost.seconds)}{again}",
            calls=Calls(),
        )

    # ------------------------------------------------------------ the whole graph
    def _choose(
        self,
        module: Any,
        original: Any,
        examples: Sequence[Any],
        rows: Sequence[RegionOutcome],
        compiled: Callable[[], Callable[..., Any]],
    ) -> tuple[Callable[..., Any], WholeRace]:
        """What runs the graph, and the race that decided it; only what runs or is raced is compiled."""
        has_kernels = any(row.replaced for row in rows)
        if self.rest == "eager":
            return module.forward, WholeRace(KERNELS if has_kernels else EAGER, {}, "not raced, as rest= decides")
        if self.rest == "inductor":
            name = KERNELS_AND_COMPILED if has_kernels else COMPILED
            return compiled_between_kernels(module), WholeRace(name, {}, "not raced, as rest= decides")
        ways = _ways(module if has_kernels else None, original, compiled)
        files, kernels = AnswerFiles(), [f"{row.state} {row.candidate} {row.program}" for row in rows]
        question = race_question(graph_text(original.graph), kernels, self._machine, package_versions())
        race = files.find_race(question, tuple(ways))
        if race is None:
            race = compiled_for_this_cpu(
                lambda: race_whole(original, examples, {name: way() for name, way in ways.items()}, seed=self.seed),
                lambda race: race.note,
            )
            # The compiler may be there at the next build, and the other processes gone.
            if not race.is_disturbed and not isinstance(compiled(), FailedCompiler):
                files.store_race(question, race)
        if not _has_symbols(original.graph):
            return ways[race.winner](), race
        return self._by_sizes(original, ways, race), race

    def _chosen_later(
        self, module: Any, original: Any, compiled: Callable[[], Callable[..., Any]]
    ) -> tuple[Callable[..., Any], WholeRace]:
        """What runs a graph whose kernels are those of an earlier graph at other sizes: calls decide, as at others."""
        said = "its kernels are those of an earlier graph at other sizes"
        not_raced = f"not raced, as rest= decides; {said}"
        match self.rest:
            case "eager":
                return module.forward, WholeRace(KERNELS, {}, not_raced)
            case "inductor":
                return compiled_between_kernels(module), WholeRace(KERNELS_AND_COMPILED, {}, not_raced)
            case "fastest":
                ways = _ways(module, original, compiled)
                for way in ways.values():
                    way()  # compiled within torch's backend
                winner = EAGER if isinstance(compiled(), FailedCompiler) else COMPILED
                return self._by_sizes(original, ways, None), WholeRace(winner, {}, f"until calls have decided; {said}")

    def _by_sizes(
        self, original: Any, ways: dict[str, Callable[[], Callable[..., Any]]], first: WholeRace | None
    ) -> WaysBySizes:
        compiled = ways[COMPILED]()
        if isinstance(compiled, FailedCompiler):
            del ways[COMPILED]
        start = in_the_call if self.wait else _BUILDS
        return WaysBySizes(original, ways, first, working(compiled, original), start=start)

    def _is_at_its_sizes(self, region: Region) -> bool:
        """Whether its kernel is one for the sizes of the call at which torch compiles."""
        program = self._program(region)
        return isinstance(program, str) or all(region.sizes.at[s] == n for s, n in program.at.items())


def prism(module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend registered with torch as `prism`; it issues the report as a warning."""
    compiler = TorchCompiler()
    compiled = compiler(module, examples, **options)
    warnings.warn(f"prism: {compiler.report()}", stacklevel=2)
    return compiled


def _is_proved(session: Session) -> bool:
    """Whether enumeration and proofs have ended."""
    last = session.journal.since(len(session.journal) - 1)
    return bool(last) and phase_of(last[0].event) == "tune"


def _records_gradients(graph: Any) -> str:
    """Why torch keeps the whole graph; empty where it does not record gradients."""
    import torch

    read = (value_of(n) for n in graph.nodes if n.op in ("placeholder", "get_attr"))
    if torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in read):
        return "torch records gradients, and its backward would repeat a kernel's work; call it in torch.no_grad()"
    return ""


def _parts_text(region: Region) -> str:
    """Of which operators the region's torch code is parts; the race of the whole graph has the operators themselves."""
    layers = dict.fromkeys(n.meta[LAYER] for n in region.nodes if LAYER in n.meta)
    return f"; its torch code has parts of {', '.join(layers)}" if layers else ""


def _sizes_text(program: _Program | str) -> str:
    if isinstance(program, str):
        return ""
    at = ", ".join(f"{name}={n}" for name, n in program.at.items())
    return f"; proved for all sizes, tuned at {at}" if at else f"; {program.fixed}" if program.fixed else ""


def _traced_with_symbols(region: Region) -> _Program | str:
    return _traced(lambda: trace(region.module("at any sizes"), region.types(), "region"), region)


def _traced(traced: Callable[[], Traced], region: Region) -> _Program | str:
    """A program that can be searched, or why there is none."""
    try:
        found = traced()
    except PrismError as error:
        return reason_of(error)
    at = {s: region.sizes.at[s] for s in found.program.graph.data_symbols}
    return why_no_search(found.program) or why_no_single_kernel(found.program) or _Program(found, at)


def _of_graph(cut: Partition, rows: Sequence[RegionOutcome]) -> GraphOutcome:
    untraced = {
        n: row.reason
        for region, row in zip(cut.regions, rows, strict=True)
        for n in region.nodes
        if not row.program and n in cut.computing
    }
    left = {n: (called_name(made_by(n)), why) for n, why in {**cut.left, **untraced}.items()}
    covered = len(cut.computing) - len(left)
    return GraphOutcome(tuple(rows), tuple(left.values()), len(cut.computing), covered, WholeRace(EAGER, {}), 0.0)


_OF_A_MODULE = "_dynamo_static_input_type"
"""An attribute that torch.compile gives to the tensors of a module, which it reads as arguments of the graph."""


def _weights(module: Any, examples: Sequence[Any]) -> list[tuple[int, int]]:
    """Address and bytes of each tensor of a module on the CPU that a graph reads; weights of few bits are buffers."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    own = (getattr(module, n.target, None) for n in module.graph.nodes if n.op == "get_attr" and "." not in n.target)
    given = (x for x in examples if isinstance(x, torch.nn.Parameter) or hasattr(x, _OF_A_MODULE))
    storages = {
        x.untyped_storage().data_ptr(): x.untyped_storage().nbytes()
        for x in (*given, *own)
        if torch.is_tensor(x) and not (isinstance(x, FakeTensor) or is_wrapper(x)) and x.device.type == "cpu"
    }
    return list(storages.items())


def _show_progress(line: str) -> None:
    """One line in a terminal, which the next one replaces; nothing elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{line}")
        sys.stderr.flush()


def _ways(
    module: Any, original: Any, compiled: Callable[[], Callable[..., Any]]
) -> dict[str, Callable[[], Callable[..., Any]]]:
    """Functions that return what runs a graph, by name; without a module with kernels, those of torch."""
    ways: dict[str, Callable[[], Callable[..., Any]]] = {EAGER: lambda: original.forward, COMPILED: compiled}
    if module is not None:
        ways |= {KERNELS: lambda: module.forward, KERNELS_AND_COMPILED: cache(lambda: compiled_between_kernels(module))}
    return ways


def _numbers_of_call(examples: Sequence[Any]) -> tuple[Any, ...]:
    """The examples with numbers in place of symbolic sizes: compiled code that reads those makes guards of them."""
    return tuple(x.node.hint if hasattr(x, "node") else x for x in examples)


def _has_symbolic_floats(graph: Any) -> bool:
    return any(isinstance(number_of(n), float) for n in graph.nodes if hasattr(value_of(n), "node"))


def _has_symbols(graph: Any) -> bool:
    return any(node.op == "placeholder" and hasattr(value_of(node), "node") for node in graph.nodes)
