"""The ways by which a file or a text from elsewhere enters the package, each with valid contents and its mutations."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import random
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import prism_explore as px
from prism_explore.entry import cli
from prism_explore.entry.torch_answers import AnswerFiles, answer_of
from prism_explore.entry.torch_partition import Cost, Partition, partition_from_plain, partition_to_plain
from prism_explore.entry.torch_regions import Region
from prism_explore.entry.torch_report import WholeRace
from prism_explore.errors import ParseError
from prism_explore.events.event_stream import MAGIC
from prism_explore.events.kinds import CandidateInstantiated
from prism_explore.frontend import trace
from prism_explore.pipeline.stages import Counterexample
from prism_explore.runtime.saved_kernel import DAMAGED
from prism_explore.session.search_cache import question_digest
from prism_explore.session.session import Session
from prism_explore.session.small_files import ANSWERS, RACES
from prism_explore.session.trace_cache import read_trace, trace_text
from prism_explore.targets.host import load_or_measure, stored_figures
from prism_explore.tune.database import Database
from prism_explore.verify.counterexample.case import Case
from tests.fuzz.mutations import JSON, TEXT, Container, Mutation, change_json, gzipped, plain, zipped

DATA = Path(__file__).parents[1] / "data"
SAVED = DATA / "saved" / "relu_double.prism"
MIRAGE = tuple(sorted((DATA / "mirage").glob("*.json.gz"), key=lambda path: path.stat().st_size)[:2])
COMMANDS = (b"show\nSAVED\nf1.c1", b"show\nSAVED\nledger", b"cache\nshow", b"check\n--json\nSAVED\n--seed\n1", b"list")
"""Commands that only read; one argument a line."""
MOST_ARGUMENTS = 8


@dataclass(frozen=True, slots=True)
class Door:
    """A function of the package that reads what somebody else wrote."""

    name: str
    suffix: str
    contents: Callable[[], tuple[bytes, ...]]
    """Valid contents, from which damaged ones are made."""
    open: Callable[[Path], object]
    """Reads the file; whatever it finds, it returns, or raises a `PrismError`."""
    mutations: tuple[Mutation, ...]
    """Of what the file holds; its bytes are mutated too."""
    container: Container = plain
    names_file: bool = True
    """Whether the message of a refusal names the file; a text has no file."""
    tested: int = 2_000
    """Files that the tests open; fewer where most damaged files are proved, compiled and run again."""


# ---------------------------------------------------------------- valid contents
PROGRAM = """program gate
  x = input f32[b, 8]
  w = input f32[8, 4]
  %2 = matmul(x, w)
  %3 = silu(%2)
  %4 = mul_scalar(%3, 1/2)
  return %4
"""
WRONG = """sgraph
  x = input f32[b, 8]
  w = input f32[8, 4]
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = matmul(%0, %1)
    %3 = silu(%2)
    %4 = store(%3, omap=[0])
  return %2
