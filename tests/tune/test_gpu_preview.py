"""A Triton kernel for a GPU that is not present: chosen by the model, checked, compiled, never timed."""

from dataclasses import replace
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.errors import TargetUnavailable
from prism_explore.events.journal import Journal
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Candidate, Family, Verified
from prism_explore.targets import target
from prism_explore.tune.gpu_preview import write_gpu_kernel
from prism_explore.verify.prover import Prover
from tests.strategies import R1, Example, r1_example, rmsnorm_linear

pytestmark = pytest.mark.slow


def proved(example: Example) -> Verified:
    family = Family("f1", example.program, example.sgraph)
    candidate = Candidate("f1.c1", family, example.sgraph, (), example.sgraph.conditions())
    verdict = Prover(example.program).verify(candidate, Journal())
    assert isinstance(verdict, Verified)
    return verdict


def test_r1_becomes_triton_that_agrees_in_the_interpreter_and_compiles_for_hopper(tmp_path: Path):
    graph = parse(R1.replace("24", "1024").replace("36", "2048"))
    made = write_gpu_kernel([proved(Example(graph, rmsnorm_linear(1024, 2048), {}))], {"b": 16}, target("h100"))

    assert made is not None
    assert "@triton.jit" in made.source
    assert "tl.dot" in made.source
    assert made.checked.agrees
    assert ["sm_90"] == [r.arch for r in made.reports]
    assert made.reports[0].registers > 0
    assert made.reports[0].shared_memory_bytes <= 227 << 10
    assert "modelled" in repr(made)
    assert isinstance(made.by_tma, float) and made.by_tma > made.modelled_s
    assert f"tma=1: {made.by_tma * 1e6:,.1f} us (modelled" in repr(made)
    assert made.tuning_file == made.save(tmp_path / "kernel.py").read_text()
    compile(made.tuning_file, "kernel.py", "exec")


def test_a_machine_without_a_known_architecture_is_named():
    with pytest.raises(TargetUnavailable, match="'cpu'"):
        write_gpu_kernel([proved(r1_example())], {"b": 5}, target("h100").replace(name="cpu"))


def test_a_session_writes_one_without_timing_anything():
    program = rmsnorm_linear(64, 64)
    space = replace(default_space(program), nodes=300)
    sess = px.Session(program, target="h100", at={"b": 16}, space=space, cache=False)
    made = sess.on_gpu()

    assert made is not None
    assert ("h100", "finished") == (made.target, sess.state)
    for_another = sess.on_gpu("a100")
    assert for_another is not None
    assert "a100" == for_another.target
    assert "tma=1: sm_80 has no TMA" in repr(for_another)
    with pytest.raises(TargetUnavailable, match="'h1000'"):
        sess.on_gpu("h1000")
