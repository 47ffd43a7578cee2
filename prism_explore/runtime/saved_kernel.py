"""Saved kernels: a callable kernel that does not need its search, and its file.

The file is an archive of plain data: program and sGraph as text, parameters, the binding of arguments to inputs,
measurements, and the source for people. Opening a file trusts nothing in it: the sGraph is proved equal to its program
and tested by the refuter again, compiled for this machine, and compared with the reference in float64. A kernel for a
CPU is compared in a worker process, whose tensors lie between pages without access, before it runs in this one. Weights
are not saved; pass them again, or a module that has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from prism_explore.codegen import emit_cpu
from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.codegen.cpu.plain_call import PlainCall
from prism_explore.codegen.load import Loaded, load
from prism_explore.codegen.preconditions import unmet_precondition
from prism_explore.errors import JournalVersionError, ParseError, PositionError, ShapeError, TargetUnavailable
from prism_explore.events.archive import FileFormat, read_archive, write_archive
from prism_explore.events.fastest import OURS
from prism_explore.events.journal import Journal
from prism_explore.frontend import ArgumentForm, Binding, ResultForm, Signature, bind_inputs, with_structure
from prism_explore.frontend.argument_form import constant_from_plain, constant_to_plain
from prism_explore.frontend.autograd import call_with_gradient
from prism_explore.frontend.traced_program import KnownTable
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tabulated import FLOAT8_FORMATS, entries_of
from prism_explore.ir.tensors import WORDS
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Refuted, Unknown, Verified
from prism_explore.runtime.masked_rows import EXCLUDED, MaskedRows, call_torch
from prism_explore.support.terminal_text import terminal_text
from prism_explore.targets import target
from prism_explore.tune.runner.backend import CPU_LOADER
from prism_explore.tune.runner.bench import CheckPassed, Failure
from prism_explore.tune.runner.correctness import as_arrays, check_results, reference_cases
from prism_explore.tune.runner.inputs import laid_out, random_inputs
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain
from prism_explore.tune.runner.worker import Worker
from prism_explore.verify.prover import Prover

FORMAT = FileFormat("prism-kernel", 1, "saved kernel", ".kernel")
_DATA, _SOURCE = "kernel.json", "kernel.txt"
DAMAGED = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, AssertionError),
    *(ParseError, ShapeError),
)
"""What reading damaged data can raise."""
_BACKENDS = ("cpu", "triton")
_TORCH_WAS_FASTER = "torch was faster where it was tuned, and no torch code is in the file: the kernel runs"


@dataclass(frozen=True)
class SavedKernel:
    """A proved and checked kernel; it is called like the code that it replaces.

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
    """The compiled kernel; it takes the inputs of the program in their order."""
    signature: Signature | None = None
    """The signature of the torch function or module; None for a kernel that takes the program's inputs by position."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The parameters and buffers of the module, by their dotted names."""
    reference: Callable[..., Any] | None = None
    """The torch code as a function of the program's inputs; it computes gradients."""
    measured: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The measurements of the search, with the machine and the package versions."""
    note: str = ""
    """The differences from the kernel that was tuned; empty where there are none."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on torch tensors or NumPy arrays.

        Where an input requires a gradient, the kernel computes the result, and the torch code, which is executed as
        well, computes the gradient.

        Where a mask keeps nothing of a row, or an integer is no position from 0 on in the dim that it looks up, the
        torch code computes the result or raises its error, because the proof excludes such calls.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride differs from those of the tuned kernel, or an
                input requires a gradient or the proof excludes the call, and the kernel has no torch code.
        """
        plain = None if kwargs or "torch" not in sys.modules else self._plain_call
        if plain is not None and (found := plain(args)) is not None:
            return found
        inputs = bind_inputs(self.signature, args, kwargs, self.parameters)
        try:
            if self.masked_rows.are_excluded(self.compiled, inputs, dict(self.kernel.shapes)):
                computed = self.masked_rows.call_torch(self.reference, inputs)
            else:
                computed = call_with_gradient(self.compiled, self.reference, inputs)
        except PositionError as error:
            computed = call_torch(self.program.name, self.reference, inputs, str(error), str(error))
        return with_structure(self.signature, computed, args, kwargs, self.parameters)

    @cached_property
    def _plain_call(self) -> PlainCall | None:
        """What runs calls with plain tensors; None where an argument must be looked at first."""
        compiled, signature = self.compiled, self.signature
        if not isinstance(compiled, LoadedKernel) or any(e.bounds is not None for e in compiled.inputs):
            return None
        if signature is None or signature.call is not None or signature.form is not None or self.masked_rows.has_maxima:
            return None
        place = {name: n for n, name in enumerate(signature.arguments)}
        sources = [(place.get(b.source, b.source), b.permute, b.bits) for b in signature.bindings]
        changed = signature.watch_tables(self.parameters) if signature.tables else lambda: False
        return PlainCall(compiled, len(place), sources, self.parameters, changed)

    @cached_property
    def masked_rows(self) -> MaskedRows:
        """The check for rows of which a mask keeps nothing."""
        return MaskedRows(self.program)

    @property
    def program(self) -> TensorProgram:
        """The program that it computes."""
        return self.kernel.verified.candidate.family.program

    @property
    def source(self) -> str:
        """The kernel as readable text: its tiles and loops."""
        return self.kernel.source

    @property
    def claim(self) -> str:
        """The statement that was proved."""
        return self.kernel.verified.proof.claim

    def check(self, n: int = 5, seed: int = 0) -> tuple[float, ...]:
        """Relative errors against the program in float64, on random inputs.

        Args:
            n: the number of trials, each on new inputs.
            seed: of the inputs.

        Returns:
            Per trial, the largest deviation over the largest magnitude of the reference, of all results.
        """
        sizes = dict(self.kernel.shapes)
        rng = np.random.default_rng(seed)
        errors: list[float] = []
        for _ in range(n):
            inputs = random_inputs(self.program, sizes, rng)
            arguments = laid_out(self.program, inputs, sizes)
            expected = evaluate_results(self.program, {k: v.astype(np.float64) for k, v in arguments.items()})
            found = as_arrays(self.compiled(*arguments.values()))
            pairs = zip(found, expected, strict=True)
            errors.append(max(float(np.abs(r - e).max() / np.abs(e).max()) for r, e in pairs))
        return tuple(errors)

    def save(self, path: str | Path) -> Path:
        """Write the kernel to a file for `load_kernel`; the file does not contain the weights of a module.

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
            else [
                call.name,
                call.arguments,
                [[b.name, b.source, b.permute, *([b.bits] if b.bits else [])] for b in call.bindings],
                None if call.form is None else call.form.to_plain(),
                None if call.call is None else call.call.to_plain(),
                [constant_to_plain(name, self.parameters[name]) for name in call.constants],
                [[t.source, t.function] for t in call.tables],
            ],
            "measured": dict(self.measured),
        }
        members = {_DATA: (json.dumps(data, indent=1),), _SOURCE: (self.source,)}
        return write_archive(path, FORMAT, members, {"program": self.program.name})

    def __repr__(self) -> str:
        candidate = self.kernel.verified.candidate.id
        time_s = self.measured.get("time_s")
        lines = [
            f"kernel {candidate} of {self.program.name} at {self.kernel.parameters}, "
            f"for {', '.join(f'{s}={n}' for s, n in self.kernel.shapes) or 'the program as it is'}",
            f"  {self.claim}",
        ]
        if isinstance(time_s, float):
            lines.append(f"  {time_s * 1e6:,.0f} us measured on {self.measured.get('machine', 'another machine')}")
        if self.masked_rows.has_arguments:
            lines.append(f"  {EXCLUDED}; a call with one runs torch")
        if faster := self.measured.get("outrun"):
            lines.append(f"  {faster}; this runs the kernel")
        return terminal_text("\n".join([*lines, *([f"  {self.note}"] if self.note else [])]))


