"""Does the model rank, and does a strategy find the best: held against an exhaustive sweep.

    .venv/bin/python benchmarks/tuning.py sweep --workloads rmsnorm_linear
    .venv/bin/python benchmarks/tuning.py report
    .venv/bin/python benchmarks/tuning.py live --seeds 3

`sweep` searches a workload, then compiles and compares *every* legal choice of grid sizes and loop ranges of every
proved candidate, times them all in a few interleaved rounds, and what came within a factor of the fastest in many; the
schedule of each is the code generator's usual one. The shapes have dims of few divisors, so that this is affordable. It
writes a dated file into `benchmarks/results/`; run it on a quiet machine. With `--seconds` it stops after so long, and
goes on where it stopped when it is called again.

`report` measures nothing. It says how the model's order agrees with the measured one (Spearman), how far the
best of the model's first 20 is behind the best of all, and replays each strategy on the recorded rounds with many
seeds: after how many trials it was within 3 % of the best of all, as the recorded medians have it. Kernels of one
recorded round were timed seconds apart, and the best of hundreds of medians is the luckiest, so this is a harder test
than the machine sets.

`live` is that test: it tunes for 64 trials with each seed, and then times what came out side by side with the fastest
of the sweep, in new rounds. Its share is of the fastest of them all in these: which that is one half of the rounds
says, and how fast it is the other, for the least of twenty medians is lucky in the rounds that chose it.
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
from benchmarks.here import head, versions
from prism_explore.events.journal import Journal
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Timed, Verified
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.targets import Target
from prism_explore.tune import Backend, Budget, Pool, StrategyName, TuneRequest, Worker, tune
from prism_explore.tune.runner.backend import backend_of
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from prism_explore.tune.runner.timing import counted_rounds
from prism_explore.tune.runner.wire import target_from_plain, target_to_plain
from prism_explore.tune.runner.worker import WorkerLimits
from prism_explore.tune.space.parameters import Choices, Sizes
from prism_explore.tune.space.time_model import model_of, rank_correlation

RESULTS = Path(__file__).parent / "results"
FIRST = 20
"""Of the model's order, so many are looked at."""
NEAR = 2.0
"""What took at most so many times as long as the fastest is raced again."""
WITHIN = 0.97
"""Share of the best speed of all that a strategy should reach."""
MOST_WAITED = 0.05
"""A round in which threads waited longer for a core, as a share of the timed span, is not recorded; see `--waited`."""
TRIALS = 64
LIVE_ROUNDS = 300
"""In which what the tuner found runs beside the fastest of the sweep."""
HALVED = 100
"""So many ways to take half of those rounds."""
STRATEGIES: tuple[StrategyName, ...] = ("climbing", "ranked", "tpe", "random")
"""All but those that take everything in order, and a Gaussian process, which needs scipy; random is the baseline."""


def _attention(rows: int, head: int, keys: int) -> dict[str, TensorType]:
    return {"q": T("b", rows, head), "k": T("b", head, keys), "v": T("b", keys, head)}


SHAPES: Mapping[str, tuple[Mapping[str, TensorType], Mapping[str, int]]] = {
    "rmsnorm_linear": ({"x": T("b", 1058), "g": T(1058), "w": T(1058, 1006)}, {"b": 1}),
    "swiglu": ({"x": T("b", 961), "gate": T(961, 1058), "up": T(961, 1058)}, {"b": 1}),
    "attention": (_attention(1, 61, 4913), {"b": 1}),
    "qk_norm_attention": (_attention(1, 61, 4913), {"b": 1}),
    "rmsnorm_mlp": ({"x": T("b", 961), "up": T(961, 961), "gate": T(961, 961)}, {"b": 1}),
}
"""961 is 31 squared, 1058 twice 23 squared, 1006 twice a prime, 4913 is 17 cubed: three, six, four and four divisors.

Attention is that of a decoder: one query over a cache of keys and values."""


