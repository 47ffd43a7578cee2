"""The time model and the tuning strategies, compared with an exhaustive sweep over all sizes.

    .venv/bin/python benchmarks/tuning.py sweep --workloads rmsnorm_linear
    .venv/bin/python benchmarks/tuning.py report
    .venv/bin/python benchmarks/tuning.py live --seeds 3

`sweep` searches a workload, then compiles and checks every legal choice of grid sizes and loop ranges of every proved
candidate, with the default schedule of the code generator. It times all kernels in a few interleaved rounds, and those
near the fastest in many rounds. The dims of the shapes have few divisors, which keeps the number of kernels small. The
result is a dated file in `benchmarks/results/`. Run it on an idle machine. With `--seconds` it stops after this time,
and the next call continues.

`report` measures nothing. It prints the rank correlation (Spearman) of modelled and measured times, and how much slower
the best of the model's first 20 kernels is than the best of all. It also replays each strategy on the recorded rounds
with many seeds, and counts the trials until it is within 3 % of the best recorded median. This is harder than tuning on
the machine: kernels of one recorded round were timed seconds apart, and the smallest of hundreds of medians is partly
luck (the winner's curse).

`live` tunes on the machine for 64 trials with each seed, then times the result next to the fastest kernels of the sweep
in new rounds. It prints the share of the best speed. A random half of the rounds selects the fastest kernel, and the
other half gives its time, because the smallest of twenty medians is too small in the rounds that selected it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from benchmarks.machine_info import package_versions, run_header
from prism_explore.events.journal import Journal
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Timed, Verified
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.targets import Target
from prism_explore.tune import Backend, Budget, Pool, StrategyName, TuneRequest, Worker, tune
from prism_explore.tune.runner.backend import backend_of
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Samples
from prism_explore.tune.runner.timing import counted_rounds
from prism_explore.tune.runner.wire import target_from_plain, target_to_plain
from prism_explore.tune.runner.worker import WorkerLimits
from prism_explore.tune.space.parameters import Choices
from prism_explore.tune.space.size_table import Sizes
from prism_explore.tune.space.time_model import model_of, rank_correlation

RESULTS = Path(__file__).parent / "results"
MODEL_CHOICES = 20
"""The first kernels in the order of the time model that are compared with the best."""
LONG_RUN_FACTOR = 2.0
"""A kernel that takes at most this factor of the fastest time is timed again in more rounds."""
GOAL_SHARE = 0.97
"""The share of the best speed that a strategy should reach."""
MAX_WAITED = 0.05
"""Default of `--waited`: a round is not recorded if threads waited for a core for a larger share of the time."""
TRIALS = 64
LIVE_ROUNDS = 300
"""Rounds that compare the results of the tuner with the fastest kernels of the sweep."""
SPLITS = 100
"""Number of random ways to split those rounds into halves."""
STRATEGIES: tuple[StrategyName, ...] = ("climbing", "ranked", "tpe", "random")
"""The compared strategies; `random` is the baseline. Strategies that try all sizes in order are left out, and so is the
Gaussian process, which needs scipy."""


def _attention(rows: int, width: int, keys: int) -> dict[str, TensorType]:
    return {"q": T("b", rows, width), "k": T("b", width, keys), "v": T("b", keys, width)}


SHAPES: Mapping[str, tuple[Mapping[str, TensorType], Mapping[str, int]]] = {
    "rmsnorm_linear": ({"x": T("b", 1058), "g": T(1058), "w": T(1058, 1006)}, {"b": 1}),
    "swiglu": ({"x": T("b", 961), "gate": T(961, 1058), "up": T(961, 1058)}, {"b": 1}),
    "attention": (_attention(1, 61, 4913), {"b": 1}),
    "qk_norm_attention": (_attention(1, 61, 4913), {"b": 1}),
    "rmsnorm_mlp": ({"x": T("b", 961), "up": T(961, 961), "gate": T(961, 961)}, {"b": 1}),
}
"""Per workload, its input shapes and the values of its symbols.

