"""A hostile corpus: mutants of every candidate of the tests' corpus, each with a verdict and a truth.

python benchmarks/mutants.py [--count 100000] [--seed 1] [--search] [--json FILE] [--examples 10]

No mutant that differs from its program may be proved. Of those that are equal, the share that stays unknown is
printed, and for each kind of mutation what became of it. The truth is the block interpreter's, in float64, at
two or more choices of sizes; what is proved against floats is run in sixty digits, where nothing overflows. Memory is
printed as it goes, which should stay flat. Equality saturation, the last thing tried before a verdict is unknown, takes
seconds where it fails, and is left out; with `--search` it is tried.
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
from tests.verify.counterexample.adversarial import Account, run
from tests.verify.mutations import KINDS
from tests.verify.test_mutants import BASES

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


def resident() -> float:
    """Memory that this process holds, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def table(rows: dict[str, Counter[str]], title: str) -> None:
    print(
        f"\n{title:30}"
        + "".join(f"{word.replace('unknown, ', '? ').replace('proved, ', '! ')[:13]:>14}" for word in COLUMNS)
    )
    for name, counts in rows.items():
        print(f"{name:44}" + "".join(f"{counts[word] or '':>14}" for word in COLUMNS))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path, default=None, help="write the figures there")
    arguments.add_argument("--examples", type=int, default=5, help="equal ones left unknown to show")
    arguments.add_argument("--search", action="store_true", help="try equality saturation before unknown is said")
    options = arguments.parse_args()
    memory: list[tuple[int, float]] = []
    step = max(options.count // 10, 1)

    def beside(account: Account) -> None:
        if account.legal % step == 0:
            memory.append((account.legal, resident()))
            print(f"{account.legal:8} mutants  {process_time():7.1f} s CPU  {memory[-1][1]:7.1f} MiB", flush=True)

    print(f"{len(BASES)} candidates, {len(KINDS)} kinds; {resident():.1f} MiB at the start")
    began = process_time()
    account = run(BASES, options.count, options.seed, LIMITS if options.search else None, beside)
    seconds = process_time() - began

    kinds = {kind.name: account.by_kind.get(kind.name, Counter()) for kind in KINDS}
    table(kinds, "kind (a mutant has 1 to 3)")
    table(account.by_base, "candidate")
    table({"all": account.verdicts}, "")
    print(f"\nwhy unknown: {dict(account.limits)}")
    print(f"why unknown though equal: {dict(account.missed)}")
    print(
        f"{account.legal} mutants in {seconds:.0f} s CPU, {seconds / account.legal * 1e3:.2f} ms each, judge included"
    )
    print(f"equal: {account.equal}; of these unknown: {account.missed_share:.3%}, and {account.open_share:.3%} more")
    print(f"whose candidate is unknown before any mutation: {', '.join(account.open) or 'none'}")
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
            "cpu_seconds": seconds,
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
