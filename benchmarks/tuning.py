"""Does the model rank, and does a strategy find the best: held against an exhaustive sweep.

    .venv/bin/python benchmarks/tuning.py sweep --workloads rmsnorm_linear
    .venv/bin/python benchmarks/tuning.py report

`sweep` searches a workload, then compiles and compares *every* legal choice of grid sizes and loop ranges of every
proved candidate, times them all in a few interleaved rounds, and what came within a factor of the fastest in many; the
schedule of each is the code generator's usual one. The shapes have dims of few divisors, so that this is affordable. It
writes a dated file into `benchmarks/results/`; run it on a quiet machine.

`report` measures nothing. It says how the model's order agrees with the measured one (Spearman), how far the
best of the model's first 20 is behind the best of all, and replays each strategy on the recorded rounds with many
seeds: after how many trials it was within 3 % of the best of all, as the recorded medians have it.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.ir.stages import Infeasible, Kernel, Parameters, Timed, Verified
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T
from prism_explore.search import Progress, Steering, explore
from prism_explore.targets import Target
from prism_explore.targets.host import cpu_model
from prism_explore.tune import Backend, Budget, Pool, StrategyName, Worker, tune
from prism_explore.tune.backend import backend_of
from prism_explore.tune.measure import Checked, Failure, Samples
from prism_explore.tune.model import model_of, rank_correlation
from prism_explore.tune.wire import target_from_plain, target_to_plain
from prism_explore.tune.worker import WorkerLimits

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("prism-explore", "torch", "llvmlite", "numpy")
FIRST = 20
"""Of the model's order, so many are looked at."""
NEAR = 2.0
"""What took at most so many times as long as the fastest is raced again."""
WITHIN = 0.97
"""Share of the best speed of all that a strategy should reach."""
MOST_WAITED = 0.05
"""A sweep in which threads waited longer for a core, as a share of the timed span, is not recorded."""
TRIALS = 64
STRATEGIES: tuple[StrategyName, ...] = ("climbing", "ranked", "tpe", "random")
"""All but those that take everything in order, and a Gaussian process, which needs scipy; random is the baseline."""


def _attention(rows: int, head: int, keys: int) -> dict[str, TensorType]:
    return {"q": T("b", rows, head), "k": T("b", head, keys), "v": T("b", keys, head)}


SHAPES: Mapping[str, tuple[Mapping[str, TensorType], Mapping[str, int]]] = {
    "rmsnorm_linear": ({"x": T("b", 1058), "g": T(1058), "w": T(1058, 1006)}, {"b": 1}),
    "swiglu": ({"x": T("b", 961), "gate": T(961, 1058), "up": T(961, 1058)}, {"b": 1}),
    "attention": (_attention(5, 61, 1058), {"b": 1}),
    "qk_norm_attention": (_attention(5, 61, 1058), {"b": 1}),
    "rmsnorm_mlp": ({"x": T("b", 961), "up": T(961, 961), "gate": T(961, 961)}, {"b": 1}),
}
"""961 is 31 squared, 1058 twice 23 squared, 1006 twice a prime: three, six and four divisors."""


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
    parser.add_argument("stage", choices=("sweep", "report"))
    parser.add_argument("--workloads", nargs="+", choices=tuple(SHAPES), default=list(SHAPES))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the recorded times")
    parser.add_argument("--rounds", type=int, default=3, help="for everybody")
    parser.add_argument("--more-rounds", type=int, default=20, help="for those near the fastest")
    parser.add_argument("--seeds", type=int, default=20, help="replays of each strategy")
    parser.add_argument("--json", action="store_true", help="the report as data")
    args = parser.parse_args(argv)
    reports: list[dict[str, Any]] = []
    for name in args.workloads:
        if args.stage == "sweep":
            _write(args.results, sweep(name, args.rounds, args.more_rounds))
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
    session = px.Session(px.workload(name).code, name=name, inputs=inputs, at=at, budget=Budget(trials=0), rivals=())
    progress, nothing = Progress(), Steering()
    for _ in explore(session.task, session.journal, lambda: nothing, progress):
        pass
    return session, progress.proved


def _points(proved: Sequence[Verified], at: Mapping[str, int], target: Target) -> Iterator[tuple[Verified, Parameters]]:
    """Every legal choice of sizes of every candidate, with the usual schedule."""
    pool = Pool(proved, at, target, lambda *_: ())
    if not pool.is_whole:
        sys.exit("the space is larger than a pool holds; take shapes with fewer divisors")
    for entrant in pool.entrants:
        for _, sizes in entrant.sizes:
            yield entrant.verified, Parameters(sizes)


