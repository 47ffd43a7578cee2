"""The evidence for a verdict: a claim and its proof, a counterexample, or the values that both sides share.

Input: the events of a search. Output: one `Evidence`, which the explorer shows as cards and the command line as text. A
saved search has the same evidence as a live one.

    print(sess.evidence("f1.c2"))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from prism_explore.events.kinds import CertificateReplayed, FloatsAssessed, VerdictReached, VerdictWord
from prism_explore.ir.axes import axes_of
from prism_explore.ir.ops import Input
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse
from prism_explore.support.caches import memoize
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.certificate.readable import Line, equation_chain
from prism_explore.verify.counterexample.case import Case, read_counterexample

VERDICT_SENTENCES: dict[VerdictWord, str] = {
    "proved": "Equal to the program for every size that meets the conditions, over the real numbers.",
    "refuted": "Not equal to the program: the counterexample shows it.",
    "unknown": "Neither proved nor refuted. It may still be equal.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A lemma of a certificate: the value of a tensor, and its derivation."""

    tensor: str
    """Such as k3.b7; `goal` for the two results."""
    equation: str
    axioms: tuple[str, ...]
    """Names of axioms; empty where the lemma holds by definition."""
    replayed: bool
    note: str = ""
    """Why it was not replayed; for a replayed one, whether its axioms may not be minimal."""
    lines: tuple[Line, ...] = ()
    """The derivation, from the operator's definition to the value; empty for one step."""

    @property
    def justification(self) -> str:
        """The justification as text."""
        if not self.replayed:
            return f"not replayed: {self.note}"
        return f"by {', '.join(self.axioms) or 'definition'}{f' ({self.note})' if self.note else ''}"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of evidence."""

    title: str
    kind: str
    """The verdict that it supports; empty for none."""
    sentence: str
    rows: tuple[tuple[str, str], ...] = ()
    remark: str = ""
    steps: tuple[Step, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    """Texts to copy: (label, text)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All evidence for one candidate's verdict; prints as text."""

    candidate: str
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "\n\n".join("\n".join(_text(part)) for part in self.parts)

    __repr__ = __str__


def evidence(
    verdict: VerdictReached,
    program: TensorProgram,
    sgraph: str,
    certificate: CertificateReplayed | None = None,
    floats: FloatsAssessed | None = None,
    where: str = "sess",
) -> Evidence:
    """Collect the evidence for a verdict.

    Args:
        verdict: the event of the verdict.
        program: the program that the candidate was compared with.
        sgraph: the candidate as text.
        certificate: the replay of the proof in egglog, if there is one.
        floats: the floating-point assessment of the candidate's family, if there is one.
        where: the Python name of the session that has the candidate; empty for none.
    """
    parts: list[Part] = []
    match verdict.verdict:
        case "proved":
            parts += [_claim_part(verdict), _refuter_part(verdict), certificate_part(certificate)]
        case "refuted":
            parts.append(_refuted(verdict, program, sgraph, where))
        case "unknown":
            parts += _unknown(verdict)
        case _:
            assert_never(verdict.verdict)
    if floats is not None:
        parts.append(floats_part(floats))
    return Evidence(verdict.candidate, tuple(parts))


