"""prism_explore: explore the symbolic superoptimization of tensor programs, step by step.

    import prism_explore as px
    sess = px.Session(f, x=px.T("b", 4096), w=px.T(4096, 4096), target="cpu", at={"b": 8})
    sess                    # the explorer
    best = sess.best()      # a checked kernel, or torch where that was faster; called like f

Names are loaded when they are first used, so that the import itself is fast and needs neither torch nor
a notebook.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism_explore.beside import compare
    from prism_explore.errors import (
        JournalVersionError,
        ParseError,
        PrismError,
        ShapeError,
        TargetUnavailable,
        UnsupportedOperator,
    )
    from prism_explore.ir.program import ProgramBuilder, TensorProgram
    from prism_explore.ir.space import Space, default_space
    from prism_explore.ir.tensors import tensor as T
    from prism_explore.ir.text import parse, parse_program, show
    from prism_explore.mirage import generalise, load_mirage, read_mirage, save_mirage
    from prism_explore.parts import Parts
    from prism_explore.portable import PortableKernel, load_kernel
    from prism_explore.programs import WORKLOADS, workload
    from prism_explore.result import Best
    from prism_explore.session import Session
    from prism_explore.session import open_record as load
    from prism_explore.targets import Target, target
    from prism_explore.torch_backend import TorchCompiler
    from prism_explore.tune import Budget
    from prism_explore.tune.database import export_trials, import_trials
    from prism_explore.unbeaten import Unbeaten
    from prism_explore.verdicts import Checked, certified, check, check_mirage, evidence_of
    from prism_explore.verify.decide import replay_case
    from prism_explore.versus import against_concrete

_HOMES: dict[str, tuple[str, str]] = {
    "Best": ("result", "Best"),
    "Budget": ("tune", "Budget"),
    "Checked": ("verdicts", "Checked"),
    "JournalVersionError": ("errors", "JournalVersionError"),
    "ParseError": ("errors", "ParseError"),
    "Parts": ("parts", "Parts"),
    "PrismError": ("errors", "PrismError"),
    "PortableKernel": ("portable", "PortableKernel"),
    "ProgramBuilder": ("ir.program", "ProgramBuilder"),
    "Session": ("session", "Session"),
    "ShapeError": ("errors", "ShapeError"),
    "Space": ("ir.space", "Space"),
    "T": ("ir.tensors", "tensor"),
    "Target": ("targets", "Target"),
    "TargetUnavailable": ("errors", "TargetUnavailable"),
    "TensorProgram": ("ir.program", "TensorProgram"),
    "TorchCompiler": ("torch_backend", "TorchCompiler"),
    "Unbeaten": ("unbeaten", "Unbeaten"),
    "UnsupportedOperator": ("errors", "UnsupportedOperator"),
    "WORKLOADS": ("programs", "WORKLOADS"),
    "certified": ("verdicts", "certified"),
    "against_concrete": ("versus", "against_concrete"),
    "check": ("verdicts", "check"),
    "compare": ("beside", "compare"),
    "check_mirage": ("verdicts", "check_mirage"),
    "default_space": ("ir.space", "default_space"),
    "evidence_of": ("verdicts", "evidence_of"),
    "export_trials": ("tune.database", "export_trials"),
    "generalise": ("mirage", "generalise"),
    "import_trials": ("tune.database", "import_trials"),
    "load": ("session", "open_record"),
    "load_kernel": ("portable", "load_kernel"),
    "load_mirage": ("mirage", "load_mirage"),
    "parse": ("ir.text", "parse"),
    "parse_program": ("ir.text", "parse_program"),
    "read_mirage": ("mirage", "read_mirage"),
    "replay_case": ("verify.decide", "replay_case"),
    "save_mirage": ("mirage", "save_mirage"),
    "show": ("ir.text", "show"),
    "target": ("targets", "target"),
    "workload": ("programs", "workload"),
}

__all__ = [
    "WORKLOADS",
    "Best",
    "Budget",
    "Checked",
    "JournalVersionError",
    "ParseError",
    "Parts",
    "PortableKernel",
    "PrismError",
    "ProgramBuilder",
    "Session",
    "ShapeError",
    "Space",
    "T",
    "Target",
    "TargetUnavailable",
    "TensorProgram",
    "TorchCompiler",
    "Unbeaten",
    "UnsupportedOperator",
    "against_concrete",
    "certified",
    "check",
    "check_mirage",
    "compare",
    "default_space",
    "evidence_of",
    "export_trials",
    "generalise",
    "import_trials",
    "load",
    "load_kernel",
    "load_mirage",
    "parse",
    "parse_program",
    "read_mirage",
    "replay_case",
    "save_mirage",
    "show",
    "target",
    "workload",
]

import_module("prism_explore.threads")  # it remembers the environment of this moment


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"prism_explore has no {name!r}; it has {', '.join(__all__)}")
    module, attribute = _HOMES[name]
    value = getattr(import_module(f"prism_explore.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