@dataclass(frozen=True, slots=True)
class Row:
    """A point of the sweep."""

    candidate: str
    sizes: tuple[tuple[str, int], ...]
    failure: str
    """Its code where it gave no kernel; empty otherwise."""
    times_s: tuple[float, ...] = ()
    """Round by round; rounds of one sweep are the same for all."""
    raced_s: tuple[float, ...] = ()
    """Of the second, longer run, for those near the fastest."""
    twin: str = ""
    """The point whose kernel is the same text, where there was one before it."""
    source: str = ""
    """A hash of the kernel's text."""

    @property
    def key(self) -> str:
        """A name for it."""
        return f"{self.candidate} {' '.join(f'{s}={n}' for s, n in self.sizes)}"

    @property
    def time_s(self) -> float:
        """The median of the longer run where there was one."""
        return median(self.raced_s or self.times_s)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The model and the strategies against an exhaustive sweep.")
    parser.add_argument("stage", choices=("sweep", "report", "live"))
    parser.add_argument("--workloads", nargs="+", choices=tuple(SHAPES), default=list(SHAPES))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the recorded times")
    parser.add_argument("--seconds", type=float, default=1e9, help="of a piece of a sweep; call again to go on")
    parser.add_argument("--rounds", type=int, default=3, help="for everybody")
    parser.add_argument("--more-rounds", type=int, default=20, help="for those near the fastest")
    parser.add_argument("--waited", type=float, default=MOST_WAITED, help="the share of a round that may be waiting")
    parser.add_argument("--seeds", type=int, default=20, help="replays of each strategy, or live runs")
    parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="of the live runs")
    parser.add_argument("--json", action="store_true", help="the report as data")
    args = parser.parse_args(argv)
    reports: list[dict[str, Any]] = []
    for name in args.workloads:
        if args.stage == "sweep":
            Sweep(name, args.results, args.seconds, args.waited).go_on(args.rounds, args.more_rounds)
            continue
        if args.stage == "live":
            _live(name, args.results, args.strategy, range(args.seeds))
            continue
        reports.append(_report(_latest(args.results, name), args.seeds))
        if not args.json:
            _tell(reports[-1])
    if args.json and reports:
        print(json.dumps(reports, indent=1))


# ---------------------------------------------------------------- measuring
def _proved(name: str) -> tuple[px.Session, Sequence[Verified]]:
    """Every proved candidate of a workload at its shapes; nothing is tuned."""
    inputs, at = SHAPES[name]
    session = px.Session(px.workload(name).code, name=name, inputs=inputs, at=at, budget=Budget(trials=0), baselines=())
    progress, nothing = Progress(), Steering()
    for _ in explore(session.task, session.journal, lambda: nothing, progress):
        pass
    return session, progress.proved


def _no_choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    """Every schedule is the code generator's usual one."""
    return ()


def _points(proved: Sequence[Verified], at: Mapping[str, int], target: Target) -> Iterator[tuple[Verified, Parameters]]:
    """Every legal choice of sizes of every candidate, with the usual schedule."""
    pool = Pool(proved, at, target, _no_choices)
    if not pool.is_complete:
        sys.exit("the space is larger than a pool holds; take shapes with fewer divisors")
    for candidate in pool.candidates:
        for _, sizes in candidate.sizes:
            yield candidate.verified, Parameters(sizes)


def _swept(name: str, data: Mapping[str, Any]) -> tuple[px.Session, Sequence[Verified]]:
    """The same where a sweep is of these graphs; the end of the run otherwise."""
    session, proved = _proved(name)
    if data.get("graphs") != _graphs(proved) or data["shapes"] != _shapes(name):
        sys.exit(f"the search finds other graphs than when {name} was swept on {data['date']}; sweep it again")
    return session, proved


