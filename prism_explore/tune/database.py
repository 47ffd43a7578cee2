"""The database of trials: one SQLite file, so that no kernel is timed twice.

A trial is identified by its program, sGraph, shapes, machine, versions and parameters. Program and sGraph are stored in
the textual form, independent of the ids of a search. Times of different days do not compare: the fastest trials are
raced again, all others count as tried.

A file of an earlier version is upgraded in one transaction, after it was copied. A file that cannot be read is not
changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from prism_explore.errors import JournalVersionError
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Outcome, Parameters, Timed
from prism_explore.support.plain_data import named_numbers
from prism_explore.support.whole_files import write_whole
from prism_explore.targets import Target
from prism_explore.targets.host import cpu_model
from prism_explore.tune.strategies.optuna_samplers import StudyFile

_TABLE = """
create table trials (
  program text not null, candidate text not null, shapes text not null, machine text not null, versions text not null,
  numbers text not null, outcome text not null, time_s real, error real, reason text not null, noted text not null,
  primary key (program, candidate, shapes, machine, versions, numbers)
)
"""
_UPGRADES: tuple[tuple[str, ...], ...] = (
    (_TABLE,),
    ("alter table trials add column p20_s real", "alter table trials add column p80_s real"),
)
"""The statements that upgrade to each version; the first creates the tables."""

VERSION = len(_UPGRADES)
"""Version of the tables: `PRAGMA user_version` of the file."""

_FIRST_COLUMNS = (
    *("program", "candidate", "shapes", "machine", "versions"),
    *("numbers", "outcome", "time_s", "error", "reason", "noted"),
)
_LATER_COLUMNS = ("p20_s", "p80_s")
"""Null in rows that an earlier version stored or exported."""
_COLUMNS = (*_FIRST_COLUMNS, *_LATER_COLUMNS)
_NUMBERS = ("time_s", "error", *_LATER_COLUMNS)
"""The columns with a number or null; the others are texts."""
_LARGEST = 1e300
_NOT_ACCESSIBLE = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY)
)
_WRITING_FAILED = frozenset((sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE))
"""SQLite's codes of errors that no content of a file causes: by their first byte, and whole."""
_TIMED = "timed"
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of an earlier search."""

    candidate: str
    """The sGraph in the textual form."""
    parameters: Parameters
    outcome: str
    """`timed`, or the code of a failure such as `tune.wrong`."""
    time_s: float | None
    """As measured then; None for a failure."""
    error: float | None
    reason: str
    p20_s: float | None = None
    p80_s: float | None = None


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """The number of trials of one program, with its shapes, machine and versions."""

    program: str
    """Its name; different programs with the same name are separate groups."""
    shapes: tuple[tuple[str, int], ...]
    machine: str
    versions: tuple[tuple[str, str], ...]
    timed: int
    failed: int
    fastest_s: float | None


class Database:
    """The file at `path`, created when the first trial is stored."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def contents(self) -> tuple[StoredGroup, ...]:
        """The stored trials, grouped by program, shapes, machine and versions.

        Raises:
            JournalVersionError: see `trials`.
        """
        rows = self._select(
            "select program, shapes, machine, versions, count(time_s), count(*) - count(time_s), min(time_s) "
            "from trials group by program, shapes, machine, versions order by program, shapes, machine, versions"
        )
        with self._damage_named():
            return tuple(
                StoredGroup(
                    _checked("program", program).partition("\n")[0].removeprefix("program "),
                    tuple(_mapping("shapes", shapes, int).items()),
                    _checked("machine", machine),
                    tuple(_mapping("versions", versions, str).items()),
                    timed,
                    failed,
                    _checked("time_s", fastest_s),
                )
                for program, shapes, machine, versions, timed, failed, fastest_s in rows
            )

    def trials(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        versions: tuple[tuple[str, str], ...],
    ) -> tuple[StoredTrial, ...]:
        """The trials of a program on a machine with these versions, fastest first, failures last.

        Raises:
            JournalVersionError: the file is not such a database, is damaged, or has a later version.
        """
        columns = ("candidate", "numbers", "outcome", "time_s", "error", "reason", *_LATER_COLUMNS)
        rows = self._select(
            f"select {', '.join(columns)} from trials "
            "where program = ? and shapes = ? and machine = ? and versions = ? "
            "order by time_s is null, time_s, candidate, numbers",
            *_identity(program, shapes, target, versions),
        )
        with self._damage_named():
            checked = (tuple(map(_checked, columns, row)) for row in rows)
            return tuple(StoredTrial(candidate, _parameters(numbers), *rest) for candidate, numbers, *rest in checked)

    def study(
        self, program: TensorProgram, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
    ) -> StudyFile:
        """The file with a sampler's study: Optuna's own tables, next to this file."""
        return StudyFile(self.path.with_name(f"{self.path.name}.studies"), _identity(program, shapes, target, versions))

    def store(
        self, outcome: Outcome, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
    ) -> None:
        """Store a trial; one with the same parameters is replaced.

        Raises:
            JournalVersionError: see `trials`.
            OSError: the file cannot be written, such as on a full disk; what it has is unchanged.
        """
        match outcome:
            case Timed():
                candidate, parameters = outcome.kernel.verified.candidate, outcome.kernel.parameters
                result, spread = (_TIMED, outcome.time_s, outcome.error, ""), (outcome.p20_s, outcome.p80_s)
            case Infeasible(candidate, parameters, code, reason):
                result, spread = (code, None, None, reason), (None, None)
        program, *rest = _identity(candidate.family.program, shapes, target, versions)
        numbers = json.dumps([parameters.sizes, parameters.schedule])
        noted = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open() as file:
            _insert(file, (program, show(candidate.sgraph), *rest, numbers, *result, noted, *spread))

    def export_to(self, path: str | Path) -> int:
        """Write all trials as JSON Lines; return their number.

        Raises:
            JournalVersionError: see `trials`.
        """
        with self._open() as file:
            rows = file.execute(f"select {', '.join(_COLUMNS)} from trials order by {', '.join(_COLUMNS)}").fetchall()
        lines = (json.dumps(dict(zip(_COLUMNS, row, strict=True))) + "\n" for row in rows)
        write_whole(Path(path), "".join(lines).encode(), durable=True)
        return len(rows)

    def import_from(self, path: str | Path) -> int:
        """Store trials that `export_to` wrote, replacing those with the same parameters; return their number.

        Raises:
            JournalVersionError: a line is not a trial; then nothing was stored.
        """
        rows: list[tuple[Any, ...]] = []
        for number, line in enumerate(Path(path).read_bytes().splitlines(), 1):
            try:
                rows.append(_row(json.loads(line.decode("utf-8"))))
            except (ValueError, RecursionError) as error:
                raise JournalVersionError(
                    f"{path}: line {number} is not a trial: {error}; expected what `export_trials` wrote"
                ) from None
        with self._open() as file:
            for row in rows:
                _insert(file, row)
        return len(rows)

    def _select(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """The rows of a query; none if there is no file yet."""
        if not self.path.exists():
            return []
        with self._open() as file:
            return file.execute(query, values).fetchall()

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        # A connection per query: searches in other threads and processes write to the same file.
        try:
            with closing(sqlite3.connect(self.path, timeout=30.0)) as file, file:
                self._prepare(file)
                yield file
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and _is_of_the_system(error):
                raise OSError(f"{self.path} cannot be opened, read or written: {error}") from None
            raise self._damaged(error) from None

    @contextmanager
    def _damage_named(self) -> Generator[None]:
        try:
            yield
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> JournalVersionError:
        return JournalVersionError(
            f"{self.path} is not a database of trials, or is damaged: {error}. It was not changed; "
            "move it away or name another file"
        )

    def _prepare(self, file: sqlite3.Connection) -> None:
        if _version(file) == VERSION:
            return
        file.execute("begin immediate")  # another process may upgrade it at the same time
        found = _version(file)
        if found > VERSION or (found == 0 and file.execute("select count(*) from sqlite_master").fetchone()[0]):
            raise JournalVersionError(
                f"{self.path} is not a database of trials, or has another version: found {found}, this code reads "
                f"version {VERSION}. It was not changed; move it away or name another file"
            )
        if 0 < found < VERSION:
            self._copy(found)
        for steps in _UPGRADES[found:]:
            for step in steps:
                file.execute(step)
        file.execute(f"pragma user_version = {VERSION}")
        file.commit()

    def _copy(self, version: int) -> None:
        """Copy the file before it is upgraded; an earlier copy is never replaced."""
        n, copied = 1, self.path.with_name(f"{self.path.name}.version-{version}")
        while copied.exists():
            n, copied = n + 1, self.path.with_name(f"{self.path.name}.version-{version}.{n}")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(copied)) as copy:
            source.backup(copy)