"""
TRIAL = {
    "program": "program p\n  x = input f32[b, 8]\n  return x\n",
    "candidate": "sgraph\n",
    "shapes": '{"b": 8}',
    "machine": "cpu, here, 2 cores",
    "versions": '{"torch": "2"}',
    "numbers": '[[["f1", 4]], [["threads", 2]]]',
    "reason": "",
    "noted": "2026-01-01T00:00:00",
}
ONE_TRIAL = px.Budget(trials=1, seconds=1.0)


def gate(x: Any, w: Any) -> Any:
    import torch.nn.functional as F

    return F.silu(x @ w) * 0.5


def _members() -> dict[str, bytes]:
    with zipfile.ZipFile(SAVED) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _stream() -> bytes:
    members = _members()
    manifest = json.dumps(json.loads(members["manifest.json"])).encode()
    return MAGIC + zlib.compress(manifest + b"\n" + members["events.jsonl"])


def _streamed(change: Mutation) -> Mutation:
    """A mutation of what an autosaved file holds."""
    return lambda draw, content: MAGIC + zlib.compress(change(draw, zlib.decompress(content[len(MAGIC) :])), 1)


def _report() -> bytes:
    with TemporaryDirectory() as folder:
        return Path(px.load(SAVED).report(Path(folder, "run.html"))).read_bytes()


def _exported() -> bytes:
    timed = {**TRIAL, "outcome": "timed", "time_s": 1e-5, "error": 0.0, "p20_s": 1e-5, "p80_s": 2e-5}
    failed = {**TRIAL, "numbers": "[[], []]", "outcome": "tune.wrong", "time_s": None, "error": None}
    return "".join(f"{json.dumps(row)}\n" for row in (timed, failed)).encode()


def _database() -> bytes:
    with TemporaryDirectory() as folder:
        exported, database = Path(folder, "trials.jsonl"), Path(folder, "trials.sqlite")
        exported.write_bytes(_exported())
        px.import_trials(exported, database)
        return database.read_bytes()


def _tabled(change: Mutation) -> Mutation:
    """A mutation of the rows of a database."""

    def mutation(draw: random.Random, content: bytes) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder, "trials.sqlite")
            path.write_bytes(content)
            with contextlib.closing(sqlite3.connect(path)) as file, file:
                file.execute("pragma synchronous = off")  # nobody waits for the disk
                columns = [name for _, name, *_ in file.execute("pragma table_info(trials)")]
                rows = file.execute("select * from trials").fetchall()
                changed = change(draw, json.dumps([dict(zip(columns, row, strict=True)) for row in rows]).encode())
                file.execute("delete from trials")
                with contextlib.suppress(
                    ValueError, RecursionError, TypeError, AttributeError, sqlite3.Error, OverflowError
                ):
                    for row in json.loads(changed):
                        values = [v if isinstance(v, str | int | float | None) else json.dumps(v) for v in row.values()]
                        places = ", ".join("?" * len(values))
                        file.execute(f"insert into trials ({', '.join(row)}) values ({places})", values)
            return path.read_bytes()

    return mutation


def _kernel() -> bytes:
    sess = px.Session(px.parse_program(PROGRAM), target="cpu", at={"b": 4}, budget=ONE_TRIAL)
    with TemporaryDirectory() as folder, contextlib.closing(sess):
        return sess.best().save(Path(folder, "gate.kernel")).read_bytes()


def _graphs() -> tuple[bytes, ...]:
    graphs = [event.sgraph for event in px.load(SAVED).of(CandidateInstantiated)]
    return tuple(text.encode() for text in (graphs[0], graphs[-1], WRONG))


def _case() -> bytes:
    program, graph = px.parse_program(PROGRAM), px.parse(WRONG)
    counterexample = Counterexample((("b", 4), ("gx", 2)), 0, (1, 1), 0.5, 0.25, 0.5, (-0.65, 0.75), "float64")
    return str(Case("f1.c1", None, program, graph, counterexample)).encode()


def _trace() -> bytes:
    traced = trace(gate, {"x": px.T("b", 8), "w": px.T(8, 4)}, "gate")
    return trace_text(traced).encode()


@functools.cache
def _searched() -> Session:
    """The search of a region of `torch.compile`; its torch code is part of the question."""
    code = trace(lambda x: x + x, {"x": px.T("b", 8)}, "twice")
    return px.Session(
        code, target="cpu", at={"b": 4}, budget=px.Budget(trials=1, seconds=1.0), baselines=("torch eager",)
    )


def _answer() -> bytes:
    sess = _searched()
    best = sess.best()
    with _answer_files() as (files, folder):
        files.store(sess.task, answer_of(sess.claim, best))
        return next(folder.glob(f"*{ANSWERS}")).read_bytes()


@functools.cache
def _graph() -> Any:
    """A graph of torch with two regions, of which one is computed twice."""
    import torch

    def layer(x: Any, w: Any) -> Any:
        return torch.sort(gate(x, w)).values + gate(x, w)

    return torch.fx.symbolic_trace(layer).graph


def _cut() -> bytes:
    nodes = [node for node in _graph().nodes if node.op == "call_function"]
    regions = Region.of(frozenset(nodes[:3])), Region.of(frozenset(nodes[-3:]))
    cut = Partition(regions, (Cost(1e-5), Cost(2e-5, True)), {nodes[3]: "no row for sort"}, frozenset(nodes))
    return json.dumps(partition_to_plain(cut, _graph())).encode()


def _race() -> bytes:
    race = WholeRace("kernels", {"torch eager": 2e-5, "kernels": 1e-5}, "2.00x", {"torch eager": 1e-7, "kernels": 1e-7})
    with _answer_files() as (files, folder):
        files.store_race("graph", race)
        return (folder / f"graph{RACES}").read_bytes()


@contextlib.contextmanager
def _answer_files() -> Iterator[tuple[AnswerFiles, Path]]:
    """What a build of `torch.compile` stores, in a folder of its own."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISM_EXPLORE_CACHE", folder)
        yield AnswerFiles(), Path(folder)


def _figures() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "host.json")
        load_or_measure(path, lambda: px.target("cpu"))
        return path.read_bytes()