class Sweep:
    """Every point of a workload, timed, in pieces: each goes on where the one before it ended."""

    def __init__(self, name: str, folder: Path, seconds: float, waited: float) -> None:
        self._until, self._waited = time.monotonic() + seconds, waited
        self._session, proved = _proved(name)
        self._at = dict(SHAPES[name][1])
        target = self._session.task.target
        self._points = {Row(v.candidate.id, p.sizes, "").key: (v, p) for v, p in _points(proved, self._at, target)}
        same = {
            "workload": name,
            "machine": head(target)["machine"],
            "versions": versions(),
            "shapes": _shapes(name),
            "graphs": _graphs(proved),
        }
        self._path = _sweeps(folder, name)[-1] if _sweeps(folder, name) else None
        before: dict[str, Any] = {} if self._path is None else json.loads(self._path.read_text(encoding="utf-8"))
        if before.get("whole") or any(before.get(k) != v for k, v in same.items()):
            before = {}
        if not before:
            self._path = folder / f"tuning-{name}-{datetime.now(UTC).date().isoformat()}.json"
        date = datetime.now(UTC).isoformat(timespec="minutes")
        self._head: dict[str, Any] = {**same, "date": date, "target": before.get("target", target_to_plain(target))}
        self._target = target_from_plain(self._head["target"])
        self._disturbed = int(before.get("disturbed", 0))
        self._rows = {r.key: r for r in _rows(before)} if before else {}
        self._first = {r.source: r.key for r in self._rows.values() if not r.failure and not r.twin}
        self._loaded: set[str] = set()
        self._backend = backend_of(target)
        self._worker = Worker(
            self._session.program, self._at, target, self._backend.loader, limits=WorkerLimits(time_s=600.0)
        )

    def go_on(self, rounds: int, more_rounds: int) -> None:
        """Time what is left, until all is done or the time is up; what there is then is written."""
        whole = False
        with self._worker:
            prepared = all(key in self._rows or self._make(key) for key in self._points)
            self._write(False)
            if prepared:
                kernels = [k for k, r in self._rows.items() if not (r.failure or r.twin)]
                whole = self._time("times_s", kernels, rounds)
                if whole:
                    fastest = min(median(self._rows[k].times_s) for k in kernels)
                    near = [k for k in kernels if median(self._rows[k].times_s) <= NEAR * fastest]
                    whole = self._time("raced_s", near, more_rounds)
        self._write(whole)

    def _make(self, key: str) -> bool:
        """Compile and compare a point, and note what came of it; False where the time is up."""
        if time.monotonic() > self._until:
            return False
        verified, numbers = self._points[key]
        row = self._rows.get(key) or Row(verified.candidate.id, numbers.sizes, "")
        made = self._backend.emit(verified, numbers, self._at, self._target)
        if isinstance(made, Kernel):
            source = sha256(made.source.encode()).hexdigest()[:16]
            first = self._first.setdefault(source, key)
            row = replace(row, source=source, twin=first if first != key else "")
            checked = None if row.twin else self._worker.check(key, made)
            row = replace(row, failure=checked.code) if isinstance(checked, Failure) else row
            self._loaded |= {key} if isinstance(checked, CheckPassed) else set()
        else:
            row = replace(row, failure=made.code)
        self._rows[key] = row
        return True

    def _time(self, field: Literal["times_s", "raced_s"], keys: Sequence[str], rounds: int) -> bool:
        """Bring every key to so many rounds, all in the same ones; disturbed ones do not count."""
        while len(getattr(self._rows[keys[0]], field)) < rounds:
            if not all(k in self._loaded or self._make(k) for k in keys) or time.monotonic() > self._until:
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

    def _write(self, whole: bool) -> None:
        """A line per point: a sweep is to be read in a diff, too."""
        assert self._path is not None, "named at the beginning"
        rows = ",\n".join(f"  {json.dumps(asdict(r))}" for r in self._rows.values())
        head = json.dumps(
            {**self._head, "waited": self._waited, "disturbed": self._disturbed, "whole": whole}, indent=1
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n', encoding="utf-8")
        part.replace(self._path)
        done = [r for r in self._rows.values() if r.times_s]
        print(
            f"{self._path}: {len(self._rows)} of {len(self._points)} points, {len(done)} kernels timed in "
            f"{max((len(r.times_s) for r in done), default=0)} rounds, {sum(bool(r.raced_s) for r in done)} of them in "
            f"{max((len(r.raced_s) for r in done), default=0)} more; {self._disturbed} disturbed rounds left out; "
            f"{'whole' if whole else 'to be gone on with: call again'}"
        )


def _shapes(name: str) -> dict[str, str | int]:
    inputs, at = SHAPES[name]
    return {**{k: str(t) for k, t in inputs.items()}, **at}


def _graphs(proved: Sequence[Verified]) -> dict[str, str]:
    """Candidates by what they are: a recorded sweep is of these graphs and of no others of their names."""
    return {v.candidate.id: sha256(show(v.candidate.sgraph).encode()).hexdigest()[:16] for v in proved}


def _sweeps(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"tuning-{name}-*.json"))


def _latest(folder: Path, name: str) -> dict[str, Any]:
    found = _sweeps(folder, name)
    if not found:
        sys.exit(f"no sweep of {name} in {folder}; make one with the stage sweep")
    return json.loads(found[-1].read_text(encoding="utf-8"))


def _rows(data: Mapping[str, Any]) -> list[Row]:
    return [
        Row(
            r["candidate"],
            tuple((str(s), int(n)) for s, n in r["sizes"]),
            r["failure"],
            tuple(r["times_s"]),
            tuple(r["raced_s"]),
            r["twin"],
            r["source"],
        )
        for r in data["rows"]
    ]


