"""Comparison of a kernel with baselines: torch eager, torch.compile, a library call, and the machine's measured limit.

All are timed in the same rounds, in shuffled order, on the same ring of cold inputs, by the same timer (`timing.py`),
in a worker process whose malloc reuses freed memory. A baseline that cannot be prepared (no C compiler, time limit,
crash) becomes a row with 0 samples and the reason.

The limit is measured, not quoted: in the same rounds, loops read as many bytes as the kernel must read, and do as much
arithmetic. Of several patterns of reading, the fastest of the first rounds is in all of them. How a baseline is
prepared in the worker is in `baseline_serve.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import inf

from prism_explore.cost.roofline import time_bound_of
from prism_explore.events.fastest import LIBRARY, OURS
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured, RivalTimed
from prism_explore.frontend import LibraryCall, Traced
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target, host
from prism_explore.tune.runner.backend import CPU_LOADER, backend_of
from prism_explore.tune.runner.baseline_rows import baseline_row, comparison_rows, with_measured_rates
from prism_explore.tune.runner.baseline_table import BASELINES, DEFAULT_BASELINES, LIBRARY_CALL, Baseline
from prism_explore.tune.runner.baseline_worker import BaselineWorker, Code
from prism_explore.tune.runner.bench import Ceilings, Failure, Samples, no_samples
from prism_explore.tune.runner.measured_limit import fastest_reader, multiplies_16_bits
from prism_explore.tune.runner.stopping_rule import FIRST_ROUNDS, interval
from prism_explore.tune.runner.timing import counted_rounds, ratios
from prism_explore.tune.runner.worker import Worker

ROUNDS_PER_REQUEST = 8
"""The worker times at most this many rounds per request, so that its time limit detects a hanging kernel."""

LEAST_DECISIVE_ROUNDS = 8
"""Undisturbed rounds before a race can be decided."""


def compare_with_baselines(
    reference: Code | None,
    kernel: Kernel,
    target: Target,
    journal: Journal,
    *,
    baselines: Sequence[str] = DEFAULT_BASELINES,
    library: LibraryCall | None = None,
    more: Sequence[Baseline] = (),
    rounds: int = 24,
    details: bool = True,
    seed: int = 0,
    loader: str = "",
    store_rates: Callable[[Target], None] = host.store_higher_rates,
    stop: Callable[[], bool] = lambda: False,
    started: BaselineWorker | None = None,
    wait_s: float = inf,
) -> tuple[BaselineMeasured, ...]:
    """Time a kernel and the baselines in one run; note the rows in the journal.

    Args:
        reference: torch code of the program; None if there is only a program.
        kernel: compared with the float64 reference again before it is timed.
        target: the machine; its limit is measured in the same run.
        journal: receives every row.
        baselines: names of rows of `BASELINES`.
        library: other torch code with the same value, run eagerly.
        more: baselines of other compilers, each with its maker.
        rounds: how often each is timed.
        details: whether all rounds are run, and the machine's limit is measured. Otherwise it ends once it is clear of
            each baseline whether it is faster.
        seed: of the inputs and of the order in each round.
        loader: `module:function` that makes the kernel callable; the target's own if empty.
        store_rates: receives a target with the measured rates.
        stop: called while waiting.
        started: a worker that prepares the same baselines since earlier; the caller closes it.
        wait_s: seconds to wait for baselines that are still being compiled; those that are not ready then are not
            timed, and their rows say so.

    Returns:
        Rows for the kernel, the baselines, the library call and the measured limit. `ratio` is the median over the
        rounds of a row's time divided by the kernel's, with quartiles.
    """
    program, shapes = kernel.verified.candidate.family.program, dict(kernel.shapes)
    bound = time_bound_of(kernel.verified.candidate, shapes, target)
    codes = _select_code(reference, baselines, library) | {b: reference for b in more if reference is not None}
    is_16_bit = multiplies_16_bits(program, target)
    kernel_loader = loader or backend_of(target).loader
    worker = BaselineWorker(codes, program, shapes, target, kernel_loader, seed=seed, stop=stop)
    with worker if started is None else nullcontext(started) as prepared:
        ready, failures = prepared.prepare(codes, kernel, wait_s)
        found = prepared.worker.prepare_ceilings(bound.bytes, bound.flops, is_16_bit) if details else None
        ceilings = found if isinstance(found, Ceilings) else None
        keys = [*ready, *(ceilings.keys if ceilings is not None else ())]
        samples = Failure("tune.wrong", failures.get(OURS, ""))
        if OURS in keys:
            rivals = [] if details else [key for key in ready if key != OURS]
            samples = _time(prepared.worker, keys, rounds, ceilings, rivals)
    notes = {b.name: b.description for b in more} | ({LIBRARY: library.call_text} if library is not None else {})
    rows = comparison_rows(samples, [OURS, *(b.name for b in codes)], failures, notes, ceilings, bound)
    for row in rows:
        journal.append(row)
    if isinstance(samples, Samples) and ceilings is not None and target.kind == "cpu":
        store_rates(with_measured_rates(target, samples, ceilings, bound, is_16_bit))
    return rows


def time_baselines(
    reference: Code,
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    *,
    baselines: Sequence[str] = DEFAULT_BASELINES,
    library: LibraryCall | None = None,
    rounds: int = 24,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[RivalTimed, ...]:
    """Time the baselines before there is a kernel, each first compared with the float64 reference.

    Args:
        reference: torch code of the program.
        program: the program.
        shapes: values of its symbols.
        target: this machine.
        baselines: names of rows of `BASELINES`.
        library: other torch code with the same value, run eagerly.
        rounds: how often each is timed.
        seed: of the inputs and of the order in each round.
        stop: called while waiting.

    Returns:
        One row per baseline; rows of those that could not be timed have 0 samples and the reason.
    """
    codes = _select_code(reference, baselines, library)
    with BaselineWorker(codes, program, shapes, target, CPU_LOADER, seed=seed, stop=stop) as prepared:
        ready, failures = prepared.prepare(codes)
        samples = _time(prepared.worker, ready, rounds) if ready else Failure("tune.wrong", "no rival was ready")
    rows: list[RivalTimed] = []
    for baseline in codes:
        if isinstance(samples, Failure) or baseline.name in failures:
            reason = failures.get(baseline.name, samples.reason if isinstance(samples, Failure) else "")
            rows.append(RivalTimed(baseline.name, 0.0, 0.0, 0.0, 0, reason))
        else:
            note = library.call_text if library is not None and baseline is LIBRARY_CALL else ""
            rows.append(baseline_row(baseline.name, samples, note))
    return tuple(rows)


def why_not_equal(
    code: Code,
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    *,
    seed: int = 0,
) -> str:
    """Why torch code is not a library call for a program: its result differs, or it fails; empty if it is one.

    Args:
        code: torch code.
        program: what it should compute.
        shapes: values of the program's symbols.
        target: this machine.
        seed: of the inputs.
    """
    codes = {LIBRARY_CALL: code}
    with BaselineWorker(codes, program, shapes, target, CPU_LOADER, seed=seed) as prepared:
        return prepared.prepare(codes)[1].get(LIBRARY, "")


def baseline_worker(
    reference: Traced,
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    *,
    baselines: Sequence[str],
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> BaselineWorker:
    """A worker that can prepare baselines before there is a kernel, for a later `compare_with_baselines`.

    Args:
        reference: torch code of the program.
        program: the program.
        shapes: values of its symbols.
        target: this machine.
        baselines: names of rows of `BASELINES`.
        seed: of the inputs.
        stop: called while waiting.

    Returns:
        The worker; nothing is started, and the caller closes it.
    """
    codes = _select_code(reference, baselines, None)
    return BaselineWorker(codes, program, shapes, target, backend_of(target).loader, seed=seed, stop=stop)


def _select_code(reference: Code | None, baselines: Sequence[str], library: LibraryCall | None) -> dict[Baseline, Code]:
    codes = {b: reference for b in BASELINES if b.name in baselines and reference is not None}
    return codes | ({LIBRARY_CALL: library.traced} if library is not None else {})


def _time(
    worker: Worker, keys: Sequence[str], rounds: int, ceilings: Ceilings | None = None, rivals: Sequence[str] = ()
) -> Samples | Failure:
    """Time these keys; of the loops that read, only the fastest of the first request is timed to the end.

    Where there are `rivals`, it ends once it is clear of each of them whether it is faster than the kernel.
    """
    samples = no_samples(keys)
    most = FIRST_ROUNDS if ceilings is not None else ROUNDS_PER_REQUEST
    while len(samples.waits) < rounds:
        found = worker.time(keys, min(most, rounds - len(samples.waits)))
        if isinstance(found, Failure):
            return found
        if ceilings is not None and not samples.waits:
            slower = {*ceilings.readers} - {fastest_reader(found.times_s, ceilings)}
            keys = [key for key in keys if key not in slower]
        samples, most = samples.extended(found), ROUNDS_PER_REQUEST
        if rivals and _is_decided(samples, rivals):
            break
    return replace(samples, times_s={key: samples.times_s[key] for key in keys})


def _is_decided(samples: Samples, rivals: Sequence[str]) -> bool:
    """Whether it is clear of each rival whether it is faster than the kernel, from the rounds that count."""
    counted = counted_rounds(samples.waits)
    if len(counted) < LEAST_DECISIVE_ROUNDS:
        return False
    ours = [samples.times_s[OURS][i] for i in counted]
    return all(
        not low <= 1 <= high
        for low, high in (interval(ratios([samples.times_s[r][i] for i in counted], ours)) for r in rivals)
    )
