"""Every public name has an example in its docstring, and every example runs."""

import doctest
import importlib
import inspect

import pytest

import prism_explore as px
from tests.session.test_session import machine

DATA = {"WORKLOADS"}
"""Values, which have no docstring of their own."""
NAMES = sorted(set(px.__all__) - DATA)
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(autouse=True)
def a_cpu_with_known_rates(monkeypatch: pytest.MonkeyPatch):
    """Measuring this machine takes longer than all examples."""
    known = px.target
    monkeypatch.setattr(
        "prism_explore.session.options.target", lambda name: machine() if name == "cpu" else known(name)
    )


@pytest.mark.parametrize("name", NAMES)
def test_its_example_runs(name: str):
    value = getattr(px, name)
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
    assert examples, f"{name} has no example"
    names = vars(importlib.import_module(value.__module__)) if ">>> import prism_explore" not in value.__doc__ else {}
    case = doctest.DocTest(examples, dict(names), name, inspect.getsourcefile(value), 0, None)
    report: list[str] = []

    failed = doctest.DocTestRunner(optionflags=FLAGS).run(case, out=report.append).failed

    assert not failed, "".join(report)