961 = 31^2, 1058 = 2 * 23^2, 1006 = 2 * 503 and 4913 = 17^3 have three, six, four and four divisors. The attention is
that of a decoder: one query over a cache of keys and values."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One choice of sizes of one candidate, with its measured times."""

    candidate: str
    sizes: tuple[tuple[str, int], ...]
    failure: str
    """The failure code; empty if there is a kernel."""
    times_s: tuple[float, ...] = ()
    """Per round of the short run; all rows of a sweep have the same rounds."""
    long_run_s: tuple[float, ...] = ()
    """Per round of the long run, for kernels near the fastest."""
    same_source_as: str = ""
    """The key of an earlier row whose kernel has the same source."""
    source: str = ""
    """A hash of the source of the kernel."""

    @property
    def key(self) -> str:
        """The id of the row: the candidate and its sizes."""
        return f"{self.candidate} {' '.join(f'{s}={n}' for s, n in self.sizes)}"

    @property
    def time_s(self) -> float:
        """The median of the long run; without a long run, of the short run."""
        return median(self.long_run_s or self.times_s)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The time model and the strategies against an exhaustive sweep.")
    parser.add_argument("stage", choices=("sweep", "report", "live"), help="what to do")
    parser.add_argument("--workloads", nargs="+", choices=tuple(SHAPES), default=list(SHAPES), help="default: all")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the sweeps")
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit of a sweep; the next call continues it")
    parser.add_argument("--rounds", type=int, default=3, help="rounds for all kernels")
    parser.add_argument("--more-rounds", type=int, default=20, help="rounds for kernels near the fastest")
    parser.add_argument(
        "--waited", type=float, default=MAX_WAITED, help="largest share of a round that threads may wait for a core"
    )
    parser.add_argument("--seeds", type=int, default=20, help="number of replays of each strategy, or of live runs")
    parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="strategy of the live runs")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    args = parser.parse_args(argv)
    reports: list[dict[str, Any]] = []
    for name in args.workloads:
        if args.stage == "sweep":
            Sweep(name, args.results, args.seconds, args.waited).run(args.rounds, args.more_rounds)
            continue
        if args.stage == "live":
            _compare_live(name, args.results, args.strategy, range(args.seeds))
            continue
        reports.append(_report(_latest(args.results, name), args.seeds))
        if not args.json:
            _print_report(reports[-1])
    if args.json and reports:
        print(json.dumps(reports, indent=1))


# ---------------------------------------------------------------- measuring
def _search(name: str) -> tuple[px.Session, Sequence[Verified]]:
    """Search a workload without tuning; return the session and the proved candidates."""
    inputs, at = SHAPES[name]
    session = px.Session(px.workload(name).code, name=name, inputs=inputs, at=at, budget=Budget(trials=0), baselines=())
    progress, nothing = Progress(), Steering()
    for _ in explore(session.task, session.journal, lambda: nothing, progress):
        pass
    return session, progress.proved


def _no_schedule_choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    """No choices of schedules: every kernel has the default schedule."""
    return ()


def _points(proved: Sequence[Verified], at: Mapping[str, int], target: Target) -> Iterator[tuple[Verified, Parameters]]:
    """Every legal choice of sizes of every candidate, with the default schedule."""
    pool = Pool(proved, at, target, _no_schedule_choices)
    if not pool.is_complete:
        sys.exit("too many choices of sizes for one pool; use shapes with fewer divisors")
    for candidate in pool.candidates:
        for _, sizes in candidate.sizes:
            yield candidate.verified, Parameters(sizes)


def _search_again(name: str, data: Mapping[str, Any]) -> tuple[px.Session, Sequence[Verified]]:
    """Search a workload again; exit if the sweep was made for other graphs or shapes."""
    session, proved = _search(name)
    if data.get("graphs") != _graphs(proved) or data["shapes"] != _shapes(name):
        sys.exit(f"the search finds other graphs than in the sweep of {name} on {data['date']}; run the sweep again")
    return session, proved


