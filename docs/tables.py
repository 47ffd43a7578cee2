"""The engine's tables as Markdown: the pages of the site print them, so that no page repeats a row by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from prism_explore.course.chapters import EXERCISES
from prism_explore.floats.hostile_inputs import HOSTILE
from prism_explore.floats.static_rules import FINDINGS
from prism_explore.frontend.aten.table import ROWS as ATEN_ROWS
from prism_explore.frontend.workloads import WORKLOADS
from prism_explore.generate.canonical_order import DEFINITIONS
from prism_explore.generate.pruning.rules import RULES
from prism_explore.ir.elementwise import BINARY, COMPOSITE, REAL, UNARY, ElementwiseFunction, Interval
from prism_explore.targets.cpus import ROWS as CPU_ROWS
from prism_explore.targets.gpus import ROWS as GPU_ROWS
from prism_explore.verify.axioms import CONDITIONS
from prism_explore.verify.axioms.arithmetic import NUMBERS, POWERS, RING
from prism_explore.verify.axioms.functions import FUNCTIONS
from prism_explore.verify.axioms.indicators import BITS
from prism_explore.verify.axioms.maxima import LOOPS, MAXIMA
from prism_explore.verify.axioms.sums import SUMS

ROOT = Path(__file__).resolve().parent.parent
CHAPTER_ROW = re.compile(r"^\| \[(\d\d .+?)\]\((notebooks/.+?)\.ipynb\) \| (.+?) \| (\d+) \|$", re.MULTILINE)
"""A chapter in the table of the front page: number and title, path, what one will be able to do, minutes."""
LONGEST_SAMPLE = 120
"""Characters of a wrong answer that the table of mistakes shows."""
_AXIOMS = {
    "Numbers": NUMBERS,
    "Sums and products": RING,
    "Sums over an axis": SUMS,
    "Powers": POWERS,
    "Functions": FUNCTIONS,
    "Indicators": BITS,
    "Maxima": MAXIMA,
    "Loops": LOOPS,
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    Args:
        head: the titles of the columns.
        rows: Markdown of the cells, row by row.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """A text as inline code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def plain(text: str) -> str:
    """A text in which no character is Markdown."""
    for character in "\\*_<[`$~{":
        text = text.replace(character, "\\" + character)
    return text


_RESTRICTS = {
    "space": "a limit of the stated space",
    "maps": "no choice of maps makes the kernel legal",
    "": "the graph is in the space, but cannot become the program",
}


def pruning_rules() -> str:
    """Each pruning rule as a section, in the order in which they are checked."""
    parts = []
    for rule in RULES:
        facts = {
            "Soundness": rule.soundness,
            "Source": plain(rule.source),
            "Would reopen if": plain(rule.would_reopen_if),
            "Kind": _RESTRICTS[rule.restricts],
        }
        if rule.code:
            facts["Reported as"] = code(rule.code)
        listed = "\n".join(f"* **{label}**: {text.rstrip('.')}." for label, text in facts.items())
        parts.append(f"## {code(rule.name)}\n\n{plain(rule.sentence)}\n\n{listed}")
    return "\n\n".join(parts)


def definitions() -> str:
    """The definitions that the rule `dup.canonical` applies, as a table."""
    rows = (f"| {code(row.name)} | {', '.join(map(code, row.equations))} |" for row in DEFINITIONS)
    return "\n".join(("| name | definition |", "|---|---|", *rows))


def axioms() -> str:
    """The axioms of certificates by topic, and the rows that derive their side conditions."""
    parts = []
    for topic, rows in _AXIOMS.items():
        cells = (
            (
                f"**{plain(row.name)}**",
                plain(row.equation),
                "<br>".join(map(code, row.conditions)) or "none",
                plain(f"{row.argument} Source: {row.source}."),
            )
            for row in rows
        )
        parts.append(f"## {topic}\n\n{table(('axiom', 'equation', 'side conditions', 'why it is sound'), cells)}")
    derived = (
        (f"**{plain(row.name)}**", "<br>".join(map(code, row.premises)), code(row.conclusion), plain(row.sentence))
        for row in CONDITIONS
    )
    parts.append(f"## Side conditions\n\n{table(('row', 'from', 'follows', 'because'), derived)}")
    return "\n\n".join(parts)


def float_findings() -> str:
    """The static rules of float safety."""
    rows = ((plain(r.rule), plain(r.sentence), "yes" if r.is_decisive else "no", plain(r.source)) for r in FINDINGS)
    return table(("rule", "what it finds", "never called safe", "source"), rows)


def hostile_inputs() -> str:
    """The inputs with which float safety is tested."""
    return table(("input", "what it is"), ((plain(row.name), plain(row.sentence)) for row in HOSTILE))


