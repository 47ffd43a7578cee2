"""The wire format between the tuner and its worker process: plain JSON, no pickle.

Graphs are sent in the textual form of `ir.text`. A worker compiles, compares and times a kernel but does not use its
proof, so only the proof's method and claim are sent.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from prism_explore.codegen.cpu.compile import MachineCode
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.dims import dim
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Candidate, Family, Kernel, Parameters, Proof, Verified
from prism_explore.support.plain_data import named_numbers
from prism_explore.targets import Target


def target_to_plain(target: Target) -> dict[str, Any]:
    """A target as JSON data."""
    return asdict(target)


def target_from_plain(data: Mapping[str, Any]) -> Target:
    """The inverse of `target_to_plain`."""
    fields: dict[str, Any] = {**data, "caches_bytes": tuple(data["caches_bytes"])}
    return Target(**fields)


def kernel_to_plain(kernel: Kernel) -> dict[str, Any]:
    """A kernel with its candidate and family as JSON data, without the lemmas and classes of the proof."""
    candidate = kernel.verified.candidate
    proof = kernel.verified.proof
    return {
        "program": show(candidate.family.program),
        "family": [candidate.family.id, show(candidate.family.sgraph)],
        "candidate": [candidate.id, show(candidate.sgraph)],
        "uses": [[[u.axis, u.grid, u.looped] for u in block] for block in candidate.uses],
        "conditions": [str(d) for d in candidate.conditions],
        "proof": [proof.method, proof.claim, list(proof.conditions)],
        "sizes": kernel.parameters.sizes,
        "schedule": kernel.parameters.schedule,
        "shapes": kernel.shapes,
        "backend": kernel.backend,
        "source": kernel.source,
    }


def kernel_from_plain(data: Mapping[str, Any]) -> Kernel:
    """The inverse of `kernel_to_plain`.

    Raises:
        ValueError, KeyError, TypeError, IndexError, PrismError: the data are damaged.
    """
    family = Family(data["family"][0], parse_program(data["program"]), parse(data["family"][1]))
    uses = tuple(tuple(AxisUse(axis, grid, looped) for axis, grid, looped in block) for block in data["uses"])
    conditions = tuple(dim(text) for text in data["conditions"])
    candidate = Candidate(data["candidate"][0], family, parse(data["candidate"][1]), uses, conditions)
    method, claim, needs = data["proof"]
    sizes, shapes, schedule = _sizes(data["sizes"]), _sizes(data["shapes"]), named_numbers(data["schedule"])
    _check_once("a symbol of the sizes and shapes", (*sizes, *shapes))
    _check_once("a choice of the schedule", schedule)
    return Kernel(
        Verified(candidate, Proof(method, claim, tuple(needs)), ()),
        Parameters(sizes, schedule),
        shapes,
        data["backend"],
        data["source"],
    )


def machine_code_to_plain(code: MachineCode) -> dict[str, Any]:
    """Compiled code as JSON data."""
    return {**asdict(code), "object_code": b64encode(code.object_code).decode()}


def machine_code_from_plain(data: Mapping[str, Any]) -> MachineCode:
    """The inverse of `machine_code_to_plain`; only for data that this package wrote for itself: code is not checked."""
    return MachineCode(b64decode(data["object_code"]), int(data["nests"]), int(data["scratch_bytes"]))


def _sizes(data: Any) -> tuple[tuple[str, int], ...]:
    sizes = named_numbers(data)
    if wrong := [f"{symbol}={number}" for symbol, number in sizes if number < 1]:
        raise ValueError(f"sizes are 1 or more, found {', '.join(wrong)}")
    return sizes


def _check_once(what: str, numbers: Sequence[tuple[str, int]]) -> None:
    """Check that each name has one number: conditions of a proof must be checked at the numbers that are compiled."""
    if twice := [name for name, count in Counter(name for name, _ in numbers).items() if count > 1]:
        raise ValueError(f"{what} has one number, found several for {', '.join(twice)}")
