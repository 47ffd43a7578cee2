"""prism_explore: explore the symbolic superoptimization of tensor programs, step by step.

    import prism_explore as px
    sess = px.Session(f, x=px.T("b", 4096), w=px.T(4096, 4096), target="cpu", at={"b": 8})
    sess                    # the explorer
    best = sess.best()      # a checked kernel, or torch if that was faster; called like f

Names are imported at their first use, so that the import of the package is fast and needs neither torch nor a notebook.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism_explore.course.chapters import exercise
    from prism_explore.course.exercise import Exercise
    from prism_explore.diagnose.check import CheckResult, certify, check_mirage, collect_evidence
    from prism_explore.diagnose.concrete_baseline import compare_with_concrete
    from prism_explore.entry.doctor import doctor
    from prism_explore.entry.equivalence.check import assert_equivalent, check
    from prism_explore.entry.equivalence.outcome import Equivalence, FloatComparison, ResultCheck, Witness
    from prism_explore.entry.large_program import LargeProgram
    from prism_explore.entry.torch_compile import TorchCompiler
    from prism_explore.entry.whole_program import BestWhole, WholeProgram
    from prism_explore.errors import (
        JournalVersionError,
        ParseError,
        PrismError,
        ShapeError,
        TargetUnavailable,
        UnsupportedOperator,
    )
    from prism_explore.frontend.mirage import generalize, load_mirage, read_mirage, save_mirage
    from prism_explore.frontend.workloads import WORKLOADS, workload
    from prism_explore.ir.program import ProgramBuilder, TensorProgram
    from prism_explore.ir.tensors import tensor as T
    from prism_explore.ir.text import parse, parse_program, show
    from prism_explore.pipeline.search_space import Space, default_space
    from prism_explore.runtime.best import Best
    from prism_explore.runtime.no_improvement import NoImprovement
    from prism_explore.runtime.saved_kernel import SavedKernel, load_kernel
    from prism_explore.session.comparison import compare
    from prism_explore.session.saved import load
    from prism_explore.session.session import Session
    from prism_explore.targets import Target, target
    from prism_explore.tune import Budget
    from prism_explore.tune.database import export_trials, import_trials
    from prism_explore.verify.replay import replay_counterexample
    from prism_explore.widgets.jupyter.display import display_mode

_HOMES: dict[str, tuple[str, str]] = {
    "Best": ("runtime.best", "Best"),
    "BestWhole": ("entry.whole_program", "BestWhole"),
    "Budget": ("tune", "Budget"),
    "CheckResult": ("diagnose.check", "CheckResult"),
    "Equivalence": ("entry.equivalence.outcome", "Equivalence"),
    "Exercise": ("course.exercise", "Exercise"),
    "FloatComparison": ("entry.equivalence.outcome", "FloatComparison"),
    "JournalVersionError": ("errors", "JournalVersionError"),
    "NoImprovement": ("runtime.no_improvement", "NoImprovement"),
    "ParseError": ("errors", "ParseError"),
    "LargeProgram": ("entry.large_program", "LargeProgram"),
    "PrismError": ("errors", "PrismError"),
    "ProgramBuilder": ("ir.program", "ProgramBuilder"),
    "ResultCheck": ("entry.equivalence.outcome", "ResultCheck"),
    "SavedKernel": ("runtime.saved_kernel", "SavedKernel"),
    "Session": ("session.session", "Session"),
    "ShapeError": ("errors", "ShapeError"),
    "Space": ("pipeline.search_space", "Space"),
    "T": ("ir.tensors", "tensor"),
    "Target": ("targets", "Target"),
    "TargetUnavailable": ("errors", "TargetUnavailable"),
    "TensorProgram": ("ir.program", "TensorProgram"),
    "TorchCompiler": ("entry.torch_compile", "TorchCompiler"),
    "UnsupportedOperator": ("errors", "UnsupportedOperator"),
    "Witness": ("entry.equivalence.outcome", "Witness"),
    "WholeProgram": ("entry.whole_program", "WholeProgram"),
    "WORKLOADS": ("frontend.workloads", "WORKLOADS"),
    "compare_with_concrete": ("diagnose.concrete_baseline", "compare_with_concrete"),
    "certify": ("diagnose.check", "certify"),
    "assert_equivalent": ("entry.equivalence.check", "assert_equivalent"),
    "check": ("entry.equivalence.check", "check"),
    "check_mirage": ("diagnose.check", "check_mirage"),
    "compare": ("session.comparison", "compare"),
    "default_space": ("pipeline.search_space", "default_space"),
    "display_mode": ("widgets.jupyter.display", "display_mode"),
    "doctor": ("entry.doctor", "doctor"),
    "collect_evidence": ("diagnose.check", "collect_evidence"),
    "exercise": ("course.chapters", "exercise"),
    "export_trials": ("tune.database", "export_trials"),
    "generalize": ("frontend.mirage", "generalize"),
    "import_trials": ("tune.database", "import_trials"),
    "load": ("session.saved", "load"),
    "load_kernel": ("runtime.saved_kernel", "load_kernel"),
    "load_mirage": ("frontend.mirage", "load_mirage"),
    "parse": ("ir.text", "parse"),
    "parse_program": ("ir.text", "parse_program"),
    "read_mirage": ("frontend.mirage", "read_mirage"),
    "replay_counterexample": ("verify.replay", "replay_counterexample"),
    "save_mirage": ("frontend.mirage", "save_mirage"),
    "show": ("ir.text", "show"),
    "target": ("targets", "target"),
    "workload": ("frontend.workloads", "workload"),
}

__all__ = [
    "WORKLOADS",
    "Best",
    "BestWhole",
    "Budget",
    "CheckResult",
    "Equivalence",
    "Exercise",
    "FloatComparison",
    "JournalVersionError",
    "LargeProgram",
    "NoImprovement",
    "ParseError",
    "PrismError",
    "ProgramBuilder",
    "ResultCheck",
    "SavedKernel",
    "Session",
    "ShapeError",
    "Space",
    "T",
    "Target",
    "TargetUnavailable",
    "TensorProgram",
    "TorchCompiler",
    "UnsupportedOperator",
    "WholeProgram",
    "Witness",
    "assert_equivalent",
    "certify",
    "check",
    "check_mirage",
    "collect_evidence",
    "compare",
    "compare_with_concrete",
    "default_space",
    "display_mode",
    "doctor",
    "exercise",
    "export_trials",
    "generalize",
    "import_trials",
    "load",
    "load_kernel",
    "load_mirage",
    "parse",
    "parse_program",
    "read_mirage",
    "replay_counterexample",
    "save_mirage",
    "show",
    "target",
    "workload",
]

import_module("prism_explore.support.thread_env")  # it stores the environment of this moment


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"prism_explore has no {name!r}; it has {', '.join(__all__)}")
    module, attribute = _HOMES[name]
    value = getattr(import_module(f"prism_explore.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
