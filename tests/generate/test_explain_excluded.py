"""What is said to lie outside the stated space, held against searches: inside is what a search of the space finds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.explain_excluded import excesses, explain_excluded
from prism_explore.generate.split_kernels import fold_means, fuse_split_kernels
from prism_explore.instantiate import instantiate
from prism_explore.ir.analysis.split_reduction import find_split_pair
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.targets import target
from tests.generate.small import Small, programs, small
from tests.search.test_rediscovery import form
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

SEEDS = programs(6)
BY_NAME = {e.name: e for e in ENTRIES}
H100 = target("h100")


@cache
def wide(seed: int) -> tuple[Small, dict[str, SGraph]]:
    """A small program in a space of two custom kernels and one predefined operator, and its families by form."""
    case = small(seed)
    assert case is not None
    between = replace(case.space.block, accumulators=())
    case = replace(case, space=replace(case.space, kernel=between, custom_kernels=2, predefined_kernels=1))
    return case, families(case, case.space)


def families(case: Small, space: Space) -> dict[str, SGraph]:
    found = generate(case.program, space, case.machine, Journal())
    return {form(f.sgraph): f.sgraph for f in found if f is not None}


NARROWED: dict[str, Callable[[Space], Space]] = {
    "custom_kernels": lambda s: replace(s, custom_kernels=1),
    "predefined_kernels": lambda s: replace(s, predefined_kernels=0),
    "kernel_ops": lambda s: replace(s, kernel_ops=1),
    "block_ops": lambda s: replace(s, block_ops=s.block_ops - 1),
    "block_inputs": lambda s: replace(s, block_inputs=s.block_inputs - 1),
    "accumulators": lambda s: replace(s, accumulators=0),
}


@pytest.mark.parametrize("limit", NARROWED)
def test_inside_a_space_with_a_lower_limit_is_what_a_search_of_it_finds(limit):
    kept = left_out = 0
    for seed in SEEDS:
        case, larger = wide(seed)
        space = NARROWED[limit](case.space)
        narrow = families(case, space)
        for text, graph in larger.items():
            why = explain_excluded(case.program, space, case.machine, graph)

            assert (text in narrow) == (not why), f"{seed}: {why}"
            assert explain_excluded(case.program, case.space, case.machine, graph) == ""
            kept, left_out = kept + (not why), left_out + bool(why)
            if why:
                (excess,) = excesses(case.program, space, case.machine, graph)
                assert (excess.limit, str(excess)) == (limit, why)
    assert kept > 3
    assert left_out > 3


# ---------------------------------------------------------------- known forms, the space raised to what is said of them
RAISED = {
    "rmsnorm-two-kernels": "custom kernels: 2 > 1",
    "attention-scores-first": "custom kernels: 2 > 1",
    "mlp_relu-two-kernels": "custom kernels: 2 > 1",
    "lora-R4-merged": "predefined operators: 2 > 0",
}


def is_found(name: str, space: Space) -> bool:
    """Whether the families of a workload at its small sizes have a form among their candidates."""
    entry = BY_NAME[name]
    program, wanted = program_of(entry.workload, tiny=True), form(sgraph_of(entry, tiny=True))
    return any(
        form(candidate.sgraph) == wanted
        for family in generate(program, space, H100, Journal())
        if family is not None
        for candidate in instantiate(family, space, H100, Journal())
    )


@pytest.mark.parametrize("name", RAISED)
def test_a_known_form_is_found_once_its_space_is_raised_to_the_numbers_that_it_is_said_to_take(name):
    entry = BY_NAME[name]
    program, graph = program_of(entry.workload, tiny=True), sgraph_of(entry, tiny=True)
    space = default_space(program)
    found = excesses(program, space, H100, graph)

    assert explain_excluded(program, space, H100, graph) == RAISED[name] == "; ".join(map(str, found))
    assert not is_found(name, space)
    assert is_found(name, replace(space, **{e.limit: e.needed for e in found}))


LOWERED = {
    "attention-R7-rows": ("results", 1, "partial results of a split kernel: 2 > 1"),
    "rmsnorm_linear-R1-split-k-rows": ("block_ops", 10, "operators of a block graph: 11 > 10"),
    "rmsnorm_linear-R1": ("block_inputs", 2, "tensors loaded by one kernel: 3 > 2"),
    "gqa-R6": ("grid_dims", 2, "grid dims: 3 > 2"),
    "attention-R6": ("accumulators", 1, "accumulators of a block graph: 2 > 1"),
}


@pytest.mark.parametrize("name", LOWERED)
def test_a_known_form_is_lost_where_a_limit_is_set_below_what_it_takes(name):
    entry, (limit, allowed, told) = BY_NAME[name], LOWERED[name]
    program, graph = program_of(entry.workload, tiny=True), sgraph_of(entry, tiny=True)
    space = default_space(program)
    lower = replace(space, **{limit: allowed})

    assert explain_excluded(program, space, H100, graph) == ""
    assert is_found(name, space)
    assert told == explain_excluded(program, lower, H100, graph)
    assert not is_found(name, lower)
    assert is_found(name, replace(space, **{limit: allowed + 1}))


@pytest.mark.parametrize("name", ["rmsnorm_linear", "rmsnorm", "qk_norm_attention"])
def test_two_kernels_with_a_single_share_and_their_means_folded_are_the_kernel_that_was_split(name):
    program = program_of(name, tiny=True)
    space, numbers = default_space(program), ExpressionNumbers()
    found = [f.sgraph for f in generate(program, space, H100, Journal()) if f is not None]
    single = {numbers.number_graph(g) for g in found if len(g.customs) == 1}
    split = [(g, pair) for g in found if (pair := find_split_pair(g))]

    assert split
    assert all(
        numbers.number_graph(fold_means(fuse_split_kernels(g, pair), space.block)) in single for g, pair in split
    )
    assert [""] * len(found) == [explain_excluded(program, space, H100, g) for g in found]


def test_a_tensor_that_the_space_loads_along_two_axes_is_outside_where_it_is_loaded_once():
    entry = BY_NAME["rotary_scores-concat"]
    program = program_of(entry.workload)
    why = explain_excluded(program, default_space(program), H100, sgraph_of(entry))

    assert why == "cos and sin: loaded once, where one dim is two axes of the program"


SPOKEN = {
    "rmsnorm_linear-R1-weight-folded": "predefined operators: 1 > 0; reshape[12, 1] is no operator of its kernel graph",
    "rmsnorm_linear-R1-rsqrt": "rsqrt is no operator of its block graphs",
    "rmsnorm-two-results": "predefined operators: 1 > 0; results of a kernel that is not split: 2 > 1",
    "softmax-any-shift": "its result is the program's by an equality that does not follow from the axioms of equality",
    "grouped_attention-R6-keys-repeated": "it has other views around its kernels than the program",
}


@pytest.mark.parametrize("name", SPOKEN)
def test_what_no_number_excludes_is_told_by_what_the_space_states(name):
    entry = BY_NAME[name]
    program = program_of(entry.workload, tiny=True)

    assert explain_excluded(program, default_space(program), H100, sgraph_of(entry, tiny=True)).startswith(SPOKEN[name])