class Sweep:
    """Times every choice of sizes of a workload. A sweep can be interrupted and continued by another process."""

    def __init__(self, name: str, folder: Path, seconds: float, waited: float) -> None:
        self._until, self._waited = time.monotonic() + seconds, waited
        self._session, proved = _search(name)
        self._at = dict(SHAPES[name][1])
        target = self._session.task.target
        self._points = {SweepRow(v.candidate.id, p.sizes, "").key: (v, p) for v, p in _points(proved, self._at, target)}
        conditions = {
            "workload": name,
            "machine": run_header(target)["machine"],
            "versions": package_versions(),
            "shapes": _shapes(name),
            "graphs": _graphs(proved),
        }
        self._path = _sweeps(folder, name)[-1] if _sweeps(folder, name) else None
        before: dict[str, Any] = {} if self._path is None else json.loads(self._path.read_text(encoding="utf-8"))
        if before.get("complete") or any(before.get(k) != v for k, v in conditions.items()):
            before = {}
        if not before:
            self._path = folder / f"tuning-{name}-{datetime.now(UTC).date().isoformat()}.json"
        date = datetime.now(UTC).isoformat(timespec="minutes")
        self._header: dict[str, Any] = {
            **conditions,
            "date": date,
            "target": before.get("target", target_to_plain(target)),
        }
        self._target = target_from_plain(self._header["target"])
        self._disturbed = int(before.get("disturbed", 0))
        self._rows = {r.key: r for r in _rows(before)} if before else {}
        self._first = {r.source: r.key for r in self._rows.values() if not r.failure and not r.same_source_as}
        self._loaded: set[str] = set()
        self._backend = backend_of(target)
        self._worker = Worker(
            self._session.program, self._at, target, self._backend.loader, limits=WorkerLimits(time_s=600.0)
        )

    def run(self, rounds: int, more_rounds: int) -> None:
        """Time what is not timed yet, until all is done or the time is up; write the results."""
        complete = False
        with self._worker:
            prepared = all(key in self._rows or self._prepare(key) for key in self._points)
            self._write(False)
            if prepared:
                kernels = [k for k, r in self._rows.items() if not (r.failure or r.same_source_as)]
                complete = self._time("times_s", kernels, rounds)
                if complete:
                    fastest = min(median(self._rows[k].times_s) for k in kernels)
                    near = [k for k in kernels if median(self._rows[k].times_s) <= LONG_RUN_FACTOR * fastest]
                    complete = self._time("long_run_s", near, more_rounds)
        self._write(complete)

    def _prepare(self, key: str) -> bool:
        """Compile a kernel, check its result, and record the outcome; return False if the time is up."""
        if time.monotonic() > self._until:
            return False
        verified, parameters = self._points[key]
        row = self._rows.get(key) or SweepRow(verified.candidate.id, parameters.sizes, "")
        kernel = self._backend.emit(verified, parameters, self._at, self._target)
        if isinstance(kernel, Kernel):
            source = sha256(kernel.source.encode()).hexdigest()[:16]
            first = self._first.setdefault(source, key)
            row = replace(row, source=source, same_source_as=first if first != key else "")
            checked = None if row.same_source_as else self._worker.check(key, kernel)
            row = replace(row, failure=checked.code) if isinstance(checked, Failure) else row
            self._loaded |= {key} if isinstance(checked, CheckPassed) else set()
        else:
            row = replace(row, failure=kernel.code)
        self._rows[key] = row
        return True

    def _time(self, field: Literal["times_s", "long_run_s"], keys: Sequence[str], rounds: int) -> bool:
        """Time kernels until they have this many common rounds; return False if the time is up first.

        Rounds that other work disturbed are not counted.
        """
        while len(getattr(self._rows[keys[0]], field)) < rounds:
            if not all(k in self._loaded or self._prepare(k) for k in keys) or time.monotonic() > self._until:
                return False
            found = self._worker.time(keys, 1)
            if isinstance(found, Failure):
                sys.exit(found.reason)
            if found.waited > self._waited:
                self._disturbed += 1
                continue
            for key in keys:
                series = (*getattr(self._rows[key], field), *found.times_s[key])
                self._rows[key] = replace(self._rows[key], **{field: series})
            self._write(False)
        return True

    def _write(self, complete: bool) -> None:
        """Write the results, one line per row, so that a diff can be read."""
        assert self._path is not None, "__init__ sets it"
        rows = ",\n".join(f"  {json.dumps(asdict(r))}" for r in self._rows.values())
        header = json.dumps(
            {**self._header, "waited": self._waited, "disturbed": self._disturbed, "complete": complete}, indent=1
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(f'{header[:-2]},\n "rows": [\n{rows}\n ]\n}}\n', encoding="utf-8")
        part.replace(self._path)
        done = [r for r in self._rows.values() if r.times_s]
        print(
            f"{self._path}: {len(self._rows)} of {len(self._points)} choices, {len(done)} kernels timed in "
            f"{max((len(r.times_s) for r in done), default=0)} rounds, {sum(bool(r.long_run_s) for r in done)} in "
            f"{max((len(r.long_run_s) for r in done), default=0)} more rounds; "
            f"{self._disturbed} disturbed rounds left out; {'complete' if complete else 'not complete: call again'}"
        )


def _shapes(name: str) -> dict[str, str | int]:
    inputs, at = SHAPES[name]
    return {**{k: str(t) for k, t in inputs.items()}, **at}


def _graphs(proved: Sequence[Verified]) -> dict[str, str]:
    """Per candidate, a hash of its graph: a later search can use the same id for another graph."""
    return {v.candidate.id: sha256(show(v.candidate.sgraph).encode()).hexdigest()[:16] for v in proved}


def _sweeps(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"tuning-{name}-*.json"))