def load_kernel(path: str | Path, module: Any = None, *, seed: int = 0) -> SavedKernel:
    """Load a saved kernel: prove it again, compile it for this machine, and compare it with its program.

    A kernel for a CPU is first compiled and compared in a worker process, which takes about a second.

    Args:
        path: the file.
        module: the torch module whose parameters it uses, for a kernel of a module.
        seed: for the refuter and for the comparison.

    Returns:
        The kernel, ready to be called.

    Raises:
        JournalVersionError: the file is no saved kernel, is damaged, or has a version that this code does not read.
        ShapeError: the kernel is not proved again, its parameters are not legal, or the module lacks a parameter.
        TargetUnavailable: this machine cannot run the kernel, or the compiled kernel computes wrong values, or it
            crashes, reads or writes beyond its tensors, or takes more than a minute.

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
    _, (text, _) = read_archive(path, FORMAT, (_DATA, _SOURCE))
    try:
        data = json.loads(text)
        saved = kernel_from_plain(data["kernel"])
        signature = _signature(data["signature"])
        constants = _constants(data["signature"])
        measured = cast("dict[str, Any]", dict(data["measured"]))
    except DAMAGED as error:
        raise JournalVersionError(f"{path} is damaged: {type(error).__name__}: {error}") from None
    _check_signature(path, signature, saved)
    verified = _verify_again(path, saved, seed)
    parameters, note = _parameters(module, signature, path) | constants, ""
    kernel = _emitted(path, verified, saved, saved.parameters)
    if isinstance(kernel, Infeasible):
        note = f"tuned for another machine, and not possible here: {kernel.reason}; it runs with the default schedule"
        kernel = _emitted(path, verified, saved, Parameters(saved.parameters.sizes))
    if isinstance(kernel, Infeasible):
        raise ShapeError(f"{path} cannot be compiled here: {kernel.reason}")
    if not note and kernel.source != saved.source:
        note = "this version generates other code for the same tiles and loops on this machine"
    if measured.get("outrun"):
        note = f"{note}; {_TORCH_WAS_FASTER}" if note else _TORCH_WAS_FASTER
    return SavedKernel(kernel, _load_checked(path, kernel, seed), signature, parameters, None, measured, note)


def _load_checked(path: str | Path, kernel: Kernel, seed: int) -> Loaded:
    """The compiled kernel, compared with its program; one for a CPU first runs in a worker process."""
    program, shapes = kernel.verified.candidate.family.program, dict(kernel.shapes)
    if kernel.backend == "cpu":
        with Worker(program, shapes, target("cpu"), CPU_LOADER, seed=seed, fill=False) as worker:
            _expect_passed(path, worker.check(OURS, kernel))
    try:
        compiled = load(kernel)
    except TargetUnavailable as error:
        raise TargetUnavailable(f"{path}: {error}") from None
    if kernel.backend != "cpu":
        _expect_passed(path, check_results(compiled, reference_cases(program, shapes, seed)))
    return compiled


def _expect_passed(path: str | Path, checked: CheckPassed | Failure) -> None:
    if isinstance(checked, Failure):
        what = "is wrong on it" if checked.code == "tune.wrong" else "does not run on it"
        raise TargetUnavailable(f"{path} was compiled for this machine and {what}: {checked.reason}")


def _check_signature(path: str | Path, signature: Signature | None, saved: Kernel) -> None:
    """Check that different arguments bind the program's inputs in their order, and that the code generator is known.

    Raises:
        JournalVersionError: they are not.
    """
    inputs = saved.verified.candidate.family.program.inputs
    if signature is not None:
        names, bound = [i.name for i in inputs], [b.name for b in signature.bindings]
        if names != bound:
            raise JournalVersionError(
                f"{path} is damaged: its signature binds {', '.join(bound) or 'nothing'}; its program has the inputs "
                f"{', '.join(names)}, in this order"
            )
        if len(set(signature.arguments)) < len(signature.arguments):
            raise JournalVersionError(
                f"{path} is damaged: its signature has the arguments {', '.join(signature.arguments)}; expected each "
                "once"
            )
        for binding, given in zip(signature.bindings, inputs, strict=True):
            if binding.bits and binding.bits not in FLOAT8_FORMATS | WORDS.keys():
                raise JournalVersionError(f"{path} is damaged: {binding.name} has the bits of an unknown dtype")
            if binding.permute and sorted(binding.permute) != list(range(given.type.rank)):
                raise JournalVersionError(
                    f"{path} is damaged: its signature reorders the dims of {binding.name} as {binding.permute}, which "
                    f"is no order of {given.type.rank} dims"
                )
        if any(entries_of(t.function) is None for t in signature.tables):
            raise JournalVersionError(f"{path} is damaged: its signature has a table that is none")
    if saved.backend not in _BACKENDS:
        raise JournalVersionError(
            f"{path} has a kernel by the code generator {saved.backend!r}; there are {', '.join(_BACKENDS)}"
        )


def _emitted(path: str | Path, verified: Verified, saved: Kernel, parameters: Parameters) -> Kernel | Infeasible:
    """The saved kernel with these parameters, by the code generator that made it."""
    shapes = dict(saved.shapes)
    try:
        if saved.backend == "cpu":
            return emit_cpu(verified, parameters, shapes)
        from prism_explore.codegen.triton.emit import emit_triton  # a kernel for a CPU does not import it

        return unmet_precondition(verified, parameters, shapes) or emit_triton(verified, parameters, shapes)
    except ShapeError as error:
        raise ShapeError(f"{path} cannot be compiled: {error}") from None


def _verify_again(path: str | Path, saved: Kernel, seed: int) -> Verified:
    graph = saved.verified.candidate.sgraph
    try:
        candidate = replace(saved.verified.candidate, conditions=graph.conditions())
        verdict = Prover(candidate.family.program).verify(candidate, Journal(), seed)
    except ShapeError as error:
        raise JournalVersionError(f"{path} is damaged: {error}") from None
    match verdict:
        case Verified() as verified:
            return verified
        case Refuted(_, counterexample):
            sizes = ", ".join(f"{s}={n}" for s, n in counterexample.sizes)
            raise ShapeError(f"{path} does not compute its program: refuted at {sizes}")
        case Unknown(_, limit):
            raise ShapeError(f"{path} could not be proved again: {limit}")


def _signature(plain: Any) -> Signature | None:
    if plain is None:
        return None
    name, arguments, bindings, form, call, constants, *_ = (*plain, None, None, None)
    tables = plain[6] if len(plain) > 6 else ()
    return Signature(
        str(name),
        tuple(map(str, arguments)),
        tuple(
            Binding(str(n), str(source), tuple(int(d) for d in permute), *map(str, bits))
            for n, source, permute, *bits in bindings
        ),
        None if form is None else ResultForm.from_plain(form),
        None if call is None else ArgumentForm.from_plain(call),
        tuple(str(row[0]) for row in constants or ()),
        tuple(KnownTable(str(source), str(function)) for source, function in tables),
    )


def _constants(plain: Any) -> dict[str, Any]:
    """The constant tensors of a saved signature; older files have none."""
    rows = plain[5] if plain is not None and len(plain) > 5 else ()
    return dict(map(constant_from_plain, rows))


def _parameters(module: Any, signature: Signature | None, path: str | Path) -> dict[str, Any]:
    names = signature.parameters if signature is not None else ()
    tensors = dict(module.state_dict()) if module is not None else {}
    if missing := [name for name in names if name not in tensors]:
        raise ShapeError(
            f"{path} was made from a module and uses its {', '.join(missing)}; "
            + ("pass it: load_kernel(path, module)" if module is None else "this module has none of that name")
        )
    return {name: tensors[name].detach() for name in names}
