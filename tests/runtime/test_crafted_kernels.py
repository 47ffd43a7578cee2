"""Kernel files that a stranger made: each claims something that does not hold, and is refused before it runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism_explore as px
from prism_explore.errors import PrismError
from prism_explore.runtime import saved_kernel
from tests.fuzz.doors import ONE_TRIAL, PROGRAM

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of silu(x @ w) / 2, whose blocks compute rows."""
    folder = tmp_path_factory.mktemp("kernels")
    with contextlib.closing(px.Session(px.parse_program(PROGRAM), target="cpu", at={"b": 4}, budget=ONE_TRIAL)) as sess:
        path = sess.best().save(folder / "gate.kernel")
    craft(path, path, lambda data: data["kernel"].update(candidate=["f1.c1", GRAPH], sizes=[["gx", 2]]))
    return path


X, W = "  x = input f32[b, 8]\n", "  w = input f32[8, 4]\n"
GRAPH = """sgraph
  x = input f32[b, 8]
  w = input f32[8, 4]
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = matmul(%0, %1)
    %3 = silu(%2)
    %4 = mul_scalar(%3, 1/2)
    %5 = store(%4, omap=[0])
  return %2"""


def craft(source: Path, path: Path, change: Change) -> Path:
    with zipfile.ZipFile(source) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    data = json.loads(texts["kernel.json"])
    change(data)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**texts, "kernel.json": json.dumps(data)}.items():
            archive.writestr(name, text)
    return path


def graph(old: str, new: str) -> Change:
    """Another graph, with the proof of the first one."""
    assert old in GRAPH
    return lambda data: data["kernel"].update(candidate=["f1.c1", GRAPH.replace(old, new)])


def program(old: str, new: str) -> Change:
    """Another program, with the graph and the proof of the first one."""
    assert old in PROGRAM
    return lambda data: data["kernel"].update(program=PROGRAM.replace(old, new))


def kernel(**fields: object) -> Change:
    return lambda data: data["kernel"].update(fields)


def signature(arguments: list[str], *bindings: list[object]) -> Change:
    return lambda data: data.update(signature=["gate", arguments, list(bindings), None, None, []])


@dataclass(frozen=True, slots=True)
class Crafted:
    """A file, and what its refusal says."""

    name: str
    change: Change
    said: str


CRAFTED = (
    # a proof that they lack
    Crafted("another operator", graph("silu", "exp"), "refuted at"),
    Crafted("another constant", graph("1/2", "1/3"), "refuted at"),
    Crafted("a constant that is nearly the same", graph("1/2", "4999999/10000000"), "refuted at"),
    Crafted("an operator left out", graph("store(%4", "store(%3"), "refuted at"),
    Crafted("another program", program("silu", "sigmoid"), "refuted at"),
    Crafted(
        "an operand of another axis",
        graph("matmul(%0, %1)", "matmul(%1, %0)"),
        "4 against b/gx",
    ),
    Crafted("a program of inputs in the other order", program(X + W, W + X), "its kernel takes x, w;"),
    # indices out of bounds
    Crafted("a grid that does not divide the rows", kernel(sizes=[["gx", 3]]), "b/gx is 4/3, not a positive integer"),
    Crafted("more blocks than rows", kernel(sizes=[["gx", 8]]), "b/gx is 1/2, not a positive integer"),
    Crafted("no blocks", kernel(sizes=[["gx", 0]]), "sizes are 1 or more, found gx=0"),
    Crafted("fewer than no blocks", kernel(sizes=[["gx", -2]]), "sizes are 1 or more, found gx=-2"),
    Crafted("more blocks than a machine word counts", kernel(sizes=[["gx", 2**62]]), "not a positive integer"),
    Crafted("a size that is left out", kernel(sizes=[]), "needs a number for 'gx'"),
    Crafted("rows that the blocks do not divide", kernel(shapes=[["b", 5]]), "b/gx is 5/2, not a positive integer"),
    Crafted("more memory than there is", kernel(shapes=[["b", 2**40]]), "the limit is 256"),
    Crafted("a shape that is left out", kernel(shapes=[]), "needs a number for 'b'"),
    Crafted("two numbers of blocks", kernel(sizes=[["gx", 2], ["gx", 3]]), "one number, found several for gx"),
    Crafted("two numbers of rows", kernel(shapes=[["b", 4], ["b", 8]]), "one number, found several for b"),
    Crafted(
        "conditions checked for other rows than are compiled",
        kernel(sizes=[["gx", 2], ["b", 1000]]),
        "one number, found several for b",
    ),
    Crafted(
        "conditions checked for other blocks than are compiled",
        kernel(shapes=[["b", 6], ["gx", 3]]),
        "one number, found several for gx",
    ),
    Crafted("two numbers of threads", kernel(schedule=[["threads", 1], ["threads", 9]]), "found several for threads"),
    Crafted(
        "blocks that all write to the same rows",
        graph("omap=[0]", "omap=[-]"),
        "the result has dims",
    ),
    Crafted(
        "rows of the result along its columns",
        graph("omap=[0]", "omap=[1]"),
        "the result has dims",
    ),
    Crafted(
        "a part of the weights for each block",
        graph("load(1, imap=[-])", "load(1, imap=[0])"),
        "8 against 8/gx",
    ),
    Crafted("a load of a tensor that is not there", graph("load(1,", "load(2,"), "load of operand 2, it has 2"),
    Crafted(
        "a map of a dim that is not there",
        graph("load(0, imap=[0])", "load(0, imap=[2])"),
        "dim 2 of a tensor",
    ),
    Crafted("a value before it is computed", graph("silu(%2)", "silu(%4)"), "'%4' names no earlier tensor"),
    # swapped signatures; sizes, dtypes and strides that are not theirs
    Crafted("weights as rows", graph("custom(x, w)", "custom(w, x)"), "4 against b"),
    Crafted(
        "longer rows in the graph than in the program",
        graph("x = input f32[b, 8]", "x = input f32[b, 9]"),
        "9 against 8",
    ),
    Crafted(
        "a shorter dtype in the graph",
        graph("w = input f32[8, 4]", "w = input bf16[8, 4]"),
        "f1.c1 has inputs x f32",
    ),
    Crafted(
        "a shorter dtype in the program",
        program("w = input f32[8, 4]", "w = input bf16[8, 4]"),
        "f1.c1 has inputs x f32",
    ),
    Crafted("other arguments", signature(["x", "w"], ["x", "x", []], ["w", "v", []]), "uses its v; pass it"),
    Crafted(
        "one input of two",
        signature(["x", "w"], ["x", "x", []]),
        "its signature binds x;",
    ),
    Crafted(
        "inputs in the other order",
        signature(["x", "w"], ["w", "w", []], ["x", "x", []]),
        "its signature binds w, x;",
    ),
    Crafted(
        "one argument twice, so that the second one is read as the first",
        signature(["x", "x"], ["x", "x", []], ["w", "x", []]),
        "its signature has the arguments x, x",
    ),
    Crafted("a turned input", signature(["x", "w"], ["x", "x", [1, 1]], ["w", "w", []]), "reorders the dims of x"),
    # another machine
    Crafted("a GPU's kernel", kernel(backend="triton"), "needs a GPU"),
    Crafted("a kernel of no machine that is known", kernel(backend="abacus"), "'abacus'; there are cpu, triton"),
)


