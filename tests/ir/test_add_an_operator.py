"""The recipe "Add an elementwise operator" of prism_explore/ir/README.md: one row, and nothing else.

The row is added before the stages are imported, in each process that the script starts, as if it stood in the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytest.importorskip("torch")

ROW = """
import numpy as np
from prism_explore.ir.elementwise import UNARY, ElementwiseFunction

UNARY["asinh"] = ElementwiseFunction(
    name="asinh",
    numpy=np.arcsinh,
    torch="torch.asinh({0})",
    triton="tl.where({0} < 0.0, -1.0, 1.0) * tl.log(tl.abs({0}) + tl.sqrt({0} * {0} + 1.0))",
    llvm="sign(x) * log1p(abs(x) + x * x / (1 + sqrt(x * x + 1)))",
    flops=1,
    aten=("asinh",),
    parity="odd",
    zero_at_zero=True,
    monotone="increasing",
    derivative="1 / sqrt(1 + x * x)",
)
"""
SCRIPT = '''
import numpy as np
import torch
import prism_explore as px
from prism_explore.codegen import emit_cpu
from prism_explore.codegen.load import load
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Kernel, Parameters, Refuted, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.prover import Prover
from prism_explore.events.journal import Journal
from dataclasses import replace


def code(x, w):
    return -(torch.asinh(-x) @ w)


# search and proof
session = px.Session(code, x=px.T("b", 8), w=px.T(8, 6), at={"b": 4}, baselines=())
session.run(until=lambda s: any(isinstance(e, VerdictReached) and e.verdict == "proved" for e in s.journal.events))
verified = session.chosen
assert isinstance(verified, Verified), session.journal.events[-1]
graph = verified.candidate.sgraph
assert "asinh" in show(graph)

# the certificate uses that it is odd
def exact(text):
    return Prover(session.program).verify(replace(verified.candidate, sgraph=parse(text)), Journal())

even_written = """sgraph
  x = input f32[b, 8]
  w = input f32[8, 6]
  %2 = asinh(x)
  %3 = matmul(%2, w)
  return %3"""
other = exact(even_written)
assert isinstance(other, Verified), other
lemmas = certify(other, Journal()).proof.lemmas
assert all(x.replayed for x in lemmas), lemmas
assert "asinh is odd" in {a for x in lemmas for a in x.axioms}, lemmas
assert isinstance(exact(even_written.replace("asinh", "tanh")), Refuted)

# the kernel
kernel = emit_cpu(verified, Parameters(tuple((s, 1) for s in graph.parameters)), {"b": 4})
assert isinstance(kernel, Kernel), kernel
rng = np.random.default_rng(0)
x, w = (rng.normal(size=s).astype(np.float32) * 5 for s in ((4, 8), (8, 6)))
inputs = {"x": x, "w": w}
found = load(kernel)(*(inputs[i.name] for i in graph.inputs))
np.testing.assert_allclose(found, np.arcsinh(x.astype(np.float64)) @ w, rtol=2e-5, atol=2e-5)
print("done")
'''


def test_a_row_alone_takes_a_function_from_torch_to_a_proved_kernel(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ROW)
    path = os.pathsep.join((str(tmp_path), *filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )

    assert done.stdout.endswith("done\n"), done.stderr[-3000:]
