"""Generated Triton on a GPU."""

import numpy as np
import pytest

from prism_explore.codegen.triton.emit import load_triton, write_triton
from prism_explore.codegen.triton.heuristics import choose_sizes
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import GPUS
from tests.codegen.triton import graphs


@pytest.mark.needs_gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [("f16", 5e-3), ("f32", 2e-5)])
@pytest.mark.parametrize("b", [1, 5, 16])
def test_the_fused_rmsnorm_is_right_on_a_gpu(dtype, tolerance, b):
    import torch

    graph = parse(show(graphs.rmsnorm_linear(d=1024, n=512)).replace("f32", dtype))
    fitted = choose_sizes(graph, {"b": b}, GPUS["a100"])
    assert isinstance(fitted, Parameters)
    module = write_triton(graph, {"b": b, **fitted.numbers}, fitted)
    rng = np.random.default_rng(0)
    kind = {"f16": "float16", "f32": "float32"}[dtype]
    inputs = {
        i.name: rng.uniform(-0.5, 0.5, [d.value({"b": b}) for d in i.type.dims]).astype(kind) for i in graph.inputs
    }

    found = load_triton(module.source)(*(torch.as_tensor(a).cuda() for a in inputs.values()))

    wanted = evaluate(graph, {n: a.astype("float64") for n, a in inputs.items()}, fitted.numbers)
    assert np.abs(found.cpu().double().numpy() - wanted).max() <= tolerance * np.abs(wanted).max()


@pytest.mark.needs_gpu
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("transposed", [False, True])
def test_tiles_by_tma_are_those_by_pointers_on_a_gpu(dtype, transposed):
    import torch

    graph = parse(show(graphs.rmsnorm_linear(d=1024, n=512, transposed=transposed)).replace("f32", f"f{dtype[-2:]}"))
    pointers, by_tma = (
        write_triton(graph, {"b": 33, "gx": 8, "f": 32}, Parameters((), (("num_stages", 3), ("tma", tma))))
        for tma in (0, 1)
    )
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    x, g, stored = (torch.randn(n, dtype=kind, device="cuda") for n in (33 * 1024, 1024, 1 + 512 * 1024))
    strides = (1, 1024) if transposed else (512, 1)
    for start in (0, 1):  # from the second element on, TMA cannot read the weight
        inputs = x.view(33, 1024), g, stored.as_strided((1024, 512), strides, start)

        wanted, found = (load_triton(module.source)(*inputs) for module in (pointers, by_tma))

        assert (found - wanted).abs().max() <= 1e-3 * wanted.abs().max()
