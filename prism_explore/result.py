"""The kernel that a search offers: a callable with its evidence.

`Best` is what `sess.best()` returns. It holds three independent evidences (the proof, the refuter's
evaluations, the float comparison made before timing) and the figures of one side-by-side run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from prism_explore.codegen.load import Loaded
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.events.ledger import OURS
from prism_explore.floats import Assessment, explain
from prism_explore.frontend import Traced, bound
from prism_explore.ir.ranges import ANY, Held, Ranges, sizes_of
from prism_explore.ir.stages import Timed, Verified
from prism_explore.portable import PortableKernel
from prism_explore.targets import target
from prism_explore.tune.baselines import unbound
from prism_explore.tune.gpu import GpuKernel, on_gpu
from prism_explore.verify.certificate import derivation
from prism_explore.verify.equalities import Equalities, of_verified


@dataclass(frozen=True)
class Best:
    """The fastest checked kernel; call it with the arguments of the function it replaces."""

    timed: Timed
    verified: Verified
    """With the certificate's lemmas."""
    proved: tuple[Verified, ...]
    """Every proved candidate that nobody rejected; a GPU may want another than this machine."""
    rivals: tuple[BaselineMeasured, ...]
    """Measured in one run with this kernel, which is the row named `ours`."""
    traced: Traced | None
    kernel: Loaded
    machine: str
    """Where it was timed."""
    versions: tuple[tuple[str, str], ...]
    floats: Assessment | None = None
    """How its family fares in floating point, on inputs made to break it; a test apart from the proof."""
    ranges: Ranges = ANY
    """Of the program's symbols, as they were declared."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on torch tensors or NumPy arrays, with the torch code's gradient where one is recorded.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride is not what was tuned for, or a symbol is
                outside its range.
        """
        if self.ranges.bounds:
            given = bound(self.portable.signature, args, kwargs, self.portable.parameters)
            program = self.verified.candidate.family.program
            found = sizes_of((i.type for i in program.inputs), (tuple(getattr(x, "shape", ())) for x in given))
            self.ranges.check(found, program.name)
        return self.portable(*args, **kwargs)

    @property
    def holds(self) -> Held | None:
        """At which values of the ranges the kernel's own grid and loop sizes are legal, so that it may be built there.

        None where nothing has a range, or where there are too many values to count.
        """
        numbers = {**dict(self.timed.kernel.shapes), **self.timed.kernel.parameters.numbers}
        return self.ranges.held(self.verified.candidate.conditions, numbers) if self.ranges.bounds else None

    @cached_property
    def portable(self) -> PortableKernel:
        """The kernel apart from its search, which can be saved."""
        traced, timed = self.traced, self.timed
        measured: dict[str, Any] = {
            "time_s": timed.time_s,
            "p20_s": timed.p20_s,
            "p80_s": timed.p80_s,
            "samples": timed.samples,
            "error": timed.error,
            "machine": self.machine,
            "versions": dict(self.versions),
            "rivals": [[r.name, r.time_s, r.ratio, r.note] for r in self.rivals],
            "evidence": self.verified.evidence,
        }
        if traced is None:
            return PortableKernel(timed.kernel, self.kernel, measured=measured)
        code = unbound(traced)
        return PortableKernel(timed.kernel, self.kernel, traced.signature, traced.parameters, code, measured)

    def save(self, path: str | Path) -> Path:
        """Write the kernel to a file that `load_kernel` opens, proves again and compiles anywhere.

        The weights of a module are not in it.
        """
        return self.portable.save(path)

    @property
    def source(self) -> str:
        """The kernel for people: its tiles and loops."""
        return self.timed.kernel.source

    def on_gpu(self, name: str = "h100") -> GpuKernel | None:
        """A Triton kernel of a proved family for a GPU, with numbers that the model chose; it is not timed.

        It agreed with the reference in Triton's interpreter and was compiled ahead of time. None where no
        choice of numbers came that far.

        Raises:
            TargetUnavailable: no such GPU.
        """
        return on_gpu(self.proved, dict(self.timed.kernel.shapes), target(name))

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
        lines = [f"proved by {proof.method}", derivation(self.verified), "", "The refuter, block by block in float64"]
        lines += [
            f"  at {', '.join(f'{k}={v}' for k, v in t.sizes)}: relative error {t.relative_error:.1e}"
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
        return {r.name: r.ratio for r in self.rivals if r.name != OURS and r.samples}

    def check(self, n: int = 5, seed: int = 0) -> tuple[float, ...]:
        """Relative errors against the float64 meaning of the program on `n` fresh random inputs."""
        return self.portable.check(n, seed)

    def __repr__(self) -> str:
        us = 1e6
        lines = [
            f"{self.candidate} at {self.timed.kernel.parameters}",
            f"  {self.timed.time_s * us:,.0f} us measured, error {self.error:.1e}, "
            f"roofline {self.timed.floor_s * us:,.0f} us modelled",
            f"  {self.verified.proof.claim}",
            *([f"  with these numbers {held}"] if (held := self.holds) is not None else []),
            *([f"  {explain(self.floats)}"] if self.floats is not None else []),
        ]
        for r in self.rivals:
            ratio = f"  ours is {self.ratios[r.name]:.2f}x as fast" if r.name in self.ratios else ""
            note = f"  ({r.note})" if r.note else ""
            time = f"{r.time_s * us:>10,.0f} us" if r.samples else "  not timed"
            lines.append(f"  {r.name:<28} {time}{ratio}{note}")
        return "\n".join(lines)
