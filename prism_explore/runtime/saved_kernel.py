"""A kernel apart from its search: a callable that can be saved, sent, and opened where the search is not.

The file is a zip of plain data: program and sGraph in the textual form, numbers, how arguments become inputs,
what was measured where, and the source for people. Nothing in it is believed. Opening it proves the sGraph
equal to its program again, tries to refute it again, compiles it for this machine, and compares the result
with the program's float64 meaning. Weights are not saved: they are passed again, or taken from a module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from prism_explore.codegen import emit_cpu
from prism_explore.codegen.load import Loaded, load
from prism_explore.codegen.triton.emit import emit_triton
from prism_explore.errors import JournalVersionError, ParseError, ShapeError, TargetUnavailable
from prism_explore.events.archive import read_archive, write_archive
from prism_explore.events.journal import Journal
from prism_explore.frontend import Binding, Signature, bind_inputs
from prism_explore.frontend.autograd import call_with_gradient
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Refuted, Unknown, Verified
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.tune.runner.inputs import copies_in_layout, random_inputs
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain
from prism_explore.verify.prover import Prover

FORM, VERSION, WHAT = "prism-kernel", 1, ("saved kernel", ".kernel")
_DATA, _SOURCE = "kernel.json", "kernel.txt"
_DAMAGED = (ValueError, KeyError, TypeError, IndexError, ParseError, ShapeError, RecursionError, AssertionError)
"""What reading a text of anybody's making can raise."""
_NO_CODE = "torch was faster where it was tuned, and no torch code is in the file: the kernel runs"


@dataclass(frozen=True)
class SavedKernel:
    """A proved and checked kernel; call it as the code that it replaces was called.

    Example:
        >>> import numpy as np
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> sess = px.Session(program, target="cpu", at={"b": 4}, budget=px.Budget(trials=1, seconds=1.0))
        >>> float(sess.best().kernel(np.ones((4, 8), dtype=np.float32)).sum())
        64.0
    """

    kernel: Kernel
    """The kernel with its proof, sizes and source."""
    compiled: Loaded
    """On the program's inputs, in their order."""
    signature: Signature | None = None
    """None: called with the program's inputs by position."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """A module's own tensors by their dotted names."""
    reference: Callable[..., Any] | None = None
    """The torch code as a function of the program's inputs; gradients go through it."""
    measured: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the search measured, on which machine, with which versions; about that machine alone."""
    note: str = ""
    """What is different here from where it was tuned; empty where nothing is."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on torch tensors or NumPy arrays.

        Where torch records gradients and an input requires one, the kernel computes the result and the
        torch code, run again, its gradient.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride is not what was tuned for, or a gradient
                is wanted of a kernel without torch code.
        """
        return call_with_gradient(
            self.compiled, self.reference, bind_inputs(self.signature, args, kwargs, self.parameters)
        )

    @property
    def program(self) -> TensorProgram:
        """What it computes."""
        return self.kernel.verified.candidate.family.program

    @property
    def source(self) -> str:
        """The kernel for people: its tiles and loops."""
        return self.kernel.source

    @property
    def claim(self) -> str:
        """The sentence that was proved."""
        return self.kernel.verified.proof.claim

    def check(self, n: int = 5, seed: int = 0) -> tuple[float, ...]:
        """Relative errors against the program in float64, on random inputs.

        Args:
            n: the number of trials, each on new inputs.
            seed: of the inputs.

        Returns:
            Per trial, the largest deviation over the largest magnitude of the reference.
        """
        sizes = dict(self.kernel.shapes)
        rng = np.random.default_rng(seed)
        errors: list[float] = []
        for _ in range(n):
            inputs = random_inputs(self.program, sizes, rng)
            laid = [copies_in_layout(inputs[i.name], i.type, 1)[0] for i in self.program.inputs]
            wanted = evaluate(self.program, {k: v.astype(np.float64) for k, v in inputs.items()})
            found = np.asarray(self.compiled(*laid), dtype=np.float64)
            errors.append(float(np.abs(found - wanted).max() / np.abs(wanted).max()))
        return tuple(errors)

    def save(self, path: str | Path) -> Path:
        """Write it to a file that `load_kernel` opens; the weights of a module are not in it.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        call = self.signature
        data = {
            "kernel": kernel_to_plain(self.kernel),
            "signature": None
            if call is None
            else [call.name, call.arguments, [[b.name, b.source, b.permute] for b in call.bindings]],
            "measured": dict(self.measured),
        }
        members = {_DATA: json.dumps(data, indent=1), _SOURCE: self.source}
        return write_archive(path, FORM, VERSION, members, {"program": self.program.name})

    def __repr__(self) -> str:
        candidate = self.kernel.verified.candidate.id
        took = self.measured.get("time_s")
        lines = [
            f"kernel {candidate} of {self.program.name} at {self.kernel.parameters}, "
            f"for {', '.join(f'{s}={n}' for s, n in self.kernel.shapes) or 'the program as it is'}",
            f"  {self.claim}",
        ]
        if isinstance(took, float):
            lines.append(f"  {took * 1e6:,.0f} us measured on {self.measured.get('machine', 'another machine')}")
        if outrun := self.measured.get("outrun"):
            lines.append(f"  {outrun}; this runs the kernel")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])


