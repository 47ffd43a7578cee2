"""The command line: runs a search, or reads saved files, and prints text or JSON.

prism-explore run rmsnorm_linear --at b=8
prism-explore check graphs.json.gz --against qknorm
prism-explore check a.py:f b.py:g --input x=b,64
prism-explore show run.prism f1.c1
prism-explore trials trials.sqlite
prism-explore cache
prism-explore doctor
prism-explore list
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from prism_explore.errors import PrismError
from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Ledger, best_first, outcome
from prism_explore.events.phases import phase_of, seconds_per_stage
from prism_explore.frontend.workloads import WORKLOADS, workload
from prism_explore.support.gc_pause import gc_paused
from prism_explore.support.terminal_text import terminal_text

if TYPE_CHECKING:
    from prism_explore.runtime.best import Best
    from prism_explore.session.session import Session


PIPED_COLUMNS = 120
"""Width of the report where the output is no terminal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; 2 is an invalid request."""
    args = _parser().parse_args(argv)
    try:
        match args.command:
            case "list":
                width = max(len(row.name) for row in WORKLOADS)
                for row in WORKLOADS:
                    print(f"{row.name:<{width}}  {row.description}")
            case "check":
                return _check(args)
            case "show":
                from prism_explore.entry.cli_files import show_saved

                print(terminal_text(show_saved(args.file, args.what)))
            case "doctor":
                from prism_explore.entry.doctor import doctor

                diagnosis = doctor()
                _console().print(diagnosis)
                return 0 if diagnosis.ok else 1
            case "report":
                from prism_explore.session.record import open_record

                print(open_record(args.file).report(args.page or args.file.with_suffix(".html")))
            case "trials":
                _trials_command(args)
            case "cache":
                _cache_command(args.what)
            case _:
                _run(args)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader closed the pipe; without this, Python's flush at exit would print an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        print(f"prism-explore: {terminal_text(str(error))}", file=sys.stderr)
        return 2
    except PrismError as error:
        print(f"prism-explore: {terminal_text(str(error))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="prism-explore", description="Symbolic superoptimization of tensor programs.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the workloads that can be run by name")
    commands.add_parser("doctor", help="which parts of the installation work: Jupyter, compilers, torch, GPU")
    check = commands.add_parser("check", help="two functions, or graphs of files: proved, refuted or unknown")
    check.add_argument(
        "files", nargs="+", metavar="FILE", help="FILE.py:NAME twice; or Mirage's JSON, a .prism file, text, a case"
    )
    check.add_argument(
        "--input", action="append", default=[], metavar="NAME=DIMS", help="of functions: x=b,64 or x=b,64:bf16"
    )
    check.add_argument("--against", default="", metavar="PROGRAM", help="a workload, or a file with a program")
    check.add_argument("--evidence", action="store_true", help="print the evidence for each verdict")
    check.add_argument("--certify", action="store_true", help="replay each proof in egglog; prints its evidence")
    check.add_argument("--seed", type=_seed, default=0)
    check.add_argument("--json", action="store_true", help="print one JSON object per graph instead")
    show = commands.add_parser("show", help="print a table or an object of a saved search")
    show.add_argument("file", type=Path, metavar="FILE", help="a .prism file")
    show.add_argument("what", nargs="?", default="ledger", help="claim, near_misses, a table, or an id such as f1.c1")
    report = commands.add_parser("report", help="write a saved search as one HTML page that opens anywhere")
    report.add_argument("file", type=Path, metavar="FILE", help="a .prism file")
    report.add_argument("page", type=Path, nargs="?", metavar="PAGE", help="the HTML file (default: next to FILE)")
    trials = commands.add_parser("trials", help="show, export or import a database of trials")
    trials.add_argument("database", type=Path, metavar="DATABASE", help="as named by run --database")
    trials.add_argument("--export", type=Path, metavar="FILE", help="write all trials as JSON Lines")
    trials.add_argument(
        "--import", type=Path, metavar="FILE", dest="taken", help="add the trials of a file that --export wrote"
    )
    stored = commands.add_parser("cache", help="the finished searches that answer the same question again")
    stored.add_argument(
        "what",
        nargs="?",
        choices=("show", "clear", "path"),
        default="show",
        help="list them, delete them, or the folder",
    )
    run = commands.add_parser("run", help="search, prove, tune, and print what was found")
    run.add_argument("workload", help="a name from `prism-explore list`")
    run.add_argument(
        "--at", action="append", default=[], metavar="SYMBOL=N", help="tune at this value of a symbol, such as b=8"
    )
    run.add_argument("--target", default="cpu", help="the machine (default: this one's CPU)")
    run.add_argument("--seed", type=_seed, default=0)
    run.add_argument(
        "--budget",
        choices=("quick", "thorough"),
        help="how long to tune: until trials stop gaining (the default), or all trials (the default with --strategy)",
    )
    run.add_argument("--trials", type=int, default=None, help="how many parameter choices to try")
    run.add_argument("--seconds", type=float, default=None, help="how long to tune")
    run.add_argument("--allow-unsafe", action="store_true", help="allow a best kernel that is unsafe in floating point")
    run.add_argument("--strategy", help="climbing, halving, ranked, exhaustive, or a sampler: tpe, gp, random")
    run.add_argument("--database", metavar="FILE", help="store trials here; stored ones are not timed again")
    run.add_argument("--no-cache", action="store_true", help="search again, and do not store what is found")
    run.add_argument("--save", metavar="FILE", help="write the journal to a .prism file")
    run.add_argument("--triton", action="store_true", help="also compile Triton kernels for an A100 and an H100")
    run.add_argument(
        "--triton-file", metavar="FILE", help="write a script that tunes, checks and times an H100's kernel on a GPU"
    )
    run.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, found {text!r}")
    return int(text)


def _sizes(given: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for text in given:
        symbol, _, number = text.partition("=")
        if not symbol or not number.isdecimal():
            raise PrismError(f"--at takes SYMBOL=N, as in --at b=8; found {text!r}")
        sizes[symbol] = int(number)
    return sizes


def _check(args: argparse.Namespace) -> int:
    """Check two functions, or files; exit status 1 if one is not proved or its verdict differs from the file's."""
    from prism_explore.entry.cli_files import check_file
    from prism_explore.entry.equivalence.command import check_named, names_code

    if any(names_code(name) for name in args.files):
        answer = check_named(args.files, args.input, args.seed)
        print(json.dumps(answer.as_data) if args.json else answer)
        return 0 if answer.outcome == "proved" else 1
    if args.input:
        raise PrismError("--input is for functions, such as a.py:f b.py:g; graphs of files have their own inputs")
    counts = dict.fromkeys(("proved", "refuted", "unknown"), 0)
    other = 0
    for path in map(Path, args.files):
        for found in check_file(path, args.against, args.certify, args.seed):
            counts[found.verdict] += 1
            other += bool(found.stated)
            if args.json:
                print(json.dumps(found.as_data))
                continue
            print(found.summary + (f"  (the file says {found.stated})" if found.stated else ""))
            if found.evidence is not None and (args.evidence or args.certify):
                print("\n" + "\n".join(f"  {line}".rstrip() for line in str(found.evidence).splitlines()) + "\n")
    if not args.json:
        print(", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no graph")
    return 0 if counts["refuted"] == counts["unknown"] == other == 0 else 1