@pytest.mark.parametrize("row", CRAFTED, ids=lambda row: row.name)
def test_a_crafted_file_is_refused_with_what_is_wrong_in_it(made: Path, tmp_path: Path, row: Crafted) -> None:
    path = craft(made, tmp_path / "stranger.kernel", row.change)
    with pytest.raises(PrismError, match=row.said) as refused:
        px.load_kernel(path)
    assert str(path) in str(refused.value)


def test_the_file_that_was_not_changed_is_read(made: Path, tmp_path: Path) -> None:
    assert px.load_kernel(craft(made, tmp_path / "same.kernel", lambda _: None)).kernel.parameters.sizes == (("gx", 2),)


def test_what_a_file_says_about_its_proof_and_source_is_not_repeated(made: Path, tmp_path: Path) -> None:
    lies = kernel(proof=["magic", "it is perfect", []], source="nothing to see", conditions=[])
    opened = px.load_kernel(craft(made, tmp_path / "liar.kernel", lies))

    assert "perfect" not in opened.claim and opened.claim.startswith("for all positive integers b, gx")
    assert "nothing to see" not in opened.source
    x, w = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
    np.testing.assert_allclose(opened(x, w), 4 / (1 + np.exp(-8)), rtol=1e-6)


def test_no_text_of_a_file_controls_the_terminal(made: Path, tmp_path: Path) -> None:
    def lie(data: dict[str, Any]) -> None:
        data["kernel"].update(candidate=["f1\x1b[2J", GRAPH])
        data["measured"].update(time_s=1.0, machine="\x1b]0;gone\x07", outrun="\x1b[31mcall 555")

    assert "\x1b" not in repr(px.load_kernel(craft(made, tmp_path / "liar.kernel", lie)))


SCHEDULES = {"unknown": [["magic", 3]], "negative": [["threads", -1]], "too many": [["threads", 10**6]]}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_a_schedule_that_is_no_choice_here_is_replaced_by_the_default_and_said(
    made: Path, tmp_path: Path, schedule: object
) -> None:
    opened = px.load_kernel(craft(made, tmp_path / "stranger.kernel", kernel(schedule=schedule)))

    assert opened.kernel.parameters.schedule == ()
    assert "not possible here" in opened.note


# ---------------------------------------------------------------- code that fails where it runs
def ending(_: Any) -> Any:
    """A loader whose kernel ends its process, as an access beyond a tensor does."""
    return lambda *_, **__: os.kill(os.getpid(), signal.SIGSEGV)


def wrong(_: Any) -> Any:
    return lambda x, w: np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(("loader", "said"), [(ending, "does not run on it: .*SIGSEGV"), (wrong, "is wrong on it: ")])
def test_compiled_code_runs_in_a_worker_before_it_runs_here(
    made: Path, monkeypatch: pytest.MonkeyPatch, loader: Any, said: str
) -> None:
    monkeypatch.setattr(saved_kernel, "CPU_LOADER", f"{__name__}:{loader.__name__}")
    with pytest.raises(px.TargetUnavailable, match=said) as refused:
        px.load_kernel(made)
    assert str(made) in str(refused.value)
