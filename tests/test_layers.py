"""Which third parties are imported where. (How our own modules may import one another: `lint-imports`.)"""

from __future__ import annotations

import ast
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "prism_explore"

# Which files may import a third party: patterns inside the package.
AT_TOP = {
    "egglog": ("verify/*",),
    "optuna": ("tune/strategies/optuna_samplers.py",),
    "anywidget": ("widgets/*",),
    "ipywidgets": ("widgets/*",),
}
IN_FUNCTIONS = {
    **AT_TOP,
    "torch": (
        "frontend/*",
        "codegen/cpu/*",
        "codegen/triton/*",
        "tune/*",
        "entry/torch_*.py",
        "entry/whole_program.py",
        "entry/equivalence/*",
        "entry/doctor_checks.py",
    ),
    "triton": ("frontend/*", "codegen/triton/*", "tune/*", "entry/doctor_checks.py"),
}
HEAVY = ("optuna", "torch", "triton", "egglog", "ipywidgets", "anywidget", "IPython", "pygraphviz", "llvmlite")


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Each third party that a module imports at run time: its name, the line, whether inside a function."""

    def visit(node: ast.AST, inside: bool) -> Iterator[tuple[str, int, bool]]:
        match node:
            case ast.Import(names=names, lineno=line):
                yield from ((alias.name.split(".")[0], line, inside) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, lineno=line):
                yield module.split(".")[0], line, inside
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=rest):
                for child in rest:
                    yield from visit(child, inside)
            case _:
                deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                for child in ast.iter_child_nodes(node):
                    yield from visit(child, deeper)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), False)


MODULES = sorted(PACKAGE.rglob("*.py"))


def import_graph() -> nx.DiGraph[str]:
    """Who imports whom inside the package, anywhere in a module: at the top, in functions, for types only.

    The package's own `__init__`, which lists the public names, is left out: it imports everything, lazily.
    """
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in MODULES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in names.items():
        if name == PACKAGE.name:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=aliases):
                    imported = [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module), names=aliases):
                    full = [f"{module}.{alias.name}" for alias in aliases]
                    imported = [each if each in names else module for each in full]
                case _:
                    continue
            graph.add_edges_from((name, each) for each in imported if each in names and each != name)
    return graph


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_third_parties_stay_behind_their_fence(path: Path) -> None:
    here = path.relative_to(PACKAGE).as_posix()
    for name, line, inside in imports(path):
        if name not in IN_FUNCTIONS:
            continue
        allowed = (IN_FUNCTIONS if inside else AT_TOP).get(name, ())
        where = "inside a function" if inside else "at the top"

        assert any(fnmatch.fnmatch(here, pattern) for pattern in allowed), (
            f"prism_explore/{here}:{line} imports {name} {where}; "
            f"allowed: {', '.join(IN_FUNCTIONS[name])}{'' if name in AT_TOP else ', inside functions only'}"
        )


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Types included: an import under TYPE_CHECKING that closes a circle shows a type that stands in the wrong file."""
    circles = [sorted(circle) for circle in nx.strongly_connected_components(import_graph()) if len(circle) > 1]

    assert circles == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import prism_explore, sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == ""