# ---------------------------------------------------------------- what opens them
def _text(path: Path) -> str:
    """A text as somebody pastes it."""
    return path.read_text(encoding="utf-8", errors="replace")


def _open_graph(path: Path) -> None:
    graph = px.parse(_text(path))
    graph.conditions()
    px.show(graph)


def _open_program(path: Path) -> None:
    px.show(px.parse_program(_text(path)))


def _open_case(path: Path) -> None:
    str(px.replay_counterexample(_text(path)))


def _open_search(path: Path) -> None:
    record = px.load(path)
    record.text("ledger")
    repr(record)


def _continue_search(path: Path) -> None:
    px.Session.load(path).close()


def _open_database(path: Path) -> None:
    database = Database(path)
    database.contents()
    database.export_to(path.with_suffix(".exported"))


def _import_trials(path: Path) -> None:
    database = path.with_suffix(".sqlite")
    database.unlink(missing_ok=True)
    px.import_trials(path, database)
    Database(database).contents()


def _open_trace(path: Path) -> None:
    with contextlib.suppress(ValueError):  # what its caller expects
        read_trace(_text(path), gate)


def _find_answer(path: Path) -> None:
    """An answer that is found is that of a proved kernel, and its rows can be reported."""
    task = _searched().task
    with _answer_files() as (files, folder):
        (folder / f"{question_digest(task)}{ANSWERS}").write_bytes(path.read_bytes())
        answer = files.find(task)
    if answer is not None:
        assert all(ratio >= 0 for ratio in answer.ratios.values())
        assert answer.kernel is None or max(answer.kernel.check(1)) < 1e-5


def _read_cut(path: Path) -> None:
    """A cut that is read has regions that a build can replace, and costs that its report can show."""
    try:
        cut = partition_from_plain(json.loads(_text(path)), _graph())
    except DAMAGED:  # what its caller expects
        return
    assert all(node.op == "call_function" for region in cut.regions for node in region.nodes)
    assert all(f"{cost.seconds:.0f} {cost.repeated:.1f}{cost.obstacle}" for cost in cut.costs)


def _find_race(path: Path) -> None:
    with _answer_files() as (files, folder):
        (folder / f"graph{RACES}").write_bytes(path.read_bytes())
        race = files.find_race("graph", ("kernels", "torch eager"))
    assert race is None or str(race)


def _call_command(path: Path) -> None:
    """The arguments of a command, one a line; the command may refuse them, with status 2 and a message."""
    arguments = _text(path).replace("\0", "").split("\n")[:MOST_ARGUMENTS]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = cli.main([str(SAVED) if argument == "SAVED" else argument for argument in arguments])
    except SystemExit as ended:  # argparse's own refusal
        status = int(ended.code or 0)
    if status == 2:
        raise ParseError(said.getvalue())


DOORS = (
    Door("saved_search", ".prism", lambda: (SAVED.read_bytes(),), _open_search, JSON, zipped),
    Door("continued_search", ".prism", lambda: (SAVED.read_bytes(),), _continue_search, JSON, zipped),
    Door("autosaved_search", ".prism", lambda: (_stream(),), _open_search, JSON, _streamed),
    Door("report", ".html", lambda: (_report(),), px.load, ()),
    Door("kernel", ".kernel", lambda: (_kernel(),), px.load_kernel, JSON, zipped, tested=500),
    Door("graph", ".txt", _graphs, _open_graph, TEXT, names_file=False),
    Door("program", ".txt", lambda: (PROGRAM.encode(),), _open_program, TEXT, names_file=False),
    Door("case", ".txt", lambda: (_case(),), _open_case, TEXT, names_file=False),
    Door("mirage", ".json.gz", lambda: tuple(map(Path.read_bytes, MIRAGE)), px.read_mirage, JSON, gzipped),
    Door("exported_trials", ".jsonl", lambda: (_exported(),), _import_trials, JSON),
    Door("database", ".sqlite", lambda: (_database(),), _open_database, (change_json,), _tabled),
    Door("stored_trace", ".trace", lambda: (_trace(),), _open_trace, JSON, names_file=False),
    Door("stored_answer", ".answer", lambda: (_answer(),), _find_answer, JSON, names_file=False, tested=200),
    Door("stored_cut", ".cut", lambda: (_cut(),), _read_cut, JSON, names_file=False),
    Door("stored_race", ".race", lambda: (_race(),), _find_race, JSON, names_file=False),
    Door("host_figures", ".json", lambda: (_figures(),), stored_figures, JSON, names_file=False),
    Door("command_line", ".args", lambda: COMMANDS, _call_command, TEXT, names_file=False),
)
