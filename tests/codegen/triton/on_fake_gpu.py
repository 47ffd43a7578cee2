"""Tuning files on a GPU that is a fake: kernels run in Triton's interpreter on the CPU, and the timer counts calls.

Run as `python -m tests.codegen.triton.on_fake_gpu FILE...` with TRITON_INTERPRET=1; it prints a JSON object per file.
"""

# pyright: basic
# torch and triton are only partly typed.

import contextlib
import io
import json
import runpy
import sys
from types import SimpleNamespace
from typing import Any

import torch
import triton

ROOM = 4096
"""Bytes of shared memory of the fake GPU."""


def main() -> None:
    for path in sys.argv[1:]:
        print(json.dumps(run(path)))


def run(path: str) -> dict[str, Any]:
    torch.manual_seed(0)
    module = runpy.run_path(path, run_name="tuned")
    inputs = module["random_inputs"]("cpu")
    exact = module["reference"](*(t.double() for t in inputs))
    errors: list[float] = []
    tma: list[str] = []
    pruned: dict[str, list[int]] = {}
    torch.cuda.get_device_properties = lambda _: SimpleNamespace(
        shared_memory_per_block=ROOM, shared_memory_per_block_optin=ROOM
    )
    for kernel in module["TUNED"]:
        every = kernel.configs
        tma += [str(c.kwargs.get("TMA")) for c in every]
        pruned[kernel.base_fn.__name__] = [len(every), len(kernel.early_config_prune(every, {}))]
        for config in every:
            kernel.configs = [config]
            errors.append(float((module["launch"](*inputs) - exact).abs().max() / exact.abs().max()))
        kernel.configs = every[:1]
    return {"errors": errors, "pruned": pruned, "tma": tma, "said": said(module)}


def said(module: dict[str, Any]) -> str:
    """What the file's `main` prints."""
    draw = module["random_inputs"]
    names = module["main"].__globals__
    names["random_inputs"] = lambda device: draw("cpu")
    torch.cuda.is_available, torch.cuda.get_device_name = lambda: True, lambda: "fake GPU"
    torch.compile = lambda program, **options: program
    triton.testing.do_bench = lambda call, quantiles: (call() is None, 2.0, 3.0)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        module["main"]()
    return text.getvalue()


if __name__ == "__main__":
    main()
