"""A program that no kernel of the space holds, as kernels in a row: one for each of its parts.

The program is cut into runs of consecutive operators, as few as may be, each of which looks like one kernel
(`generate.large.fits`); each is searched on its own, near what it says, and a family of it counts that is proved.
A run for which none is found is cut anew. Operators that are in no run stay predefined ones. Families of the whole
take the first family of every part, then one part at a time by another. Parts are proved apart, and every candidate
of the whole once more as a whole, like any other.

Products of matrices are grouped in the cheaper order before (`ir.regroup`), where one is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from prism_explore.cost.dominance import never_above
from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.generate.large import fits
from prism_explore.instantiate import instantiate
from prism_explore.ir.ops import Band, Input, Result, ViewOp
from prism_explore.ir.parts import Part, alike, partition, with_names
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.regroup import regrouped
from prism_explore.ir.space import LIMITS, Space, default_space
from prism_explore.ir.stages import Family, Pieces, Verified
from prism_explore.targets import Target
from prism_explore.verify.decide import Prover

NODES = 150
"""Partial graphs that the search of one part may grow."""
FAMILIES = 2
"""Of one part, that families of the whole are made of: every part by its first, then one at a time, largest first, by
another, up to `Space.rows`."""


def in_pieces(
    program: TensorProgram, space: Space, target: Target, seed: int, over: Callable[[], bool]
) -> Iterator[Pieces | None]:
    """Kernels in a row for a program's parts; None after every step, and nothing where no part has a kernel.

    Args:
        program: the whole.
        space: of its search; a part's operators are its own.
        target: the machine.
        seed: of proofs.
        over: whether the time for growing is spent.
    """
    cheaper = regrouped(program, never_above)
    for same in dict.fromkeys((cheaper, program)):
        parts, found = yield from _covered(same, space, target, seed, over)
        searched = [n for n, part in enumerate(parts) if found.get(alike(part.program))]
        if not searched or over():
            continue
        first = dict.fromkeys(searched, 0)
        rows = [first]
        by_size = sorted(searched, key=lambda n: -len(parts[n].positions))
        for key in dict.fromkeys(alike(parts[n].program) for n in by_size):
            same_parts = [n for n in searched if alike(parts[n].program) == key]
            rows += [first | dict.fromkeys(same_parts, k) for k in range(1, len(found[key]))]
        allowed = space.kernel_ops if space.kernel_ops < default_space(program).kernel_ops else None
        for row in rows[: space.rows]:
            families: list[tuple[int, Family]] = []
            for n, k in row.items():
                part, family = parts[n].program, found[alike(parts[n].program)][k]
                families.append((n, Family(family.id, part, with_names(family.sgraph, part))))
            made = Pieces(same, parts, tuple(families))
            if allowed is None or _kernels(made) <= allowed:
                yield made
        return


def _covered(
    program: TensorProgram, space: Space, target: Target, seed: int, over: Callable[[], bool]
) -> Generator[None, None, tuple[tuple[Part, ...], dict[str, list[Family]]]]:
    """The parts of a program such that each that is searched has a proved family, and these."""
    found: dict[str, list[Family]] = {}
    looks: dict[str, bool] = {}

    def may_be_one(part: TensorProgram) -> bool:
        if part.name not in looks:
            looks[part.name] = fits(part)
        return looks[part.name]

    while True:
        parts = partition(program, may_be_one)
        yield None
        for part in parts:
            key = alike(part.program)
            if part.searched and key not in found:
                found[key] = yield from _families(part.program, program, space, target, seed, over)
            if part.searched and not found[key]:
                looks[part.program.name] = False
                break
        else:
            return parts, found


def _families(
    part: TensorProgram, program: TensorProgram, space: Space, target: Target, seed: int, over: Callable[[], bool]
) -> Generator[None, None, list[Family]]:
    """The first families of a part that are proved under some choice of maps."""
    own = _own_space(part, program, space)
    prover, journal = Prover(part), Journal()
    found: list[Family] = []
    for family in generate(part, own, target, Journal(), over):
        candidates = instantiate(family, own, target, journal) if family is not None else iter(())
        first = next(candidates, None)
        if first is not None and isinstance(prover.verify(first, journal, seed), Verified):
            found.append(first.family)
            if len(found) == FAMILIES:
                break
        yield None
    return found


def _own_space(part: TensorProgram, program: TensorProgram, space: Space) -> Space:
    """A part's own default without what the whole was denied: limits set below the whole's default, and operators."""
    usual, own = default_space(program), default_space(part)
    lowered = {n: getattr(space, n) for n in LIMITS if getattr(space, n) < min(getattr(usual, n), getattr(own, n))}
    fixed = {"results": 0, "nodes": NODES, "patience": NODES, "rules_off": space.rules_off}
    block = own.block.without(usual.block.without(space.block))
    return replace(own, block=block, **(lowered | fixed))


def _kernels(row: Pieces) -> int:
    """Operators of the kernel graph, views aside."""
    graph = row.together({number: family.sgraph for number, family in row.families})
    return sum(not isinstance(n.op, Input | Band | Result | ViewOp) for n in graph.nodes)
