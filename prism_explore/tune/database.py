"""What was tuned before: one SQLite file of trials, so that nothing is timed twice.

A trial is found again by its program, its sGraph, the shapes, the machine and the versions; the first two
in the textual form, so ids of a search play no part. Times of different days do not compare: what was fastest is
raced again, and all else that was tried stays tried.

A file that cannot be read is left as it is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prism_explore.errors import JournalVersionError
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.stages import Candidate, Infeasible, Outcome, Parameters, Timed
from prism_explore.ir.text import show
from prism_explore.targets import Target
from prism_explore.targets.host import cpu_model

VERSION = 1
"""Of the tables; `PRAGMA user_version` of the file."""

_TABLE = """
create table if not exists trials (
  program text not null, candidate text not null, shapes text not null, machine text not null, versions text not null,
  numbers text not null, outcome text not null, time_s real, error real, reason text not null, noted text not null,
  primary key (program, candidate, shapes, machine, versions, numbers)
)
"""
_COLUMNS = (
    *("program", "candidate", "shapes", "machine", "versions"),
    *("numbers", "outcome", "time_s", "error", "reason", "noted"),
)
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


class Database:
    """The file at `path`; made when something is first noted."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

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
        if not self.path.exists():
            return ()
        with self._open() as file:
            rows = file.execute(
                "select candidate, numbers, outcome, time_s, error, reason from trials "
                "where program = ? and shapes = ? and machine = ? and versions = ? "
                "order by time_s is null, time_s, candidate, numbers",
                (show(program), _plain(shapes), machine(target), _plain(dict(versions))),
            ).fetchall()
        return tuple(
            Known(candidate, _parameters(numbers), outcome, time_s, error, reason)
            for candidate, numbers, outcome, time_s, error, reason in rows
        )

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
                said = (_TIMED, outcome.time_s, outcome.error, "")
            case Infeasible(candidate, parameters, code, reason):
                said = (code, None, None, reason)
        key = _key(candidate, shapes, target, versions)
        numbers = json.dumps([parameters.sizes, parameters.schedule])
        noted = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open() as file:
            _insert(file, (*key, numbers, *said, noted))

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
                if set(data) != set(_COLUMNS):
                    raise ValueError(f"expected the fields {', '.join(_COLUMNS)}")
                _parameters(data["numbers"])
                rows.append(tuple(data[c] for c in _COLUMNS))
            except (ValueError, TypeError, KeyError) as error:
                raise JournalVersionError(f"{path}: line {number} is no trial: {error}") from None
        with self._open() as file:
            for row in rows:
                _insert(file, row)
        return len(rows)

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
        (found,) = file.execute("pragma user_version").fetchone()
        if found == VERSION:
            return
        if found or file.execute("select count(*) from sqlite_master").fetchone()[0]:
            raise JournalVersionError(f"{self.path} has version {found}, this code reads version {VERSION}")
        file.execute(_TABLE)
        file.execute(f"pragma user_version = {VERSION}")


def machine(target: Target) -> str:
    """What a time belongs to: the target, and the processor where it is this machine's."""
    return f"{target.name}, {cpu_model() if target.kind == 'cpu' else target.source}, {target.cores} cores"


def _key(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, versions: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    program = show(candidate.family.program)
    return program, show(candidate.sgraph), _plain(shapes), machine(target), _plain(dict(versions))


def _plain(numbers: Mapping[str, Any]) -> str:
    return json.dumps(numbers, sort_keys=True)


def _insert(file: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    file.execute(f"insert or replace into trials values ({', '.join('?' * len(_COLUMNS))})", row)


def _parameters(text: str) -> Parameters:
    sizes, schedule = json.loads(text)
    return Parameters(*(tuple((str(s), int(n)) for s, n in pairs) for pairs in (sizes, schedule)))