def _trials_command(args: argparse.Namespace) -> None:
    from prism_explore.tune.database import Database, export_trials, import_trials

    if args.taken is not None:
        print(f"{import_trials(args.taken, args.database):,} trials imported from {args.taken}")
    if args.export is not None:
        print(f"{export_trials(args.database, args.export):,} trials written to {args.export}")
    for row in Database(args.database).contents():
        sizes = "".join(f" {k}={v}" for k, v in row.shapes)
        fastest = "none was timed" if row.fastest_s is None else f"fastest {seconds_text(row.fastest_s)}"
        print(f"{row.program}{sizes} on {row.machine}: {row.timed} timed, {row.failed} failed; {fastest}")


def _cache_command(what: str) -> None:
    from prism_explore.session.search_cache import FOLDER_VARIABLE, SearchCache, cache_folder

    folder = cache_folder()
    if folder is None:
        print(f"the cache is off, because {FOLDER_VARIABLE} is set to off")
        return
    cache = SearchCache(folder)
    match what:
        case "path":
            print(folder)
        case "clear":
            print(f"{cache.clear():,} files deleted in {folder}")
        case _:
            stored = cache.contents()
            for search in stored:
                used, name = search.used.astimezone().strftime("%Y-%m-%d %H:%M"), search.program or "damaged"
                print(f"{name:<24} {search.bytes / 1024:>8,.0f} KB  used {used}  {search.path.name}")
            print(f"{len(stored):,} searches, {sum(s.bytes for s in stored) / 1e6:.1f} MB, in {folder}")


