"""The wire format: data survive a round trip."""

from __future__ import annotations

import json

import pytest

from prism_explore.pipeline.stages import Verified
from prism_explore.targets import GPUS
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain, target_from_plain, target_to_plain
from tests.tune.toys import TOY, fused, kernel, split


@pytest.mark.parametrize("verified", [fused(), fused(rows=True), split()], ids=lambda v: v.candidate.id)
def test_a_kernel_survives_the_wire(verified: Verified) -> None:
    sizes = tuple((name, 2) for name in verified.candidate.sgraph.parameters)
    sent = kernel(verified, sizes, unroll=4)

    assert sent == kernel_from_plain(json.loads(json.dumps(kernel_to_plain(sent))))


@pytest.mark.parametrize("target", [TOY, *GPUS.values()], ids=lambda t: t.name)
def test_a_target_survives_the_wire(target: object) -> None:
    assert target == target_from_plain(json.loads(json.dumps(target_to_plain(target))))  # pyright: ignore