def machine_name(target: Target) -> str:
    """The machine that a time was measured on: the target, and for a CPU the processor."""
    return f"{target.name}, {cpu_model() if target.kind == 'cpu' else target.source}, {target.cores} cores"


def _identity(
    program: TensorProgram, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
) -> tuple[str, str, str, str]:
    """What identifies trials, except candidate and parameters."""
    return show(program), _canonical_json(shapes), machine_name(target), _canonical_json(dict(versions))


def _canonical_json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _version(file: sqlite3.Connection) -> int:
    return int(file.execute("pragma user_version").fetchone()[0])


def _is_of_the_system(error: sqlite3.OperationalError) -> bool:
    """Whether an error comes from the disk, the folder or another process, not from what is in the file."""
    code = getattr(error, "sqlite_errorcode", 0)  # Python's own error for text that is not UTF-8 has no code
    return code in _WRITING_FAILED or code & 0xFF in _NOT_ACCESSIBLE


def _insert(file: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    columns, places = ", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS))
    file.execute(f"insert or replace into trials ({columns}) values ({places})", row)


def _row(data: Any) -> tuple[Any, ...]:
    """A row from an exported trial of this version or an earlier one; every field is checked."""
    if not isinstance(data, dict):
        raise ValueError(f"expected an object, found {type(data).__name__}")
    fields = cast("dict[str, Any]", data)
    if not set(_FIRST_COLUMNS) <= set(fields) <= set(_COLUMNS):
        raise ValueError(f"expected the fields {', '.join(_COLUMNS)}")
    row = tuple(_checked(name, fields.get(name)) for name in _COLUMNS)
    if (fields["outcome"] == _TIMED) != (fields["time_s"] is not None):
        raise ValueError(f"the outcome is {fields['outcome']!r} and the time {fields['time_s']!r}")
    _parameters(fields["numbers"])
    _mapping("shapes", fields["shapes"], int)
    _mapping("versions", fields["versions"], str)
    return row


def _checked(column: str, value: Any) -> Any:
    """The value of a column.

    Raises:
        ValueError: it has another type than the column.
    """
    if column not in _NUMBERS:
        if not isinstance(value, str):
            raise ValueError(f"{column} is {value!r}, expected a text")
        return value
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{column} is {value!r}, expected a number from 0 to {_LARGEST:g}")
    return float(value)


def _mapping(field: str, text: Any, kind: type[_V]) -> dict[str, _V]:
    """The object of a field; `kind` is the type of its values.

    Raises:
        ValueError: the field has something else.
    """
    found: Any = json.loads(_checked(field, text))
    if not isinstance(found, dict) or not all(type(v) is kind for v in cast("dict[str, Any]", found).values()):
        raise ValueError(f"{field} is {text!r}, expected an object of {kind.__name__}")
    return cast("dict[str, _V]", found)


def _parameters(text: str) -> Parameters:
    """The sizes and the schedule of a trial.

    Raises:
        ValueError: the text has something else.
    """
    found: Any = json.loads(text)
    match found:
        case [sizes, schedule]:
            return Parameters(named_numbers(sizes), named_numbers(schedule))
        case _:
            raise ValueError(f"numbers is {text!r}, expected [sizes, schedule]")


def export_trials(database: str | Path, path: str | Path) -> int:
    """Write the trials of a database to a file of JSON Lines, for another machine or another database.

    Args:
        database: the SQLite file.
        path: the file to write.

    Returns:
        The number of trials.

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
    return Database(database).export_to(path)


def import_trials(path: str | Path, database: str | Path) -> int:
    """Store trials that `export_trials` wrote in a database; create it if there is none.

    Trials of another machine are stored too, but are not used for this one.

    Args:
        path: the file of JSON Lines.
        database: the SQLite file.

    Returns:
        The number of trials.

    Raises:
        JournalVersionError: a line is not a trial, or the database is damaged; then nothing was stored.

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
    return Database(database).import_from(path)