def _run(args: argparse.Namespace) -> None:
    with gc_paused():
        from prism_explore.runtime.best import Best
        from prism_explore.session.session import Session
        from prism_explore.tune.budget import BUDGETS

    row = workload(args.workload)
    at = {**row.at, **_sizes(args.at)}
    options = {"trials": args.trials, "seconds": args.seconds, "strategy": args.strategy}
    limits = {k: v for k, v in options.items() if v is not None}
    budget = replace(BUDGETS[args.budget or ("thorough" if args.strategy else "quick")], **limits)
    with gc_paused():
        session = Session(
            row.code,
            name=row.name,
            target=args.target,
            at=at,
            seed=args.seed,
            budget=budget,
            allow_unsafe=args.allow_unsafe,
            database=args.database,
            cache=not args.no_cache,
            inputs=row.inputs,
        )
        gc.freeze()  # modules are kept, and each full collection would scan those of torch for a third of a second
    _search_with_progress(session, quiet=args.json)
    found = session.best()
    best = found if isinstance(found, Best) else None
    if args.save:
        session.save(args.save)
    if args.json:
        print(json.dumps(_as_data(session, best), indent=1))
    else:
        _print_report(session, best)
    if args.triton and best is not None and not args.json:
        _print_triton(best)
    if args.triton_file and best is not None:
        made = best.on_gpu("h100")
        if made is None:
            raise PrismError("no proved candidate has sizes that compile for an h100; no file was written")
        made.save(args.triton_file)


def _search_with_progress(session: Session, *, quiet: bool) -> None:
    """Run to the end, with a progress bar on stderr if that is a terminal."""
    job = session.start()
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        job.wait()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        while not job.wait(0.2):
            book = session.index.ledger
            latest = session.journal.since(max(0, len(session.journal) - 20))
            phases = [phase for entry in latest if (phase := phase_of(entry.event))]
            tuned = book.funnel.measured + book.funnel.failed
            bar.update(
                task,
                total=session.task.budget.trials if tuned else None,
                completed=tuned,
                description=f"{phases[-1] if phases else 'starting':<11} {book.funnel.families} families, "
                f"{book.funnel.proved} proved, {book.funnel.pruned} pruned, {tuned} trials",
            )


def _console() -> Console:
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = PIPED_COLUMNS
    return out


def _print_report(session: Session, best: Best | None) -> None:
    out = _console()
    book = session.index.ledger
    at = ", ".join(f"{k}={v}" for k, v in session.task.shapes.items())
    out.print(
        f"[bold]{escape(session.program.name)}[/bold] on {session.task.target.name}" + (f" at {at}" if at else "")
    )
    out.print(session.task.target.source, style="dim", markup=False)
    for what, says in session.task.space.describe().items():
        out.print(f"  {what}: {says}", style="dim", markup=False)
    seconds = seconds_per_stage(session.journal.entries)
    proving = seconds["generate"] + seconds["instantiate"] + seconds["verify"]
    f = book.funnel
    out.print(
        f"\nsearch {proving:.1f} s: {f.expanded:,} partial graphs, {f.pruned:,} subtrees pruned, {f.families} "
        f"families, {f.candidates} candidates: {f.proved} proved, {f.refuted} refuted, {f.unknown} unknown"
    )
    out.print(
        f"tuning {seconds['tune']:.1f} s: {f.measured} kernels timed, {f.failed} failed, "
        f"{f.bounded} skipped by their lower bound"
    )
    out.print(_prunings_table(book), _families_table(book), _trials_table(book))
    if best is not None:
        out.print(_baselines_table(best))
        if best.why:
            out.print(best.why, markup=False)
        out.print(f"{best.verified.proof.claim}", markup=False)
        replayed = sum(lemma.replayed for lemma in best.verified.proof.lemmas)
        out.print(
            f"certificate: {replayed} of {len(best.verified.proof.lemmas)} lemmas replayed in egglog; refuter: "
            + ", ".join(f"{t.relative_error:.0e}" for t in best.verified.trials)
            + f"; float error against float64 {best.error:.1e}"
        )
        if floats := _floats_text(best, book):
            out.print(floats, markup=False)
        out.print(f"\n{best.source}", markup=False)
    out.print(f"\n{session.claim}", markup=False)