def _latest(folder: Path, name: str) -> dict[str, Any]:
    found = _sweeps(folder, name)
    if not found:
        sys.exit(f"no sweep of {name} in {folder}; run the stage sweep first")
    return json.loads(found[-1].read_text(encoding="utf-8"))


def _rows(data: Mapping[str, Any]) -> list[SweepRow]:
    return [
        SweepRow(
            r["candidate"],
            tuple((str(s), int(n)) for s, n in r["sizes"]),
            r["failure"],
            tuple(r["times_s"]),
            tuple(r["long_run_s"]),
            r["same_source_as"],
            r["source"],
        )
        for r in data["rows"]
    ]


# ---------------------------------------------------------------- replaying recorded times
class RecordedBench:
    """A bench with the times of a sweep: each round is a recorded round, drawn at random."""

    def __init__(self, rows: Mapping[str, SweepRow], seed: int) -> None:
        self._rows, self._rng = rows, random.Random(seed)
        self._loaded_rows: dict[str, SweepRow] = {}

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """Return the recorded outcome."""
        row = self._rows[SweepRow(kernel.verified.candidate.id, kernel.parameters.sizes, "").key]
        row = self._rows[row.same_source_as] if row.same_source_as else row
        if row.failure:
            return Failure(row.failure, "as recorded")
        self._loaded_rows[key] = row
        return CheckPassed(0.0)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Return recorded rounds: of the long run if all kernels have one, so that each round is one recorded round."""
        rows = [self._loaded_rows[k] for k in keys]
        series = [r.long_run_s if all(o.long_run_s for o in rows) else r.times_s for r in rows]
        drawn = [self._rng.randrange(min(map(len, series))) for _ in range(rounds)]
        return Samples({k: tuple(s[i] for i in drawn) for k, s in zip(keys, series, strict=True)}, (0.0,) * rounds)

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        """None was recorded."""
        return Failure("tune.crash", "no ceilings were recorded")

    def drop(self, key: str) -> None:
        """Forget a kernel."""
        self._loaded_rows.pop(key, None)

    def close(self) -> None:
        """Nothing to release."""


def _report(data: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    name, rows = str(data["workload"]), _rows(data)
    by_key = {r.key: r for r in rows}
    target, at = target_from_plain(data["target"]), dict(SHAPES[name][1])
    _, proved = _search_again(name, data)
    models = {v.candidate.id: model_of(v.candidate, at, target) for v in proved}
    timed = [r for r in rows if r.times_s]
    modelled = {r.key: models[r.candidate].estimate(dict(r.sizes)).time_s for r in timed}
    best = min(r.time_s for r in timed)
    ranked = sorted(timed, key=lambda r: modelled[r.key])
    emitted: dict[str, Kernel | Infeasible] = {}
    backend = backend_of(target)

    def emit(verified: Verified, parameters: Parameters, shapes: Mapping[str, int], on: Target) -> Kernel | Infeasible:
        key = SweepRow(verified.candidate.id, parameters.sizes, "").key
        if key not in emitted:
            emitted[key] = backend.emit(verified, parameters, shapes, on)
        return emitted[key]

    recorded_backend = Backend(emit, _no_schedule_choices, backend.loader)
    return {
        "workload": name,
        "date": data["date"],
        "points": len(rows),
        "kernels": len(timed),
        "failed": sum(bool(r.failure) for r in rows),
        "best_s": best,
        "best": min(timed, key=lambda r: r.time_s).key,
        "rank_correlation": rank_correlation([modelled[r.key] for r in timed], [r.time_s for r in timed]),
        f"best_of_first_{MODEL_CHOICES}": min(r.time_s for r in ranked[:MODEL_CHOICES]) / best,
        "place_of_best": next(n for n, r in enumerate(ranked, 1) if r.time_s == best),
        "strategies": {s: _replay(s, proved, at, target, recorded_backend, by_key, best, seeds) for s in STRATEGIES},
    }


def _replay(
    name: StrategyName,
    proved: Sequence[Verified],
    at: Mapping[str, int],
    target: Target,
    backend: Backend,
    rows: Mapping[str, SweepRow],
    best: float,
    seeds: int,
) -> dict[str, Any]:
    """Replay a strategy with every seed.

    Returns:
        The share of the best speed after `TRIALS` trials, and the number of trials until `GOAL_SHARE` is reached.
    """
    shares: list[float] = []
    needed: list[int | None] = []
    budget = Budget(trials=TRIALS, seconds=1e9, patience=10**9, near=-1.0, strategy=name)
    for seed in range(seeds):
        bench = RecordedBench(rows, seed)
        found = tune(TuneRequest(proved, at, target, Journal(), budget=budget, seed=seed, backend=backend, bench=bench))
        share, trials_needed = 0.0, None
        fastest = float("inf")
        for number, outcome in enumerate(found, 1):
            if isinstance(outcome, Timed) and outcome.time_s < fastest:
                fastest = outcome.time_s
                row = rows[SweepRow(outcome.kernel.verified.candidate.id, outcome.kernel.parameters.sizes, "").key]
                share = best / (rows[row.same_source_as] if row.same_source_as else row).time_s
                trials_needed = number if share >= GOAL_SHARE and trials_needed is None else trials_needed
        shares.append(share)
        needed.append(trials_needed if share >= GOAL_SHARE else None)
    reached = [n for n in needed if n is not None]
    return {
        "median_share": median(shares),
        "worst_share": min(shares),
        "reached": len(reached) / seeds,
        "median_trials": median(reached) if reached else None,
    }


# ---------------------------------------------------------------- tuning on the machine
def _compare_live(name: str, folder: Path, strategy: StrategyName, seeds: Sequence[int]) -> None:
    data, at = _latest(folder, name), dict(SHAPES[name][1])
    session, proved = _search_again(name, data)
    target = session.task.target
    points = {SweepRow(v.candidate.id, p.sizes, "").key: (v, p) for v, p in _points(proved, at, target)}
    default_backend = backend_of(target)
    budget = Budget(trials=TRIALS, seconds=1e9, patience=10**9, near=-1.0, strategy=strategy)
    found: dict[int, str] = {}
    for seed in seeds:
        backend = Backend(default_backend.emit, _no_schedule_choices, default_backend.loader)
        outcomes = tune(TuneRequest(proved, at, target, Journal(), budget=budget, seed=seed, backend=backend))
        fastest = min((o for o in outcomes if isinstance(o, Timed)), key=lambda o: o.time_s).kernel
        found[seed] = SweepRow(fastest.verified.candidate.id, fastest.parameters.sizes, "").key
    timed = sorted((r for r in _rows(data) if r.times_s), key=lambda r: r.time_s)
    keys = list(dict.fromkeys([*(r.key for r in timed[:MODEL_CHOICES]), *found.values()]))
    with Worker(session.program, at, target, default_backend.loader, limits=WorkerLimits(time_s=600.0)) as worker:
        for key in keys:
            verified, parameters = points[key]
            kernel = default_backend.emit(verified, parameters, at, target)
            if not isinstance(kernel, Kernel) or isinstance(worker.check(key, kernel), Failure):
                sys.exit(f"{key} has a kernel in the sweep, and fails now")
        samples = worker.time(keys, LIVE_ROUNDS)
    if isinstance(samples, Failure):
        sys.exit(samples.reason)
    counted = counted_rounds(samples.waits)
    times = {key: [round(samples.times_s[key][i], 8) for i in counted] for key in keys}
    share = {seed: share_of_fastest(times, key) for seed, key in found.items()}
    best, shares = min(median(t) for t in times.values()), tuple(share.values())
    path = folder / f"live-{name}-{datetime.now(UTC).date().isoformat()}.json"
    header = {
        **run_header(target),
        "versions": package_versions(),
        **{k: data[k] for k in ("workload", "shapes", "graphs")},
    }
    rounds = {"rounds": len(counted), "waited": median(samples.waits[i] for i in counted)}
    path.write_text(
        json.dumps({**header, "strategy": strategy, **rounds, "found": found, "share": share, "times_s": times}) + "\n"
    )
    print(
        f"{name}: after {TRIALS} trials of {strategy}, {median(shares):.1%} of the best of the sweep "
        f"({best * 1e6:,.0f} us), worst seed {min(shares):.1%}, {sum(s >= GOAL_SHARE for s in shares)} of "
        f"{len(shares)} seeds at {GOAL_SHARE:.0%}; {len(counted)} of {LIVE_ROUNDS} rounds counted"
    )
    for seed, key in found.items():
        print(f"  seed {seed}: {share[seed]:.1%}, {key}")


def share_of_fastest(times: Mapping[str, Sequence[float]], key: str) -> float:
    """The speed of a kernel as a share of the speed of the fastest kernel, which can be the same one.

    A random half of the rounds selects the fastest kernel, and the other half gives the share. The result is the mean
    over many random halves.

    Args:
        times: per kernel, its time in each round. Units: s.
        key: the kernel.
    """
    rounds, rng = list(range(len(times[key]))), random.Random(0)
    shares: list[float] = []
    for _ in range(SPLITS):
        rng.shuffle(rounds)
        selecting, measuring = rounds[::2], rounds[1::2]
        fastest = min(times, key=lambda k: median(times[k][i] for i in selecting))
        shares.append(median(times[fastest][i] / times[key][i] for i in measuring))
    return sum(shares) / len(shares)


def _print_report(report: Mapping[str, Any]) -> None:
    print(
        f"\n{report['workload']}, sweep of {report['date']}: {report['points']:,} choices of sizes, "
        f"{report['kernels']:,} kernels timed, {report['failed']} failed; "
        f"best {report['best_s'] * 1e6:,.0f} us, {report['best']}"
    )
    excess = report[f"best_of_first_{MODEL_CHOICES}"] - 1
    print(
        f"  model: rank correlation {report['rank_correlation']:.2f}; best of its first {MODEL_CHOICES} is "
        f"{excess:.1%} slower than the best of all, whose rank in the model is {report['place_of_best']}"
    )
    print(
        f"  {'':<12}{f'after {TRIALS} trials':>18}{'worst seed':>12}{f'seeds at {GOAL_SHARE:.0%}':>14}"
        f"{'trials needed':>15}"
    )
    for name, r in report["strategies"].items():
        trials = "-" if r["median_trials"] is None else f"{r['median_trials']:g}"
        print(f"  {name:<12}{r['median_share']:>18.1%}{r['worst_share']:>12.1%}{r['reached']:>14.0%}{trials:>15}")


if __name__ == "__main__":
    main()
