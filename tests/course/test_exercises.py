from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

import prism_explore as px
from prism_explore.course.chapters import EXERCISES
from prism_explore.course.exercise import Checked, Exercise, is_blank

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
MISTAKES = [(e, m) for e in EXERCISES.values() for m in e.mistakes]


def exercise_cells(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Number of the notebook, id of the exercise and source, per cell of an exercise."""
    for path in sorted(folder.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if "exercise" in cell.metadata:
                yield path.stem[:2], cell.metadata["exercise"], cell.source


def run(source: str, names: dict[str, Any]) -> object:
    """The value of the last expression of a cell."""
    *before, last = ast.parse(source).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_each_exercise_is_asked_in_its_notebook_and_solved_in_the_solutions() -> None:
    asked = list(exercise_cells(NOTEBOOKS))
    solved = list(exercise_cells(NOTEBOOKS / "solutions"))

    assert [id for _, id, _ in asked] == list(EXERCISES)
    assert {id for _, id, _ in solved} == set(EXERCISES)
    assert all(id.startswith(f"{number}-") for number, id, _ in (*asked, *solved))


def test_an_exercise_that_was_left_blank_is_not_wrong() -> None:
    names: dict[str, Any] = {"px": px}
    for _, id, source in exercise_cells(NOTEBOOKS):
        checked = run(source, names)
        assert isinstance(checked, Checked)
        assert (checked.exercise, checked.state) == (id, "not yet")


@pytest.mark.parametrize("path", sorted((NOTEBOOKS / "solutions").glob("*.ipynb")), ids=lambda path: path.stem)
def test_solutions_are_right(path: Path) -> None:
    names: dict[str, Any] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            checked = run(cell.source, names)
            assert isinstance(checked, Checked)
            assert (checked.exercise, checked.state) == (cell.metadata["exercise"], "right")


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=[f"{e.id} {m.hint[:30]}" for e, m in MISTAKES])
def test_a_common_mistake_gets_the_hint_that_fits(exercise: Exercise, mistake: Any) -> None:
    checked = exercise.check(mistake.sample)

    assert checked.state == "wrong"
    assert checked.hint == mistake.hint
    assert checked.found and checked.expected == exercise.expected


class Raising:
    """An answer that cannot be compared, printed, counted or hashed."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("not me")

    __eq__ = __hash__ = __repr__ = __iter__ = __len__ = __getitem__ = __bool__ = __contains__ = _raise


@pytest.mark.parametrize(
    "answer",
    [12345, "garbage", (), {}, None, object(), lambda: 1, np.zeros((2, 3)), Raising(), b"x" * 10**5],
    ids=lambda a: type(a).__name__,
)
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_an_answer_of_another_kind_is_wrong_and_says_what_was_expected(exercise: Exercise, answer: Any) -> None:
    checked = exercise.check(answer)

    assert checked.state == "wrong"
    assert exercise.expected in str(checked).replace("\n" + " " * 13, " ")
    assert "hint(1)" in checked.hint
    assert checked.found and len(str(checked)) < 2_000


def test_hints_lead_on_and_the_last_one_stays() -> None:
    for exercise in EXERCISES.values():
        assert exercise.hint(1) == exercise.hints[0]
        assert exercise.hint(99) == exercise.hints[-1]
        with pytest.raises(px.PrismError, match="found 0"):
            exercise.hint(0)


@pytest.mark.parametrize("answer", [..., {"gx": ..., "f": 1}, (1, [...]), {...}, "load(0, imap=[?])", " "], ids=str)
def test_what_has_a_blank_is_blank(answer: Any) -> None:
    assert is_blank(answer)


@pytest.mark.parametrize("answer", [0, {"gx": 1}, (1, 2), "load(0, imap=[-])", None, False], ids=str)
def test_what_has_no_blank_is_an_answer(answer: Any) -> None:
    assert not is_blank(answer)


def test_a_check_is_html_whose_texts_are_escaped() -> None:
    checked = Checked("01-a", "wrong", "<b>", "<img src=x onerror=alert(1)>")

    assert "<img" not in checked._repr_html_() and "&lt;img" in checked._repr_html_()


def test_an_unknown_exercise_names_those_there_are() -> None:
    with pytest.raises(px.PrismError, match="no exercise '99-z'; the exercises are 00-a, 00-b"):
        px.exercise("99-z")
