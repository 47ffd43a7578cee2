"""Mutation test of the prover: mutants of every candidate of the test corpus, each with a verdict and an expected one.

    .venv/bin/python benchmarks/mutants.py
    .venv/bin/python benchmarks/mutants.py --count 10000 --seed 2 --search --json figures.json
    .venv/bin/python benchmarks/mutants.py --of rewrites --count 50000

`--of rewrites` mutates pairs of functions with comparisons, selections, clamps and logarithms instead
(`tests/verify/test_rewrites.py`), by more kinds: all functions of the table, for instance.

A mutant that differs from its program must not be proved. The script prints the share of equal mutants that stay
unknown, and the verdicts per kind of mutation. Whether a mutant is equal is decided by the block interpreter in float64
at two or more choices of sizes. A mutant that is proved although float64 differs is run again with sixty digits, where
nothing overflows. Memory use is printed during the run; it should stay flat.

Equality saturation is the last stage before a verdict is unknown. It takes seconds where it fails, so it is off by
default; `--search` turns it on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prism_explore.verify.certificate.saturation import LIMITS
from tests.verify.counterexample.adversarial import Account, Base, run
from tests.verify.mutations import CASE_KINDS, KINDS
from tests.verify.test_mutants import BASES
from tests.verify.test_rewrites import traced_sides

COLUMNS = (
    "proved",
    "refuted",
    "unknown, equal",
    "unknown, as its base",
    "unknown, wrong",
    "unknown, for one shape only",
    "unknown, not run",
    "unknown, no number in floats",
    "proved, no number in floats",
    "proved, but rounding sways it",
    "proved, not run",
    "proved, no number where masked",
    "proved, wrongly",
    "crashed",
)


def resident_mib() -> float:
    """Resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def print_table(rows: dict[str, Counter[str]], title: str) -> None:
    print(
        f"\n{title:30}"
        + "".join(f"{word.replace('unknown, ', '? ').replace('proved, ', '! ')[:13]:>14}" for word in COLUMNS)
    )
    for name, counts in rows.items():
        print(f"{name:44}" + "".join(f"{counts[word] or '':>14}" for word in COLUMNS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="number of mutants")
    parser.add_argument("--of", choices=("candidates", "rewrites"), default="candidates", help="what is mutated")
    parser.add_argument("--seed", type=int, default=1, help="seed of the mutations")
    parser.add_argument("--json", type=Path, default=None, help="file to write the figures to")
    parser.add_argument(
        "--examples", type=int, default=5, help="number of equal mutants with an unknown verdict to print"
    )
    parser.add_argument("--search", action="store_true", help="try equality saturation before the verdict unknown")
    options = parser.parse_args()
    memory: list[tuple[int, float]] = []
    step = max(options.count // 10, 1)

    def print_progress(account: Account) -> None:
        if account.legal % step == 0:
            memory.append((account.legal, resident_mib()))
            print(f"{account.legal:8} mutants  {process_time():7.1f} s CPU  {memory[-1][1]:7.1f} MiB", flush=True)

    bases, kinds_of_mutation = BASES, KINDS
    if options.of == "rewrites":
        bases = [Base(name, *sides) for name, sides in traced_sides().items()]
        kinds_of_mutation = (*KINDS, *CASE_KINDS * 5)
    print(f"{len(bases)} candidates, {len(set(kinds_of_mutation))} kinds; {resident_mib():.1f} MiB at the start")
    start_s = process_time()
    limits = LIMITS if options.search else None
    account = run(bases, options.count, options.seed, limits, print_progress, kinds_of_mutation)
    cpu_s = process_time() - start_s

    kinds = {kind.name: account.by_kind.get(kind.name, Counter()) for kind in kinds_of_mutation}
    print_table(kinds, "kind (a mutant has 1 to 3)")
    print_table(account.by_base, "candidate")
    print_table({"all": account.verdicts}, "")
    print(f"\nreasons of unknown verdicts: {dict(account.limits)}")
    print(f"reasons of unknown verdicts on equal mutants: {dict(account.missed)}")
    print(
        f"{account.legal} mutants in {cpu_s:.0f} s CPU, {cpu_s / account.legal * 1e3:.2f} ms each, "
        "comparison with the interpreter included"
    )
    print(
        f"equal: {account.equal}; of these unknown: {account.missed_share:.3%}, and "
        f"{account.open_share:.3%} whose unmutated candidate is unknown too"
    )
    print(f"candidates that are unknown without a mutation: {', '.join(account.open) or 'none'}")
    print(
        f"wrongly proved: {len(account.false)}; prover and refuter disagree: {len(account.disagreements)}; "
        f"crashes: {len(account.crashes)}"
    )
    for text in (
        *account.crashes,
        *account.false,
        *account.disagreements,
        *account.masked[:5],
        *account.examples[: options.examples],
    ):
        print(f"\n{text}")
    if options.json:
        figures = {
            "count": account.legal,
            "seed": options.seed,
            "search": options.search,
            "cpu_seconds": cpu_s,
            "memory_mib": memory,
            "verdicts": account.verdicts,
            "equal": account.equal,
            "missed_share": account.missed_share,
            "open_share": account.open_share,
            "open": account.open,
            "limits": account.limits,
            "missed": account.missed,
            "kinds": kinds,
            "candidates": account.by_base,
            "wrongly_proved": account.false,
            "disagreements": account.disagreements,
            "crashes": account.crashes,
            "no_number_where_masked": account.masked,
        }
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(bool(account.false or account.disagreements or account.crashes))


if __name__ == "__main__":
    main()