def elementwise() -> str:
    """The elementwise functions of one argument, of two arguments, and those that are replaced by a formula."""
    unary = (
        (code(f.name), code(f.torch_name), code(f.definition) if f.definition else "none", f.lowering, _properties(f))
        for f in UNARY.values()
    )
    binary = (
        (code(f.name), code(f.torch.format("x", "y")), "yes" if f.is_commutative else "no") for f in BINARY.values()
    )
    composite = ((code(f.name), code(f.formula), _defaults(f.parameters)) for f in COMPOSITE.values())
    return "\n\n".join(
        (
            f"## Of one argument\n\n{table(('name', 'in torch', 'definition', 'in proofs', 'properties'), unary)}",
            f"## Of two arguments\n\n{table(('name', 'in torch', 'commutative'), binary)}",
            f"## Replaced by a formula\n\n{table(('name in ATen', 'formula', 'parameters'), composite)}",
        )
    )


def _properties(function: ElementwiseFunction) -> str:
    found = [function.parity, function.monotone, "zero at zero" if function.zero_at_zero else ""]
    if function.range != REAL:
        found.append(f"values in {_interval(function.range)}")
    if function.domain != REAL:
        found.append(f"arguments in {_interval(function.domain)}")
    return plain(", ".join(filter(None, found))) or "none"


def _interval(interval: Interval) -> str:
    left, right = "[" if interval.has_low else "(", "]" if interval.has_high else ")"
    return f"{left}{interval.low:g}, {interval.high:g}{right}"


def _defaults(parameters: Mapping[str, object]) -> str:
    return ", ".join(code(f"{name} = {value}") for name, value in parameters.items()) or "none"


def aten_operators() -> str:
    """The ATen operators with a row of their own."""
    return table(("ATen operator", "in torch"), ((code(row.aten), code(row.torch)) for row in ATEN_ROWS))


def gpus() -> str:
    """The GPUs, with the figures that bound the time of a kernel."""
    head = ("name", "float32", "TF32", "16 bits", "memory", "processors", "last cache", "source")
    rows = (
        (
            code(gpu.name),
            f"{gpu.f32_flops_per_s / 1e12:g} TFLOP/s",
            f"{gpu.tf32_flops_per_s / 1e12:g} TFLOP/s",
            f"{gpu.half_flops_per_s / 1e12:g} TFLOP/s",
            f"{gpu.dram_bytes_per_s / 1e12:g} TB/s",
            f"{gpu.multiprocessors}",
            f"{gpu.last_cache_mib} MiB",
            plain(gpu.source),
        )
        for gpu in GPU_ROWS
    )
    return table(head, rows)


def cpus() -> str:
    """The kinds of CPU, with what vector code needs to know."""
    head = ("kind", "machines", "needs", "float32 lanes", "vector registers", "cache line")
    rows = (
        (
            cpu.name,
            ", ".join(map(code, cpu.machines)) or "all others",
            ", ".join(map(code, cpu.needs)) or "nothing",
            f"{cpu.lanes}",
            f"{cpu.registers}",
            f"{cpu.line_bytes} bytes",
        )
        for cpu in CPU_ROWS
    )
    return table(head, rows)


def workloads() -> str:
    """The named programs."""
    rows = ((code(row.name), plain(row.description), plain(row.source)) for row in WORKLOADS)
    return table(("name", "program", "published in"), rows)


def course() -> str:
    """The chapters, as the front page of the repository lists them."""
    found = CHAPTER_ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    rows = ((f"{{doc}}`{title} </{path}>`", learned, minutes) for title, path, learned, minutes in found)
    return table(("chapter", "what you will be able to do", "minutes"), rows)


def mistakes() -> str:
    """The common wrong answers to each exercise, with the hints that they get."""
    parts = []
    for exercise in EXERCISES.values():
        samples = _short([mistake.sample for mistake in exercise.mistakes])
        rows = ((code(text), plain(m.hint)) for text, m in zip(samples, exercise.mistakes, strict=True))
        body = table(("answer, such as", "the hint that it gets"), rows)
        hints = "\n".join(f"{number}. {plain(hint)}" for number, hint in enumerate(exercise.hints, 1))
        parts.append(f"### {exercise.id}: {plain(exercise.question)}\n\n{body}\n\nHints on request:\n\n{hints}")
    return "\n\n".join(parts)


def _short(samples: Sequence[object]) -> list[str]:
    """The wrong answers to one exercise, a line each; of texts of several lines, the lines that differ."""
    texts = [sample.splitlines() for sample in samples if isinstance(sample, str)]
    common = set.intersection(*map(set, texts)) if len(texts) > 1 else set[str]()
    shown = []
    for sample in samples:
        text = repr(sample)
        if isinstance(sample, str) and "\n" in sample:
            text = "; ".join(line.strip() for line in sample.splitlines() if line not in common)
        shown.append(text if len(text) <= LONGEST_SAMPLE else f"{text[: LONGEST_SAMPLE - 3]}...")
    return shown


TABLES: Mapping[str, Callable[[], str]] = {
    "pruning-rules": pruning_rules,
    "definitions": definitions,
    "axioms": axioms,
    "float-findings": float_findings,
    "hostile-inputs": hostile_inputs,
    "elementwise": elementwise,
    "aten-operators": aten_operators,
    "gpus": gpus,
    "cpus": cpus,
    "workloads": workloads,
    "course": course,
    "mistakes": mistakes,
}
"""What a page prints with the directive `engine-table`, by name."""