# ---------------------------------------------------------------- what the record says
class Recorded:
    """A bench whose times are those of a sweep: a round of a race is a recorded round, drawn by a seed."""

    def __init__(self, rows: Mapping[str, Row], seed: int) -> None:
        self._rows, self._rng = rows, random.Random(seed)
        self._kept: dict[str, Row] = {}

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """The recorded outcome."""
        row = self._rows[Row(kernel.verified.candidate.id, kernel.parameters.sizes, "").key]
        row = self._rows[row.twin] if row.twin else row
        if row.failure:
            return Failure(row.failure, "as recorded")
        self._kept[key] = row
        return CheckPassed(0.0)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Recorded rounds: of the longer run where all have one, so that ratios are of one round."""
        rows = [self._kept[k] for k in keys]
        series = [r.raced_s if all(o.raced_s for o in rows) else r.times_s for r in rows]
        drawn = [self._rng.randrange(min(map(len, series))) for _ in range(rounds)]
        return Samples({k: tuple(s[i] for i in drawn) for k, s in zip(keys, series, strict=True)}, (0.0,) * rounds)

    def drop(self, key: str) -> None:
        """Forget a kernel."""
        self._kept.pop(key, None)

    def close(self) -> None:
        """Nothing is held."""


def _report(data: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    name, rows = str(data["workload"]), _rows(data)
    by_key = {r.key: r for r in rows}
    target, at = target_from_plain(data["target"]), dict(SHAPES[name][1])
    _, proved = _swept(name, data)
    models = {v.candidate.id: model_of(v.candidate, at, target) for v in proved}
    timed = [r for r in rows if r.times_s]
    modelled = {r.key: models[r.candidate].estimate(dict(r.sizes)).time_s for r in timed}
    best = min(r.time_s for r in timed)
    likely = sorted(timed, key=lambda r: modelled[r.key])
    made: dict[str, Kernel | Infeasible] = {}
    backend = backend_of(target)

    def emit(verified: Verified, numbers: Parameters, shapes: Mapping[str, int], on: Target) -> Kernel | Infeasible:
        key = Row(verified.candidate.id, numbers.sizes, "").key
        if key not in made:
            made[key] = backend.emit(verified, numbers, shapes, on)
        return made[key]

    replayed = Backend(emit, _no_choices, backend.loader)
    return {
        "workload": name,
        "date": data["date"],
        "points": len(rows),
        "kernels": len(timed),
        "failed": sum(bool(r.failure) for r in rows),
        "best_s": best,
        "best": min(timed, key=lambda r: r.time_s).key,
        "rank_correlation": rank_correlation([modelled[r.key] for r in timed], [r.time_s for r in timed]),
        f"best_of_first_{FIRST}": min(r.time_s for r in likely[:FIRST]) / best,
        "place_of_best": next(n for n, r in enumerate(likely, 1) if r.time_s == best),
        "strategies": {s: _replayed(s, proved, at, target, replayed, by_key, best, seeds) for s in STRATEGIES},
    }


def _replayed(
    name: StrategyName,
    proved: Sequence[Verified],
    at: Mapping[str, int],
    target: Target,
    backend: Backend,
    rows: Mapping[str, Row],
    best: float,
    seeds: int,
) -> dict[str, Any]:
    """How fast the incumbent was after `TRIALS` trials, and after how many it was fast enough, seed by seed."""
    shares: list[float] = []
    needed: list[int | None] = []
    budget = Budget(trials=TRIALS, seconds=1e9, patience=10**9, near=-1.0, strategy=name)
    for seed in range(seeds):
        bench = Recorded(rows, seed)
        found = tune(TuneRequest(proved, at, target, Journal(), budget=budget, seed=seed, backend=backend, bench=bench))
        share, enough = 0.0, None
        fastest = float("inf")
        for number, outcome in enumerate(found, 1):
            if isinstance(outcome, Timed) and outcome.time_s < fastest:
                fastest = outcome.time_s
                row = rows[Row(outcome.kernel.verified.candidate.id, outcome.kernel.parameters.sizes, "").key]
                share = best / (rows[row.twin] if row.twin else row).time_s
                enough = number if share >= WITHIN and enough is None else enough
        shares.append(share)
        needed.append(enough if share >= WITHIN else None)
    reached = [n for n in needed if n is not None]
    return {
        "median_share": median(shares),
        "worst_share": min(shares),
        "reached": len(reached) / seeds,
        "median_trials": median(reached) if reached else None,
    }


# ---------------------------------------------------------------- what the tuner finds on this machine
def _live(name: str, folder: Path, strategy: StrategyName, seeds: Sequence[int]) -> None:
    data, at = _latest(folder, name), dict(SHAPES[name][1])
    session, proved = _swept(name, data)
    target = session.task.target
    points = {Row(v.candidate.id, p.sizes, "").key: (v, p) for v, p in _points(proved, at, target)}
    own = backend_of(target)
    budget = Budget(trials=TRIALS, seconds=1e9, patience=10**9, near=-1.0, strategy=strategy)
    found: dict[int, str] = {}
    for seed in seeds:
        backend = Backend(own.emit, _no_choices, own.loader)
        outcomes = tune(TuneRequest(proved, at, target, Journal(), budget=budget, seed=seed, backend=backend))
        fastest = min((o for o in outcomes if isinstance(o, Timed)), key=lambda o: o.time_s).kernel
        found[seed] = Row(fastest.verified.candidate.id, fastest.parameters.sizes, "").key
    timed = sorted((r for r in _rows(data) if r.times_s), key=lambda r: r.time_s)
    keys = list(dict.fromkeys([*(r.key for r in timed[:FIRST]), *found.values()]))
    with Worker(session.program, at, target, own.loader, limits=WorkerLimits(time_s=600.0)) as worker:
        for key in keys:
            verified, numbers = points[key]
            made = own.emit(verified, numbers, at, target)
            if not isinstance(made, Kernel) or isinstance(worker.check(key, made), Failure):
                sys.exit(f"{key} was a kernel when it was swept, and is none now")
        samples = worker.time(keys, LIVE_ROUNDS)
    if isinstance(samples, Failure):
        sys.exit(samples.reason)
    counted = counted_rounds(samples.waits)
    times = {key: [round(samples.times_s[key][i], 8) for i in counted] for key in keys}
    share = {seed: share_of_fastest(times, key) for seed, key in found.items()}
    best, shares = min(median(t) for t in times.values()), tuple(share.values())
    path = folder / f"live-{name}-{datetime.now(UTC).date().isoformat()}.json"
    same = {**head(target), "versions": versions(), **{k: data[k] for k in ("workload", "shapes", "graphs")}}
    rounds = {"rounds": len(counted), "waited": median(samples.waits[i] for i in counted)}
    path.write_text(
        json.dumps({**same, "strategy": strategy, **rounds, "found": found, "share": share, "times_s": times}) + "\n"
    )
    print(
        f"{name}: after {TRIALS} trials of {strategy}, {median(shares):.1%} of the best of the sweep "
        f"({best * 1e6:,.0f} us), worst seed {min(shares):.1%}, {sum(s >= WITHIN for s in shares)} of {len(shares)} "
        f"seeds at {WITHIN:.0%}; {len(counted)} of {LIVE_ROUNDS} rounds counted"
    )
    for seed, key in found.items():
        print(f"  seed {seed}: {share[seed]:.1%}, {key}")


def share_of_fastest(times: Mapping[str, Sequence[float]], key: str) -> float:
    """How much of the speed of the fastest a kernel has, by rounds side by side; the fastest may be itself.

    A random half of the rounds chooses the fastest, and the other half says how fast it is; the mean over many halves.
    """
    rounds, rng = list(range(len(times[key]))), random.Random(0)
    shares: list[float] = []
    for _ in range(HALVED):
        rng.shuffle(rounds)
        chosen, told = rounds[::2], rounds[1::2]
        fastest = min(times, key=lambda k: median(times[k][i] for i in chosen))
        shares.append(median(times[fastest][i] / times[key][i] for i in told))
    return sum(shares) / len(shares)


def _tell(report: Mapping[str, Any]) -> None:
    print(
        f"\n{report['workload']}, swept {report['date']}: {report['points']:,} points, {report['kernels']:,} kernels "
        f"timed, {report['failed']} failed; best {report['best_s'] * 1e6:,.0f} us, {report['best']}"
    )
    behind = report[f"best_of_first_{FIRST}"] - 1
    print(
        f"  model: rank correlation {report['rank_correlation']:.2f}; best of its first {FIRST} is {behind:.1%} behind "
        f"the best of all, which it puts at {report['place_of_best']}"
    )
    print(
        f"  {'':<12}{f'after {TRIALS} trials':>18}{'worst seed':>12}{f'seeds at {WITHIN:.0%}':>14}{'trials to it':>14}"
    )
    for name, r in report["strategies"].items():
        trials = "-" if r["median_trials"] is None else f"{r['median_trials']:g}"
        print(f"  {name:<12}{r['median_share']:>18.1%}{r['worst_share']:>12.1%}{r['reached']:>14.0%}{trials:>10}")


if __name__ == "__main__":
    main()