def load_kernel(path: str | Path, module: Any = None, *, seed: int = 0) -> SavedKernel:
    """The kernel that was saved: proved again, compiled for this machine, and compared with its program.

    Args:
        path: of the file.
        module: the torch module whose parameters it uses, where it was made from one.
        seed: for the refuter and for the comparison.

    Returns:
        The kernel, ready to be called.

    Raises:
        JournalVersionError: not a saved kernel, damaged, or of a version this code does not read.
        ShapeError: what it says is not proved here, its numbers do not fit, or the module lacks a parameter.
        TargetUnavailable: it is for a machine that is not here, or what is compiled here gives wrong numbers.

    Example:
        >>> import tempfile
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> sess = px.Session(program, target="cpu", at={"b": 4}, budget=px.Budget(trials=1, seconds=1.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = sess.best().save(f"{folder}/twice.kernel")
        ...     kernel = px.load_kernel(path)
        >>> str(kernel).startswith("kernel f1.c1 of twice")
        True
    """
    _, (text, _) = read_archive(path, FORM, VERSION, (_DATA, _SOURCE), WHAT)
    try:
        data = json.loads(text)
        saved = kernel_from_plain(data["kernel"])
        signature = _signature(data["signature"])
        measured = cast("dict[str, Any]", dict(data["measured"]))
    except _DAMAGED as error:
        raise JournalVersionError(f"{path} is damaged: {type(error).__name__}: {error}") from None
    verified = _proved_again(path, saved, seed)
    parameters, note = _parameters(module, signature, path), ""
    emit = emit_triton if saved.backend == "triton" else emit_cpu
    kernel = emit(verified, saved.parameters, dict(saved.shapes))
    if isinstance(kernel, Infeasible):
        note = f"tuned for another machine, and not possible here: {kernel.reason}; it runs with usual choices"
        kernel = emit(verified, Parameters(saved.parameters.sizes), dict(saved.shapes))
    if isinstance(kernel, Infeasible):
        raise ShapeError(f"{path} cannot be compiled here: {kernel.reason}")
    if not note and kernel.source != saved.source:
        note = "the same tiles and loops are written otherwise by this version or for this machine"
    if measured.get("outrun"):
        note = f"{note}; {_NO_CODE}" if note else _NO_CODE
    made = SavedKernel(kernel, load(kernel), signature, parameters, None, measured, note)
    checked = check_results(made.compiled, reference_cases(made.program, dict(kernel.shapes), seed))
    if isinstance(checked, Failure):
        raise TargetUnavailable(f"{path} was compiled for this machine and is wrong on it: {checked.reason}")
    return made


def _proved_again(path: str | Path, saved: Kernel, seed: int) -> Verified:
    graph = saved.verified.candidate.sgraph
    candidate = replace(saved.verified.candidate, conditions=graph.conditions())
    match Prover(candidate.family.program).verify(candidate, Journal(), seed):
        case Verified() as verified:
            return verified
        case Refuted(_, counterexample):
            sizes = ", ".join(f"{s}={n}" for s, n in counterexample.sizes)
            raise ShapeError(f"{path} does not compute what it says: refuted at {sizes}")
        case Unknown(_, limit):
            raise ShapeError(f"{path} could not be proved again: {limit}")


def _signature(plain: Any) -> Signature | None:
    if plain is None:
        return None
    name, arguments, bindings = plain
    made = tuple(Binding(str(n), str(source), tuple(int(d) for d in permute)) for n, source, permute in bindings)
    return Signature(str(name), tuple(map(str, arguments)), made)


def _parameters(module: Any, signature: Signature | None, path: str | Path) -> dict[str, Any]:
    wanted = signature.parameters if signature is not None else ()
    held = dict(module.state_dict()) if module is not None else {}
    if missing := [p for p in wanted if p not in held]:
        raise ShapeError(
            f"{path} was made from a module and uses its {', '.join(missing)}; "
            + ("pass it: load_kernel(path, module)" if module is None else "this module has none of that name")
        )
    return {p: held[p].detach() for p in wanted}
