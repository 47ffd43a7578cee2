"""What was tuned before: one SQLite file of trials, so that nothing is timed twice.

A trial is found again by its program, its sGraph, the shapes, the machine and the versions; the first two
in the textual form, so ids of a search play no part. Times of different days do not compare: what was fastest is
raced again, and all else that was tried stays tried.

A file of an earlier version is brought up to date in one transaction, and kept beside itself as it was. A file that
cannot be read is left as it is.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prism_explore.errors import JournalVersionError
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Outcome, Parameters, Timed
from prism_explore.targets import Target
from prism_explore.targets.host import cpu_model
from prism_explore.tune.strategies.optuna_samplers import Kept

_TABLE = """
create table trials (
  program text not null, candidate text not null, shapes text not null, machine text not null, versions text not null,
  numbers text not null, outcome text not null, time_s real, error real, reason text not null, noted text not null,
  primary key (program, candidate, shapes, machine, versions, numbers)
)
"""
_STEPS: tuple[tuple[str, ...], ...] = (
    (_TABLE,),
    ("alter table trials add column p20_s real", "alter table trials add column p80_s real"),
)
"""What makes each version from the one before; the first makes a file from nothing."""

VERSION = len(_STEPS)
"""Of the tables; `PRAGMA user_version` of the file."""

_FIRST = (
    *("program", "candidate", "shapes", "machine", "versions"),
    *("numbers", "outcome", "time_s", "error", "reason", "noted"),
)
_LATER = ("p20_s", "p80_s")
"""Unknown in what an earlier version noted or exported."""
_COLUMNS = (*_FIRST, *_LATER)
_TIMED = "timed"


@dataclass(frozen=True, slots=True)
class Known:
    """A trial of an earlier search."""

    candidate: str
    """The sGraph in the textual form."""
    parameters: Parameters
    outcome: str
    """`timed`, or the code of a failure such as `tune.wrong`."""
    time_s: float | None
    """As it was then; None for a failure."""
    error: float | None
    reason: str
    p20_s: float | None = None
    p80_s: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What a database holds of one program at some shapes on one machine with some versions."""

    program: str
    """Its name; programs of one name that differ are apart."""
    shapes: tuple[tuple[str, int], ...]
    machine: str
    versions: tuple[tuple[str, str], ...]
    timed: int
    failed: int
    fastest_s: float | None


class Database:
    """The file at `path`; made when something is first noted."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def contents(self) -> tuple[Held, ...]:
        """What it holds, by program, shapes, machine and versions.

        Raises:
            JournalVersionError: see `known`.
        """
        rows = self._found(
            "select program, shapes, machine, versions, count(time_s), count(*) - count(time_s), min(time_s) "
            "from trials group by program, shapes, machine, versions order by program, shapes, machine, versions"
        )
        return tuple(
            Held(
                program.partition("\n")[0].removeprefix("program "),
                tuple(json.loads(shapes).items()),
                machine,
                tuple(json.loads(versions).items()),
                *counted,
            )
            for program, shapes, machine, versions, *counted in rows
        )

    def known(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        versions: tuple[tuple[str, str], ...],
    ) -> tuple[Known, ...]:
        """What was tried for a program on a machine with these versions, fastest first, failures last.

        Raises:
            JournalVersionError: the file is no such database, is damaged, or was written by a later version.
        """
        rows = self._found(
            "select candidate, numbers, outcome, time_s, error, reason, p20_s, p80_s from trials "
            "where program = ? and shapes = ? and machine = ? and versions = ? "
            "order by time_s is null, time_s, candidate, numbers",
            *_about(program, shapes, target, versions),
        )
        return tuple(Known(candidate, _parameters(numbers), *rest) for candidate, numbers, *rest in rows)

    def study(
        self, program: TensorProgram, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
    ) -> Kept:
        """Where a sampler keeps what it learns: a file beside this one, in Optuna's own tables.

        Apart from the trials, so that what Optuna does with its tables never touches them.
        """
        return Kept(self.path.with_name(f"{self.path.name}.studies"), _about(program, shapes, target, versions))

    def note(
        self, outcome: Outcome, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
    ) -> None:
        """Remember a trial; one of the same numbers is replaced.

        Raises:
            JournalVersionError: see `known`.
        """
        match outcome:
            case Timed():
                candidate, parameters = outcome.kernel.verified.candidate, outcome.kernel.parameters
                said, spread = (_TIMED, outcome.time_s, outcome.error, ""), (outcome.p20_s, outcome.p80_s)
            case Infeasible(candidate, parameters, code, reason):
                said, spread = (code, None, None, reason), (None, None)
        program, *about = _about(candidate.family.program, shapes, target, versions)
        numbers = json.dumps([parameters.sizes, parameters.schedule])
        noted = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open() as file:
            _insert(file, (program, show(candidate.sgraph), *about, numbers, *said, noted, *spread))

    def write(self, path: str | Path) -> int:
        """Export all trials as JSON Lines, which `read` takes in elsewhere; how many.

        Raises:
            JournalVersionError: see `known`.
        """
        with self._open() as file:
            rows = file.execute(f"select {', '.join(_COLUMNS)} from trials order by {', '.join(_COLUMNS)}").fetchall()
        lines = (json.dumps(dict(zip(_COLUMNS, row, strict=True))) + "\n" for row in rows)
        target = Path(path)
        part = target.with_name(target.name + ".part")
        part.write_text("".join(lines), encoding="utf-8")
        part.replace(target)
        return len(rows)

    def read(self, path: str | Path) -> int:
        """Take in trials that `write` exported, replacing those of the same numbers; how many.

        Raises:
            JournalVersionError: a line is no trial; then nothing of the file was taken in.
        """
        rows: list[tuple[Any, ...]] = []
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                data = json.loads(line)
                rows.append(_row(data))
            except (ValueError, TypeError, KeyError) as error:
                raise JournalVersionError(f"{path}: line {number} is no trial: {error}") from None
        with self._open() as file:
            for row in rows:
                _insert(file, row)
        return len(rows)

    def _found(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        """The rows that answer a question; none where there is no file yet."""
        if not self.path.exists():
            return []
        with self._open() as file:
            return file.execute(question, values).fetchall()

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        # A connection for each question: searches in other threads and processes write to the same file.
        try:
            with closing(sqlite3.connect(self.path, timeout=30.0)) as file, file:
                self._prepare(file)
                yield file
        except sqlite3.DatabaseError as error:
            raise JournalVersionError(
                f"{self.path} is no database of trials, or is damaged: {error}. It was left as it is; "
                "move it away or name another file"
            ) from None

    def _prepare(self, file: sqlite3.Connection) -> None:
        if _version(file) == VERSION:
            return
        file.execute("begin immediate")  # another process may be about to do the same
        found = _version(file)
        if found > VERSION or (found == 0 and file.execute("select count(*) from sqlite_master").fetchone()[0]):
            raise JournalVersionError(
                f"{self.path} is no database of trials, or of another version: it has version {found}, this code reads "
                f"version {VERSION}. It was left as it is; move it away or name another file"
            )
        if 0 < found < VERSION:
            self._keep(found)
        for steps in _STEPS[found:]:
            for step in steps:
                file.execute(step)
        file.execute(f"pragma user_version = {VERSION}")
        file.commit()

    def _keep(self, version: int) -> None:
        """Copy the file beside itself before it changes; an earlier copy is never replaced."""
        n, kept = 1, self.path.with_name(f"{self.path.name}.version-{version}")
        while kept.exists():
            n, kept = n + 1, self.path.with_name(f"{self.path.name}.version-{version}.{n}")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(kept)) as copy:
            source.backup(copy)


def machine(target: Target) -> str:
    """What a time belongs to: the target, and the processor where it is this machine's."""
    return f"{target.name}, {cpu_model() if target.kind == 'cpu' else target.source}, {target.cores} cores"


