"""The best kernel of a search with its evidence, as a callable; `Session.best` returns it.

There are three independent kinds of evidence that the kernel is correct: the proof, the trials of the refuter, and the
comparison with the reference before timing. A call runs the kernel, or torch where that was faster in the final race;
see `events/fastest.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_explore.codegen.load import Loaded
from prism_explore.errors import PositionError
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS, FasterBaseline, find_faster_baseline
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.floats import Assessment, explain
from prism_explore.frontend import LibraryCall, Traced, bind_inputs
from prism_explore.ir.symbol_ranges import UNBOUNDED, Ranges, SatisfiedValues, sizes_of
from prism_explore.ir.to_networkx import to_networkx
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.runtime.masked_rows import EXCLUDED
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.targets import target
from prism_explore.tune.runner.baseline_table import AUTOTUNED
from prism_explore.tune.runner.torch_code import on_program_inputs, torch_compiled
from prism_explore.verify.certificate.certify import derivation
from prism_explore.verify.normal_form.equalities import Equalities, of_verified

if TYPE_CHECKING:
    from networkx import MultiDiGraph

    from prism_explore.tune.gpu_preview import GpuKernel

_AUTOTUNED_NOTE = "faster, but a call does not run it: it is tuned and packs its weights beforehand"


@dataclass(frozen=True)
class Best:
    """The fastest checked kernel, or torch where that was faster; call it with the arguments of the function.

    `implementation` names what a call runs, and `why` states the reason where that is torch. `kernel` is always the
    kernel; `source`, `proof`, `error` and `check` refer to it.

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
    """The proof of the kernel's candidate, with its certificate."""
    candidates: Callable[[], tuple[Verified, ...]]
    """Returns `proved`; after an answer from the cache it repeats the search first."""
    baselines: tuple[BaselineMeasured, ...]
    """The rows of the final race; the kernel is the row named `ours`."""
    traced: Traced | None
    """The torch code; None where the program was not traced from torch."""
    compiled: Loaded
    """The compiled kernel; it takes the inputs of the program in their order."""
    machine: str
    """The name of the target on which it was timed."""
    versions: tuple[tuple[str, str], ...]
    """Package names and versions."""
    assess: Callable[[], Assessment]
    """Assesses its family in floating point."""
    ranges: Ranges = UNBOUNDED
    """The declared ranges of the program's symbols."""
    library_call: LibraryCall | None = None
    """The library call among the baselines, where it was faster than the kernel in the final race."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on torch tensors or NumPy arrays; gradients are those of the torch code.

        NumPy arrays always go to the kernel, because the torch code takes tensors. Torch code, too, is called at the
        tuned shapes only, because it is not known which is faster at others.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride differs from those of the tuned kernel, or a
                symbol is outside its range.
        """
        traced, code = self.traced, self._faster_torch
        if code is None and not self.ranges.bounds:
            return self.kernel(*args, **kwargs)
        inputs = bind_inputs(self.kernel.signature, args, kwargs, self.kernel.parameters)
        if self.ranges.bounds:
            program = self.verified.candidate.family.program
            sizes = sizes_of((i.type for i in program.inputs), (tuple(getattr(x, "shape", ())) for x in inputs))
            self.ranges.check(sizes, program.name)
        if traced is None or code is None or any(isinstance(x, np.ndarray) for x in inputs):
            return self.kernel(*args, **kwargs)
        with suppress(PositionError):  # torch takes negative positions, and names others
            self.compiled.check(*inputs)
        return code(*traced.signature.in_order(args, kwargs))

    @cached_property
    def proved(self) -> tuple[Verified, ...]:
        """All proved candidates that the user did not reject; on a GPU another one may be the fastest."""
        return self.candidates()

    @cached_property
    def floats(self) -> Assessment:
        """The assessment of its family in floating point, with hostile inputs; the proof is over the real numbers."""
        return self.assess()

    @property
    def faster_baseline(self) -> FasterBaseline | None:
        """The fastest torch baseline that beat the kernel in the final race by more than the noise; None if none did.

        Baselines whose code is available come first.
        """
        return find_faster_baseline(self.baselines, available=self._torch_functions) or find_faster_baseline(
            self.baselines
        )

    @property
    def implementation(self) -> str:
        """What a call with tensors runs: the kernel's id, `torch eager`, `torch.compile` or `torch library call`."""
        faster = self.faster_baseline
        name = "" if faster is None else faster.baseline.name
        return name if name in self._torch_functions else self.candidate

    @property
    def why(self) -> str:
        """The reason why a call runs torch, or runs the kernel although torch was faster; empty if torch was not."""
        faster = self.faster_baseline
        match self.implementation:
            case _ if faster is None:
                return ""
            case self.candidate:
                return f"{faster}; a call runs the kernel, because the torch code is missing (pass it to Session.load)"
            case name:
                text = self.library_call.call_text if self.library_call is not None else ""
                library = f", {text}, which is proved equal" if text else ", which was compared, not proved"
                details = {COMPILED: ", compiled at its first call", LIBRARY: library}
                return f"{faster}; a call runs {name}{details.get(name, '')}, and best.kernel is the kernel"

    @property
    def _torch_functions(self) -> dict[str, Callable[..., Any]]:
        """Per torch baseline, its code, where that is available."""
        return torch_functions(self.traced, self.library_call)

    @cached_property
    def _faster_torch(self) -> Callable[..., Any] | None:
        """The torch function that a call runs; None where a call runs the kernel."""
        return torch_function(self.traced, self.library_call, self.implementation)

    @property
    def legal_values(self) -> SatisfiedValues | None:
        """The values of the ranges for which the kernel's grid and loop sizes are legal.

        None where no symbol has a range, or where there are too many values to count.
        """
        sizes = {**dict(self.timed.kernel.shapes), **self.timed.kernel.parameters.numbers}
        return self.ranges.evaluate(self.verified.candidate.conditions, sizes) if self.ranges.bounds else None

    def graph(self) -> MultiDiGraph[str]:
        """The kernel's graph as a `networkx.MultiDiGraph`; its attributes are listed in `ir.to_networkx`.

        Returns:
            The graph.
        """
        return to_networkx(self.verified.candidate.sgraph)

    @cached_property
    def kernel(self) -> SavedKernel:
        """The kernel without its search; it is called like the function, and can be saved."""
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
        """Write the kernel to a file that `load_kernel` opens, proves again and compiles for its machine.

        The file contains neither the weights of a module nor torch code. Where torch was faster, a warning states that,
        and the file does.

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
        """The kernel as readable text, its tiles and loops; the first line is `why` where that is not empty."""
        return f"{self._heading}{self.timed.kernel.source}"

    @property
    def _heading(self) -> str:
        return f"# {self.why}\n" if self.why else ""

    def on_gpu(self, name: str = "h100") -> GpuKernel | None:
        """A Triton kernel of a proved family for a GPU, with sizes that the cost model chose; it is not timed.

        It agreed with the reference in Triton's interpreter and was compiled ahead of time. None where no choice of
        sizes gave such a kernel.

        Args:
            name: the name of a GPU, such as `h100`.

        Returns:
            The kernel, or None.

        Raises:
            TargetUnavailable: no such GPU, or Triton does not compile for it.
        """
        from prism_explore.tune.gpu_preview import write_gpu_kernel  # a search on a CPU does not import it

        return write_gpu_kernel(self.proved, dict(self.timed.kernel.shapes), target(name))

    @property
    def triton(self) -> str:
        """Triton source for an H100, see `on_gpu`; a comment with the reason where there is none."""
        kernel = self.on_gpu()
        return kernel.source if kernel is not None else "# no choice of sizes gives a kernel that compiles"

    @property
    def candidate(self) -> str:
        """The id of its candidate, such as f1.c2."""
        return self.verified.candidate.id

    @property
    def error(self) -> float:
        """The largest deviation from the float64 reference, relative to the reference's largest magnitude."""
        return self.timed.error

    @property
    def proof(self) -> str:
        """The statement that was proved, the method, every step with its axioms, and the trials of the refuter."""
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
        """The equal tensors of kernel and program, and the e-graph of every lemma, step by step."""
        return of_verified(self.verified)

    @property
    def ratios(self) -> dict[str, float]:
        """The speed-up over each timed baseline: the median over the rounds of the final race.

        That of the roofline is about 1 at most, because no kernel can beat it except by noise.
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
        legal = self.legal_values
        lines = [
            *([self.why] if self.why else []),
            f"{self.candidate} at {self.timed.kernel.parameters}",
            f"  {self.timed.time_s * us:,.0f} us measured, error {self.error:.1e}, "
            f"roofline {self.timed.floor_s * us:,.0f} us modelled",
            f"  {self.verified.proof.claim}",
            *([f"  {EXCLUDED}; a call with one runs torch"] if self.kernel.masked_rows.has_arguments else []),
            *([f"  with these sizes {legal}"] if legal is not None else []),
            f"  {explain(self.floats)}",
        ]
        for r in self.baselines:
            ratio = f"  ours is {self.ratios[r.name]:.2f}x as fast" if r.name in self.ratios else ""
            notes = [n for n in (r.note, _AUTOTUNED_NOTE if r.name == AUTOTUNED and 0 < r.ratio_p75 < 1 else "") if n]
            note = f"  ({'; '.join(notes)})" if notes else ""
            time = f"{r.time_s * us:>10,.0f} us" if r.samples else "  not timed"
            lines.append(f"  {r.name:<28} {time}{ratio}{note}")
        return "\n".join(lines)


def torch_functions(traced: Traced | None, library_call: LibraryCall | None) -> dict[str, Callable[..., Any]]:
    """Per torch baseline that a call can run, its code, where that is available."""
    if traced is None:
        return {}
    own = {EAGER: traced.reference, COMPILED: traced.reference}
    return own if library_call is None else {**own, LIBRARY: library_call.in_place_of(traced)}


def torch_function(traced: Traced | None, library_call: LibraryCall | None, name: str) -> Callable[..., Any] | None:
    """The code of a torch baseline by its name, ready to be called; None where it is not available."""
    code = torch_functions(traced, library_call).get(name)
    return torch_compiled(code) if code is not None and name == COMPILED else code