def _floats_text(best: Best, book: Ledger) -> str:
    """The assessment of the best kernel's family in floating point, as the search reported it."""
    assessed = book.floats.get(best.verified.candidate.family.id)
    return assessed.detail if assessed is not None else ""


def _print_triton(best: Best) -> None:
    """Print Triton kernels of the proved families for GPUs that are not present: modelled and compiled, not timed."""
    out = Console(highlight=False)
    for name in ("a100", "h100"):
        made = best.on_gpu(name)
        out.print(f"\n{made!r}" if made is not None else f"\n{name}: no choice of parameters compiles", markup=False)
    if made is not None:
        out.print(f"\n{made.source}", markup=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        is_text = number == 0 or column in ("rule", "note", "parameters", "soundness", "status", "why not")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    return table


def _add_row(table: Table, *cells: str) -> None:
    """Add texts; square brackets in them are no markup."""
    table.add_row(*(Text(cell) for cell in cells))


def _prunings_table(book: Ledger) -> Table:
    table = _table("\npruned, by reason", "reason", "soundness", "prunings", "rule")
    for row in book.prune_counts:
        _add_row(table, row.code, row.soundness, f"{row.count:,}", row.sentence)
    return table


def _families_table(book: Ledger) -> Table:
    columns = (
        "id",
        "status",
        "candidates",
        "proved",
        "floats",
        "trial time",
        "final race",
        "lower bound (modelled)",
        "why not",
    )
    table = _table("\nfamilies", *columns)
    for row in best_first(book):
        times_s = (row.best.time_s, row.best.race_s) if row.best is not None else (None, None)
        times = (seconds_text(s) if s is not None else "-" for s in times_s)
        bound = seconds_text(row.floor_s) if row.floor_s is not None else "-"
        cells = (row.family, row.status, str(row.candidates), str(row.proved), row.floats or "-", *times, bound)
        _add_row(table, *cells, outcome(row, book).short)
    return table


def _trials_table(book: Ledger) -> Table:
    table = _table("\nfastest trials", "candidate", "trial time", "p20", "p80", "error", "parameters")
    timed = sorted((t for t in book.trials if t.time_s is not None), key=lambda t: t.time_s or 0.0)
    for t in timed[:5]:
        time = t.trial_time
        spread = [seconds_text(s) for s in (time.time_s, time.p20_s, time.p80_s)] if time is not None else []
        parameters = ", ".join(f"{k}={v}" for k, v in t.parameters)
        _add_row(table, t.candidate, *spread, f"{t.error:.0e}", parameters)
    return table


def _baselines_table(best: Best) -> Table:
    table = _table("\nbaselines, one interleaved run", "what", "median", "p20", "p80", "kernel is faster by", "note")
    for r in best.baselines:
        ratio = f"{best.ratios[r.name]:.2f}x" if r.name in best.ratios else ""
        times = [seconds_text(s) if r.samples else "-" for s in (r.time_s, r.p20_s, r.p80_s)]
        _add_row(table, r.name, *times, ratio, r.note)
    return table


def _as_data(session: Session, best: Best | None) -> Mapping[str, Any]:
    book = session.index.ledger
    found: dict[str, Any] = {
        "program": session.program.name,
        "target": session.task.target.name,
        "at": dict(session.task.shapes),
        "seed": session.task.seed,
        "space": session.task.space.describe(),
        "seconds": dict(seconds_per_stage(session.journal.entries)),
        "funnel": asdict(book.funnel),
        "pruned": [asdict(c) for c in book.prune_counts],
        "families": [asdict(r) for r in book.families],
        "trials": [asdict(t) for t in book.trials],
        "claim": session.claim,
        "best": None,
        "finished_unix_s": int(time.time()),
    }
    if best is not None:
        found["best"] = {
            "candidate": best.candidate,
            "parameters": dict((*best.timed.kernel.parameters.sizes, *best.timed.kernel.parameters.schedule)),
            "time_s": best.timed.time_s,
            "floor_s_modelled": best.timed.floor_s,
            "error": best.error,
            "runs": best.implementation,
            "why": best.why,
            "rivals": [asdict(r) for r in best.baselines],
            "times_faster_than": best.ratios,
            "floats": _floats_text(best, book),
            "proof": best.proof,
            "source": best.source,
        }
    return found