def _about(
    program: TensorProgram, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
) -> tuple[str, str, str, str]:
    """What trials belong to, but for the candidate."""
    return show(program), _plain(shapes), machine(target), _plain(dict(versions))


def _plain(numbers: Mapping[str, Any]) -> str:
    return json.dumps(numbers, sort_keys=True)


def _version(file: sqlite3.Connection) -> int:
    return int(file.execute("pragma user_version").fetchone()[0])


def _insert(file: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    columns, places = ", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS))
    file.execute(f"insert or replace into trials ({columns}) values ({places})", row)


def _row(data: Any) -> tuple[Any, ...]:
    """A trial as it was exported, by this version or an earlier one; every field is checked."""
    if not isinstance(data, dict):
        raise ValueError(f"expected an object, found {type(data).__name__}")
    fields = cast("dict[str, Any]", data)
    if not set(_FIRST) <= set(fields) <= set(_COLUMNS):
        raise ValueError(f"expected the fields {', '.join(_COLUMNS)}")
    for name in _COLUMNS:
        value = fields.get(name)
        if name in ("time_s", "error", *_LATER):
            if value is not None and (not isinstance(value, int | float) or not math.isfinite(value) or value < 0):
                raise ValueError(f"{name} is {value!r}")
        elif not isinstance(value, str):
            raise ValueError(f"{name} is {value!r}")
    if (fields["outcome"] == _TIMED) != (fields["time_s"] is not None):
        raise ValueError(f"the outcome is {fields['outcome']!r} and the time {fields['time_s']!r}")
    _parameters(fields["numbers"])
    return tuple(fields.get(c) for c in _COLUMNS)


def _parameters(text: str) -> Parameters:
    sizes, schedule = json.loads(text)
    return Parameters(*(tuple((str(s), int(n)) for s, n in pairs) for pairs in (sizes, schedule)))


def export_trials(database: str | Path, path: str | Path) -> int:
    """Write what a database of trials holds as JSON Lines, for another machine or another file; how many.

    Raises:
        JournalVersionError: there is no such database, or it is damaged.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import prism_explore as px
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trials = Path(folder, "trials.jsonl")
        ...     _ = trials.write_text("")
        ...     px.import_trials(trials, f"{folder}/mine.sqlite"), px.export_trials(f"{folder}/mine.sqlite", trials)
        (0, 0)
    """
    if not Path(database).exists():
        raise JournalVersionError(f"there is no database at {database}")
    return Database(database).write(path)


def import_trials(path: str | Path, database: str | Path) -> int:
    """Take trials that `export_trials` wrote into a database, which is made where there is none; how many.

    Times of another machine are kept and never taken for this one's: a trial is found again on its own machine only.

    Raises:
        JournalVersionError: a line is no trial, or the database is damaged; then nothing was taken in.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import prism_explore as px
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trials = Path(folder, "trials.jsonl")
        ...     _ = trials.write_text("")
        ...     px.import_trials(trials, f"{folder}/mine.sqlite"), px.export_trials(f"{folder}/mine.sqlite", trials)
        (0, 0)
    """
    return Database(database).read(path)