# ---------------------------------------------------------------- proved
def _claim_part(verdict: VerdictReached) -> Part:
    rows = [("method", verdict.method), *(("needs", _need(c)) for c in verdict.conditions)]
    return Part(
        f"{verdict.candidate} proved", "proved", _sentence(verdict.detail), tuple(rows), VERDICT_SENTENCES["proved"]
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _need(condition: str) -> str:
    """The text of a condition: an expression on sizes, or a sentence on data."""
    return condition if " " in condition.replace(" / ", "/").replace(" * ", "*") else f"{condition} a positive integer"


def _refuter_part(verdict: VerdictReached) -> Part:
    rows = [(f"at {sizes}", f"relative error {error:.1e} at most, float64") for sizes, error in verdict.trials]
    rows += [(f"at {sizes}", f"exact; misses an error with probability {p:.1e}") for sizes, p in verdict.exact]
    remark = "The refuter runs the block program on random numbers, independently of the prover. It proves nothing."
    return Part("passed the refuter", "", verdict.evidence or "No trial was recorded.", tuple(rows), remark)


def certificate_part(certificate: CertificateReplayed | None) -> Part:
    """The certificate: the number of replayed lemmas, and each lemma."""
    if certificate is None:
        none = "No certificate has been made: the proof rests on the normal form and on the refuter's trials."
        return Part("certificate", "", none)
    steps = tuple(steps_of(certificate))
    done = sum(step.replayed for step in steps)
    total = len(steps)
    text = f"egglog replayed {done} of {total} lemmas from axioms alone"
    checked = ", and a checker that shares no code with the prover accepts them" if certificate.statements else ""
    used = {axiom for step in steps for axiom in step.axioms}
    rows = tuple((a.name, a.equation) for a in AXIOMS if a.name in used)
    rest = "" if done == total else "Where a lemma was not replayed, the proof rests on the normal form alone."
    return Part("certificate", "proved" if done == total else "", f"{text}{checked}.", rows, rest, steps)


def steps_of(certificate: CertificateReplayed) -> Iterator[Step]:
    """The lemmas of a certificate, in the order of the graphs, each with its derivation."""
    for number, (tensor, operation, value, axioms, replayed, note) in enumerate(certificate.lemmas):
        statement = certificate.statements[number] if number < len(certificate.statements) else ""
        lines = _chain(statement) if replayed and len(axioms) > 1 and statement else ()
        yield Step(tensor, f"{operation} = {value}", axioms, replayed, note, lines if len(lines) > 2 else ())


@memoize(512)
def _chain(statement: str) -> tuple[Line, ...]:
    """Cached, because the explorer redraws often."""
    return equation_chain(statement)


# ---------------------------------------------------------------- refuted
@memoize(512)
def _refuted(verdict: VerdictReached, program: TensorProgram, sgraph: str, where: str) -> Part:
    """Cached, because a report shows the same verdict at many moments."""
    title = f"{verdict.candidate} refuted"
    if not verdict.witness:
        return Part(title, "refuted", _sentence(verdict.detail), remark=VERDICT_SENTENCES["refuted"])
    counterexample = read_counterexample(verdict.witness)
    low, high = counterexample.input_range
    exact = counterexample.arithmetic == "prime fields"
    drawn = "residues, exact" if exact else f"uniform from {low:g} to {high:g}, {counterexample.arithmetic}"
    rows = (
        ("sizes", ", ".join(f"{s}={n}" for s, n in counterexample.sizes)),
        *(("input", shape) for shape in _shapes(program, dict(counterexample.sizes))),
        ("inputs", f"{drawn}, seed {counterexample.seed}"),
        ("element", f"[{', '.join(map(str, counterexample.index))}] of the result"),
        ("program", f"{counterexample.expected:.17g}"),
        ("candidate", f"{counterexample.found:.17g}"),
        ("off by", f"{counterexample.relative_error:.3g} of the largest value"),
    )
    case = Case(verdict.candidate, None, program, parse(sgraph), counterexample)
    again = (("Python that runs it again", f"{where}.replay({verdict.candidate!r})"),) if where else ()
    copies = (*again, ("the case, for px.replay_counterexample(text)", str(case)))
    return Part(title, "refuted", _sentence(verdict.detail), rows, VERDICT_SENTENCES["refuted"], copies=copies)


def _shapes(program: TensorProgram, sizes: dict[str, int]) -> Iterator[str]:
    """The inputs with their shapes at the sizes of a counterexample."""
    axes = axes_of(program.graph)
    for n, node in enumerate(program.graph.nodes):
        if isinstance(node.op, Input):
            dims = (1 if axis is None else sizes.get(axis, axis) for axis in axes.of[n])
            yield f"{node.op.name}[{', '.join(map(str, dims))}]"


# ---------------------------------------------------------------- unknown
def _unknown(verdict: VerdictReached) -> Iterator[Part]:
    limit = _sentence(verdict.detail)
    if verdict.case:
        yield Part(
            f"{verdict.candidate}: prover and refuter disagree",
            "unknown",
            limit,
            remark="One of the two is wrong, which is a bug. The kernel is not offered; please report the case.",
            copies=(("the case, for px.replay_counterexample(text)", verdict.case),),
        )
    else:
        spent = (("budget spent", verdict.budget),) if verdict.budget else ()
        yield Part(f"{verdict.candidate} unknown", "unknown", limit, spent, VERDICT_SENTENCES["unknown"])
    if verdict.shared:
        rows = tuple((", ".join(t.removeprefix("program.") for t in members), term) for term, members in verdict.shared)
        yield Part("the last values that both sides share", "", "Nothing that is computed from one is shared.", rows)
    if verdict.apart:
        text = "The first tensors without an equal one on the other side."
        yield Part(
            "the first differences", "", text, tuple((t.removeprefix("program."), form) for t, form in verdict.apart)
        )
    if verdict.nearest:
        sides = ("the program's", "the candidate's")
        rows = tuple(zip(sides, verdict.nearest, strict=False))
        yield Part("the two normal forms that differ", "", "Each side's normal form.", rows)


# ---------------------------------------------------------------- floats
def floats_part(found: FloatsAssessed) -> Part:
    """The floating-point assessment of a family."""
    kind = {"safe": "", "unsafe": "refuted", "unassessed": "unknown"}[found.outcome]
    rows = (*(("because", r) for r in found.reasons), *(("evidence", e) for e in found.evidence))
    remark = f"A test of {found.candidate} on extreme inputs, in addition to the proof, which is over the real numbers."
    return Part(f"{found.family} {found.outcome} in {found.dtype}", kind, _sentence(found.detail), rows, remark)


# ---------------------------------------------------------------- as text
def _text(part: Part) -> Iterator[str]:
    yield part.title
    yield f"  {part.sentence}"
    width = max((len(label) for label, _ in part.rows), default=0)
    width = min(width, 34)
    yield from (f"  {label:{width}}  {value}" for label, value in part.rows)
    for step in part.steps:
        yield f"  {step.tensor}: {step.equation}"
        if step.lines:
            yield f"        {step.lines[0].expression}"
            for line in step.lines[1:]:
                yield f"      = {line.expression}"
                yield f"          by {', '.join(line.axioms)}"
        else:
            yield f"      {step.justification}"
    if part.remark:
        yield f"  ({part.remark})"
    for what, text in part.copies:
        yield f"  {what}:"
        yield from (f"    {line}" for line in text.splitlines())
