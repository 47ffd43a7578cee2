"""Online softmax as a search finds it: what runs is what was proved, and floats bear it where the plain form breaks."""

from functools import cache

import numpy as np

from prism_explore.codegen import emit_cpu
from prism_explore.codegen.load import load
from prism_explore.events.journal import Journal
from prism_explore.floats import Assessor, Safe, Unsafe
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import RunningMax
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Kernel, Parameters, Verified
from prism_explore.verify.prover import Prover
from tests.generate.programs import MACHINE, safe_attention

PROGRAM = safe_attention()
SHAPES = {"b": 2}


@cache
def found() -> tuple[Verified, ...]:
    """Every proved candidate of a default search; all of its candidates are."""
    journal, space = Journal(clock=lambda: 0.0), default_space(PROGRAM)
    families = [f for f in generate(PROGRAM, space, MACHINE, journal) if f is not None]
    prover = Prover(PROGRAM)
    verdicts = [prover.verify(c, journal, 0) for f in families for c in instantiate(f, space, MACHINE, journal)]
    assert all(isinstance(v, Verified) for v in verdicts)
    return tuple(v for v in verdicts if isinstance(v, Verified))


def is_online(verified: Verified) -> bool:
    return any(isinstance(n.op, RunningMax) for _, b in verified.candidate.sgraph.customs for n in b.nodes)


def is_shifted(verified: Verified) -> bool:
    return any(getattr(n.op, "fn", "") == "sub" for _, b in verified.candidate.sgraph.customs for n in b.nodes)


def test_online_kernels_that_were_found_compute_the_program_also_on_large_scores():
    rng = np.random.default_rng(0)
    online = [v for v in found() if is_online(v)]
    split = [v for v in online if len(v.candidate.sgraph.customs) == 2]
    looped = [v for v in split if v.candidate.sgraph.customs[1][1].loop]
    at_once = [v for v in split if v not in looped]
    for scale in (1.0, 300.0):
        given = {i.name: rng.standard_normal([d.value(SHAPES) for d in i.type.dims]) for i in PROGRAM.inputs}
        given["q"] *= scale
        expected = evaluate(PROGRAM, given)
        for verified in (*online[:6], *looped[:3], *at_once[:3]):
            sizes = dict.fromkeys(verified.candidate.sgraph.parameters, 2)
            kernel = emit_cpu(verified, Parameters(tuple(sizes.items())), SHAPES)
            assert isinstance(kernel, Kernel), kernel
            made = load(kernel)(*(a.astype(np.float32) for a in given.values()))

            assert np.allclose(expected, evaluate(verified.candidate.sgraph, given, sizes), rtol=1e-9, atol=1e-12)
            assert np.allclose(expected, made, rtol=5e-3, atol=5e-3)
    assert looped
    assert at_once


def test_floats_bear_the_forms_that_take_off_a_maximum_and_no_other():
    assessor = Assessor(PROGRAM, seed=0)
    families = {v.candidate.family.id: v for v in reversed(found())}
    assessed = {is_shifted(v): set[type]() for v in families.values()}
    for v in families.values():
        assessed[is_shifted(v)].add(type(assessor.assess(v)))

    assert {True: {Safe}, False: {Unsafe}} == assessed
