"""Which third parties are imported where. (How our own modules may import one another: `lint-imports`.)"""

from __future__ import annotations

import ast
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "prism_explore"

# Who may import it: file patterns inside the package.
AT_TOP = {
    "egglog": ("verify/*",),
    "optuna": ("tune/sampled.py",),
    "anywidget": ("widgets/*",),
    "ipywidgets": ("widgets/*",),
}
IN_FUNCTIONS = {
    **AT_TOP,
    "torch": ("frontend/*", "programs.py", "codegen/load.py", "codegen/triton*.py", "tune/*", "torch_backend.py"),
    "triton": ("frontend/*", "codegen/load.py", "codegen/triton*.py", "tune/*"),
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


def test_a_session_imports_its_widget_only_to_show_itself() -> None:
    for node in ast.parse((PACKAGE / "session.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("prism_explore.widgets"), f"line {node.lineno}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import prism_explore, sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == ""