def sweep(name: str, rounds: int, more_rounds: int) -> dict[str, Any]:
    """Every point of a workload, timed; as it is written to a file."""
    session, proved = _proved(name)
    target, at = session.task.target, dict(SHAPES[name][1])
    backend = backend_of(target)
    rows: list[Row] = []
    first: dict[str, str] = {}
    good: list[str] = []
    with Worker(session.program, at, target, backend.loader, limits=WorkerLimits(time_s=600.0)) as worker:
        for verified, numbers in _points(proved, at, target):
            row = Row(verified.candidate.id, numbers.sizes, "")
            made = backend.emit(verified, numbers, at, target)
            if isinstance(made, Infeasible):
                rows.append(Row(row.candidate, row.sizes, made.code))
                continue
            if made.source in first:
                rows.append(Row(row.candidate, row.sizes, "", twin=first[made.source]))
                continue
            checked = worker.check(row.key, made)
            if isinstance(checked, Failure):
                rows.append(Row(row.candidate, row.sizes, checked.code))
                continue
            first[made.source] = row.key
            good.append(row.key)
            rows.append(row)
        samples = _timed(worker, good, rounds)
        fastest = min(map(median, samples.times_s.values()))
        raced = _timed(worker, [k for k, t in samples.times_s.items() if median(t) <= NEAR * fastest], more_rounds)
    return {
        "workload": name,
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{cpu_model()}, {target.cores} cores, {platform.system()} {platform.machine()}",
        "target": target_to_plain(target),
        "versions": {p: version(p) for p in PACKAGES},
        "shapes": {**{k: str(t) for k, t in SHAPES[name][0].items()}, **at},
        "waited": samples.waited,
        "raced_waited": raced.waited,
        "rows": [
            asdict(replace(r, times_s=samples.times_s.get(r.key, ()), raced_s=raced.times_s.get(r.key, ())))
            for r in rows
        ],
    }


def _timed(worker: Worker, keys: Sequence[str], rounds: int) -> Samples:
    found = worker.time(keys, rounds)
    if isinstance(found, Failure):
        sys.exit(found.reason)
    if found.waited > MOST_WAITED:
        sys.exit(
            f"threads waited for a core {found.waited:.0%} of the time: others use the machine, nothing was recorded"
        )
    return found


def _latest(folder: Path, name: str) -> dict[str, Any]:
    found = sorted(folder.glob(f"tuning-{name}-*.json"))
    if not found:
        sys.exit(f"no sweep of {name} in {folder}; make one with the stage sweep")
    return json.loads(found[-1].read_text(encoding="utf-8"))


def _write(folder: Path, data: Mapping[str, Any]) -> None:
    """A line per point: a sweep is to be read in a diff, too."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"tuning-{data['workload']}-{data['date'][:10]}.json"
    rows = ",\n".join(f"  {json.dumps(r)}" for r in data["rows"])
    head = json.dumps({k: v for k, v in data.items() if k != "rows"}, indent=1)
    path.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n', encoding="utf-8")
    done = [r for r in data["rows"] if r["times_s"]]
    print(
        f"{path}: {len(data['rows'])} points, {len(done)} kernels timed, {sum(bool(r['raced_s']) for r in done)} raced"
    )


def _rows(data: Mapping[str, Any]) -> list[Row]:
    return [
        Row(
            r["candidate"],
            tuple((str(s), int(n)) for s, n in r["sizes"]),
            r["failure"],
            tuple(r["times_s"]),
            tuple(r["raced_s"]),
            r["twin"],
        )
        for r in data["rows"]
    ]


# ---------------------------------------------------------------- what the record says
class Recorded:
    """A bench whose times are those of a sweep: a round of a race is a recorded round, drawn by a seed."""

    def __init__(self, rows: Mapping[str, Row], seed: int) -> None:
        self._rows, self._rng = rows, random.Random(seed)
        self._kept: dict[str, Row] = {}

    def check(self, key: str, kernel: Kernel) -> Checked | Failure:
        """The recorded outcome."""
        row = self._rows[Row(kernel.verified.candidate.id, kernel.parameters.sizes, "").key]
        row = self._rows[row.twin] if row.twin else row
        if row.failure:
            return Failure(row.failure, "as recorded")
        self._kept[key] = row
        return Checked(0.0)

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
    _, proved = _proved(name)
    models = {v.candidate.id: model_of(v.candidate, at, target) for v in proved}
    timed = [r for r in rows if r.times_s]
    modelled = {r.key: models[r.candidate].at(dict(r.sizes)).time_s for r in timed}
    best = min(r.time_s for r in timed)
    likely = sorted(timed, key=lambda r: modelled[r.key])
    made: dict[str, Kernel | Infeasible] = {}
    backend = backend_of(target)

    def emit(verified: Verified, numbers: Parameters, shapes: Mapping[str, int], on: Target) -> Kernel | Infeasible:
        key = Row(verified.candidate.id, numbers.sizes, "").key
        if key not in made:
            made[key] = backend.emit(verified, numbers, shapes, on)
        return made[key]

    replayed = Backend(emit, lambda *_: (), backend.loader)
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
        found = tune(proved, at, target, Journal(), budget=budget, seed=seed, backend=backend, bench=bench)
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
