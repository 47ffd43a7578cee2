"""Memory on huge pages: what is in it stays, and the system says that it has them."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from prism_explore.support.huge_pages import PAGE, move_to_huge_pages


def on_huge_pages(address: int) -> int:
    """Kilobytes on huge pages of the mapping that contains an address."""
    here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            here = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif here and line.startswith("AnonHugePages:"):
            return int(line.split()[1])
    raise AssertionError("no mapping contains the address")


def test_a_weight_is_moved_and_keeps_its_numbers():
    weight = torch.nn.Linear(1024, 4096, bias=False).weight.detach()
    before, size = weight.clone(), weight.numel() * 4

    moved = move_to_huge_pages([(weight.data_ptr(), size)])

    assert torch.equal(before, weight)
    if not moved:
        pytest.skip("this system moves no memory to huge pages")
    assert moved <= size
    assert on_huge_pages(weight.data_ptr() + size // 2) * 1024 >= moved - 2 * PAGE


def test_small_ranges_are_left_alone():
    small = np.ones(64)

    assert 0 == move_to_huge_pages([(small.ctypes.data, small.nbytes)])
