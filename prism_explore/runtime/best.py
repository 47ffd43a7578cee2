"""What a search offers: a callable with its evidence.

`Best` is what `sess.best()` returns. It holds three independent evidences for a kernel (the proof, the refuter's
evaluations, the float comparison made before timing) and the figures of one side-by-side run. A call runs what was
fastest in that run: the kernel, or the torch code that it was made from, see `events/fastest.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_explore.codegen.load import Loaded
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS, FasterBaseline, find_faster_baseline
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.floats import Assessment, explain
from prism_explore.frontend import LibraryCall, Traced, bind_inputs, single_result
from prism_explore.ir.symbol_ranges import UNBOUNDED, Ranges, SatisfiedValues, sizes_of
from prism_explore.ir.to_networkx import to_networkx
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.targets import target
from prism_explore.tune.gpu_preview import GpuKernel, write_gpu_kernel
from prism_explore.tune.runner.baseline_table import AUTOTUNED
from prism_explore.tune.runner.torch_code import on_program_inputs, torch_compiled
from prism_explore.verify.certificate.certify import derivation
from prism_explore.verify.normal_form.equalities import Equalities, of_verified

if TYPE_CHECKING:
    from networkx import MultiDiGraph

_NOT_CALLED = "faster, and a call does not run it: it is tuned and packs its weights beforehand"


@dataclass(frozen=True)
class Best:
    """The fastest checked kernel, or torch where that was faster; call it with the arguments of the function.

    `runs` says which of the two a call runs, and printing it says why. `kernel` is the kernel in any case; `source`,
    `proof`, `error` and `check` are about it.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> sess = px.Session(program, target="cpu", at={"b": 4}, budget=px.Budget(trials=1, seconds=1.0))
        >>> best = sess.best()
        >>> best.candidate
        'f1.c1'
    """

    timed: Timed
    """The kernel and its time."""
    verified: Verified
    """With the certificate's lemmas."""
    proved: tuple[Verified, ...]
    """Every proved candidate that nobody rejected; a GPU may want another than this machine."""
    baselines: tuple[BaselineMeasured, ...]
    """Measured in one run with this kernel, which is the row named `ours`."""
    traced: Traced | None
    """The torch code; None where the program was not traced from torch."""
    compiled: Loaded
    """The kernel on the program's inputs, in their order."""
    machine: str
    """Where it was timed."""
    versions: tuple[tuple[str, str], ...]
    """Per package its version."""
    floats: Assessment | None = None
    """How its family fares in floating point, on inputs made to break it; a test apart from the proof."""
    ranges: Ranges = UNBOUNDED
    """Of the program's symbols, as they were declared."""
    library_call: LibraryCall | None = None
    """The library call that it was raced against, if one was given or found."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on torch tensors or NumPy arrays, with the torch code's gradient where one is recorded.

        Arrays always go to the kernel, for the torch code takes tensors. Both take the same shapes, for at others
        nobody knows which is faster.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride is not what was tuned for, or a symbol is
                outside its range.
        """
        traced, code = self.traced, self._faster_torch
        if code is None and not self.ranges.bounds:
            return self.kernel(*args, **kwargs)
        given = bind_inputs(self.kernel.signature, args, kwargs, self.kernel.parameters)
        if self.ranges.bounds:
            program = self.verified.candidate.family.program
            found = sizes_of((i.type for i in program.inputs), (tuple(getattr(x, "shape", ())) for x in given))
            self.ranges.check(found, program.name)
        if traced is None or code is None or any(isinstance(x, np.ndarray) for x in given):
            return self.kernel(*args, **kwargs)
        self.compiled.check(*given)
        return single_result(code(*traced.signature.in_order(args, kwargs)))

    @property
    def faster_baseline(self) -> FasterBaseline | None:
        """Who was faster than the kernel in the side-by-side run, beyond its noise, and by how much.

        Of those whose code is here; where no code is, of all.
        """
        return find_faster_baseline(self.baselines, available=self._torch_functions) or find_faster_baseline(
            self.baselines
        )

    @property
    def implementation(self) -> str:
        """What a call with tensors runs: the kernel's id, `torch eager`, `torch.compile` or `torch library call`."""
        by = self.faster_baseline
        return by.baseline.name if by is not None and by.baseline.name in self._torch_functions else self.candidate

    @property
    def why(self) -> str:
        """Why a call does not run the kernel, or why it does though torch was faster; empty where nothing was."""
        by = self.faster_baseline
        match self.implementation:
            case _ if by is None:
                return ""
            case self.candidate:
                return f"{by}; a call runs the kernel, for that code is not here (Session.load takes it)"
            case name:
                spelled = self.library_call.call_text if self.library_call is not None else ""
                library = f", {spelled}, which is proved equal" if spelled else ", which was compared, not proved"
                more = {COMPILED: ", compiled at its first call", LIBRARY: library}
                return f"{by}; a call runs {name}{more.get(name, '')}, and best.kernel is the kernel"

    @property
    def _torch_functions(self) -> dict[str, Callable[..., Any]]:
        """Torch's ways to compute it, as far as their code is here."""
        return torch_functions(self.traced, self.library_call)

    @cached_property
    def _faster_torch(self) -> Callable[..., Any] | None:
        """The code in the way that was faster; None where a call runs the kernel."""
        return torch_function(self.traced, self.library_call, self.implementation)

    @property
    def legal_values(self) -> SatisfiedValues | None:
        """At which values of the ranges the kernel's own grid and loop sizes are legal, so that it may be built there.

        None where nothing has a range, or where there are too many values to count.
        """
        numbers = {**dict(self.timed.kernel.shapes), **self.timed.kernel.parameters.numbers}
        return self.ranges.evaluate(self.verified.candidate.conditions, numbers) if self.ranges.bounds else None

    def graph(self) -> MultiDiGraph[str]:
        """The kernel's graph as a `networkx.MultiDiGraph`; its attributes are listed in `ir.to_networkx`.

        Returns:
            The graph.
        """
        return to_networkx(self.verified.candidate.sgraph)

    @cached_property
    def kernel(self) -> SavedKernel:
        """The kernel apart from its search, called like the function whatever was faster; it can be saved."""
        traced, timed = self.traced, self.timed
        measured: dict[str, Any] = {
            "time_s": timed.time_s,
            "p20_s": timed.p20_s,
            "p80_s": timed.p80_s,
            "samples": timed.samples,
            "error": timed.error,
            "machine": self.machine,
            "versions": dict(self.versions),
            "rivals": [[r.name, r.time_s, r.ratio, r.note] for r in self.baselines],
            "outrun": str(self.faster_baseline or ""),
            "evidence": self.verified.evidence,
        }
        if traced is None:
            return SavedKernel(timed.kernel, self.compiled, measured=measured)
        code = on_program_inputs(traced)
        return SavedKernel(timed.kernel, self.compiled, traced.signature, traced.parameters, code, measured)

    def save(self, path: str | Path) -> Path:
        """Write the kernel to a file that `load_kernel` opens, proves again and compiles anywhere.

        The weights of a module are not in it, and torch code is not: where torch was faster, the file says so, and a
        warning does now.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        if self.faster_baseline is not None:
            warnings.warn(f"the kernel is saved, without torch code: {self.faster_baseline}", stacklevel=2)
        return self.kernel.save(path)

    @property
    def source(self) -> str:
        """The kernel for people: its tiles and loops; headed by why, where a call does not run it."""
        return f"{self._heading}{self.timed.kernel.source}"

    @property
    def _heading(self) -> str:
        return f"# {self.why}\n" if self.why else ""

    def on_gpu(self, name: str = "h100") -> GpuKernel | None:
        """A Triton kernel of a proved family for a GPU, with numbers that the model chose; it is not timed.

        It agreed with the reference in Triton's interpreter and was compiled ahead of time. None where no
        choice of numbers came that far.

        Args:
            name: the name of a GPU, such as `h100`.

        Returns:
            The kernel, or None.

        Raises:
            TargetUnavailable: no such GPU, or Triton does not compile for it.
        """
        return write_gpu_kernel(self.proved, dict(self.timed.kernel.shapes), target(name))

    @property
    def triton(self) -> str:
        """Triton source for an H100, see `on_gpu`; a comment with the reason where there is none."""
        made = self.on_gpu()
        return made.source if made is not None else "# no choice of numbers gives a kernel that compiles"

    @property
    def candidate(self) -> str:
        """Which candidate it is, such as f1.c2."""
        return self.verified.candidate.id

    @property
    def error(self) -> float:
        """Largest deviation from the float64 reference, over the reference's largest magnitude."""
        return self.timed.error

    @property
    def proof(self) -> str:
        """The claim that was proved, how, every step with its axioms, and what the refuter tried in vain."""
        proof = self.verified.proof
        lines = [
            f"{self._heading}proved by {proof.method}",
            derivation(self.verified),
            "",
            "The refuter, block by block in float64",
        ]
        lines += [
            f"  at {', '.join(f'{k}={v}' for k, v in t.sizes)}: relative error {t.relative_error:.1e} at most"
            for t in self.verified.trials
        ]
        return "\n".join(lines)

    @property
    def equalities(self) -> Equalities:
        """What is equal to what in kernel and program, and the e-graph of every lemma, step by step."""
        return of_verified(self.verified)

    @property
    def ratios(self) -> dict[str, float]:
        """How many times faster than each rival that was timed: medians over the rounds of one run.

        The roofline's is at most about 1, because no kernel beats it but by noise.
        """
        return {r.name: r.ratio for r in self.baselines if r.name != OURS and r.samples}

    def check(self, n: int = 5, seed: int = 0) -> tuple[float, ...]:
        """Relative errors of the kernel against the program in float64, on random inputs.

        Args:
            n: the number of trials, each on new inputs.
            seed: of the inputs.

        Returns:
            Per trial, the largest deviation over the largest magnitude of the reference.
        """
        return self.kernel.check(n, seed)

    def __repr__(self) -> str:
        us = 1e6
        lines = [
            *([self.why] if self.why else []),
            f"{self.candidate} at {self.timed.kernel.parameters}",
            f"  {self.timed.time_s * us:,.0f} us measured, error {self.error:.1e}, "
            f"roofline {self.timed.floor_s * us:,.0f} us modelled",
            f"  {self.verified.proof.claim}",
            *([f"  with these numbers {held}"] if (held := self.legal_values) is not None else []),
            *([f"  {explain(self.floats)}"] if self.floats is not None else []),
        ]
        for r in self.baselines:
            ratio = f"  ours is {self.ratios[r.name]:.2f}x as fast" if r.name in self.ratios else ""
            notes = [n for n in (r.note, _NOT_CALLED if r.name == AUTOTUNED and 0 < r.ratio_p75 < 1 else "") if n]
            note = f"  ({'; '.join(notes)})" if notes else ""
            time = f"{r.time_s * us:>10,.0f} us" if r.samples else "  not timed"
            lines.append(f"  {r.name:<28} {time}{ratio}{note}")
        return "\n".join(lines)


def torch_functions(traced: Traced | None, library_call: LibraryCall | None) -> dict[str, Callable[..., Any]]:
    """Torch's ways to compute a program that a call can run, by the names of rivals, as far as their code is here."""
    if traced is None:
        return {}
    own = {EAGER: traced.reference, COMPILED: traced.reference}
    return own if library_call is None else {**own, LIBRARY: library_call.traced.reference}


def torch_function(traced: Traced | None, library_call: LibraryCall | None, name: str) -> Callable[..., Any] | None:
    """The code of one of these ways, by its rival's name, ready to be called; None where it is not here."""
    code = torch_functions(traced, library_call).get(name)
    return torch_compiled(code) if code is not None and name == COMPILED else code
