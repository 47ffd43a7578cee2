"""Kernels on a GPU: the bench with fake and real devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

import prism_explore as px
from prism_explore.codegen.triton.heuristics import CHOICES
from prism_explore.errors import ShapeError, TargetUnavailable
from prism_explore.targets import GPUS, devices
from prism_explore.targets.devices import row_of
from prism_explore.tune.runner.backend import why_untimed
from prism_explore.tune.runner.bench import Ceilings, Failure
from prism_explore.tune.runner.gpu_bench import (
    MOST_AHEAD,
    DeviceBench,
    QueuedTimer,
    choices,
)
from tests.tune.toys import fused, rmsnorm_linear


@pytest.fixture(scope="module")
def tuned():
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    words = [sys.executable, "-m", "tests.tune.on_interpreter"]
    return json.loads(subprocess.run(words, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout)


def test_a_gpu_s_kernels_are_written_compared_and_raced_like_any_others(tuned):
    assert 3 == tuned["trials"]
    assert [] == tuned["failed"]
    assert {"triton"} == set(tuned["backends"])
    assert all(error < 1e-5 for error in tuned["errors"])


def test_times_are_those_of_the_timer(tuned):
    assert all(1e-6 < t < 1e-4 for t in tuned["times_s"])


def test_a_schedule_chooses_warps_and_stages_of_a_loop_the_precision_of_float32_products_and_tma():
    sizes, wide = (("gx", 4), ("f", 8)), fused(128, 128)
    found = dict(choices(wide, sizes, {"b": 4}, GPUS["h100"]))

    assert {name: sorted(values) for name, values in CHOICES.items()} == {n: sorted(v) for n, v in found.items()}
    assert (0, 1) == found["tma"], "the model has no gain by TMA"
    assert {*found} - {"tma"} == {*dict(choices(wide, sizes, {"b": 4}, GPUS["a100"]))}
    assert {*found} - {"tma"} == {*dict(choices(fused(), sizes, {"b": 4}, GPUS["h100"]))}, "its tiles are padded"
    assert {*found} - {"tma", "tf32_products"} == {*dict(choices(wide, sizes, {"b": 4}, GPUS["mi300x"]))}


# ---------------------------------------------------------------- failures
def bench(run):
    made = DeviceBench(
        rmsnorm_linear(), {"b": 2}, GPUS["h100"], lambda kernel: run, device="cpu", time_call=lambda fn: fn() or 1e-3
    )
    return made, made.check_callable("u1", run)


def test_after_an_illegal_access_the_bench_is_lost():
    def run(*_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    made, found = bench(run)

    assert Failure("tune.crash", "RuntimeError: CUDA error: an illegal memory access was encountered") == found
    assert made.lost


def test_other_failures_lose_nothing():
    def run(*_):
        raise RuntimeError("out of memory: Tried to allocate 2 GiB")

    made, found = bench(run)

    assert isinstance(found, Failure)
    assert "tune.memory" == found.code
    assert not made.lost


def test_an_access_that_shows_while_timing_loses_the_bench_too():
    calls = []

    def run(x, g, w):
        calls.append(1)
        if len(calls) > 3:
            raise RuntimeError("CUDA error: unspecified launch failure")
        norm = torch.sqrt(torch.mean(x * x, 1, keepdim=True) + 1e-6)
        return x / norm * g @ w

    made, found = bench(run)
    assert not isinstance(found, Failure), found

    assert isinstance(made.time(["u1"], 2), Failure)
    assert made.lost


def test_the_limit_is_drawn_from_torch_s_own_kernels_on_the_device():

    made = DeviceBench(
        rmsnorm_linear(),
        {"b": 2},
        GPUS["h100"],
        lambda kernel: print,
        device="cpu",
        time_call=lambda fn: fn() and 1e-3,
    )
    found = made.prepare_ceilings(4096.0, 2e6, False)

    assert Ceilings(("ceiling: a sum over all bytes",), "ceiling: multiply-add") == found
    assert 1024 == made._runs["ceiling: a sum over all bytes"]().item()
    assert (128, 128) == tuple(made._runs["ceiling: multiply-add"]().shape)


# ---------------------------------------------------------------- which GPU
@pytest.mark.parametrize(
    ("device", "row"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA GB200", None),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA L4", None),
        ("AMD Instinct MI300X", "mi300x"),
        ("AMD gfx90a, 104 compute units, 64 GiB", None),
    ],
)
def test_the_driver_s_name_leads_to_the_datasheet_s_row(device, row):
    assert row == row_of(device)


def test_cuda_is_the_gpu_that_is_here(monkeypatch):
    monkeypatch.setattr(devices, "device_here", lambda: "NVIDIA H200")

    assert px.target("cuda") is GPUS["h200"]


@pytest.mark.parametrize(("device", "said"), [(None, "no GPU is here"), ("NVIDIA L4", "no figures are known")])
def test_without_a_gpu_or_with_an_unknown_one_there_is_a_reason(monkeypatch, device, said):
    monkeypatch.setattr(devices, "device_here", lambda: device)

    with pytest.raises(TargetUnavailable, match=said):
        px.target("cuda")


def kfd(folder, *processors):
    """The list of processors as AMD's driver writes it: properties, and memory in bytes."""
    for n, (told, size) in enumerate(processors):
        bank = folder / str(n) / "mem_banks" / "0"
        bank.mkdir(parents=True)
        (bank / "properties").write_text(f"heap_type 1\nsize_in_bytes {size}\nflags 0\n")
        lines = {"cpu_cores_count": 0, "simd_per_cu": 4, "gfx_target_version": 0, **told}
        (folder / str(n) / "properties").write_text("".join(f"{k} {v}\n" for k, v in lines.items()))
    return folder


CPU = ({"cpu_cores_count": 64, "simd_per_cu": 0}, 512 << 30)
MI300X = ({"simd_count": 1216, "gfx_target_version": 90402}, (192 << 30) - 4096)
MI325X = ({"simd_count": 1216, "gfx_target_version": 90402}, 256 << 30)
MI250 = ({"simd_count": 416, "gfx_target_version": 90010}, 64 << 30)


def test_an_amd_gpu_is_identified_by_its_driver(monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "NVIDIA_COMMAND", ("there-is-no-such-tool",))
    monkeypatch.setattr(devices, "NODES", kfd(tmp_path / "mi300x", CPU, MI300X, MI250))

    assert px.target("cuda") is GPUS["mi300x"]


@pytest.mark.parametrize(
    ("processors", "said"),
    [
        ((CPU, MI325X), r"no figures are known for AMD gfx942, 304 compute units, 256 GiB; .*target\('mi300x'\)"),
        ((CPU, MI250), r"no figures are known for AMD gfx90a, 104 compute units, 64 GiB"),
        ((CPU,), "no GPU is here: there-is-no-such-tool names none, and AMD's driver lists none in"),
        ((), "no GPU is here"),
    ],
)
def test_another_amd_gpu_and_no_gpu_are_distinguished(monkeypatch, tmp_path, processors, said):
    monkeypatch.setattr(devices, "NVIDIA_COMMAND", ("there-is-no-such-tool",))
    monkeypatch.setattr(devices, "NODES", kfd(tmp_path, *processors))

    with pytest.raises(TargetUnavailable, match=said):
        px.target("cuda")


@pytest.mark.parametrize(("gib", "said"), [(192, ""), (256, "AMD gfx942, 304 compute units, 256 GiB, not mi300x")])
def test_torch_s_amd_gpu_is_not_taken_for_nvidia_s(monkeypatch, gib, said):
    told = SimpleNamespace(gcnArchName="gfx942:sramecc+:xnack-", multi_processor_count=304, total_memory=gib << 30)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "AMD Radeon Graphics")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: told)
    monkeypatch.setattr(torch.version, "hip", "6.4")

    assert said in why_untimed(GPUS["mi300x"])
    assert bool(said) == bool(why_untimed(GPUS["mi300x"]))
    assert f"the GPU here is {devices.amd_name('gfx942', 304, gib << 30)}, not h100" == why_untimed(GPUS["h100"])


def test_another_gpu_than_the_one_that_is_here_is_not_timed(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")

    assert "" == why_untimed(GPUS["h200"])
    assert "the GPU here is NVIDIA H200, not h100" == why_untimed(GPUS["h100"])
    assert "the GPU here is NVIDIA H200, not mine" == why_untimed(GPUS["h200"].replace(name="mine"))


def test_a_gpu_without_a_row_uses_the_measured_figures(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA L4")

    assert "" == why_untimed(GPUS["h100"].replace(name="l4"))
    assert "the GPU here is NVIDIA L4, not h100" == why_untimed(GPUS["h100"])


# ---------------------------------------------------------------- the timer
class FakeDevice:
    """Takes 100 us for a read of memory and 10 us for a call, of which the host needs 300 us to queue each."""

    def __init__(self, monkeypatch):
        self.host_us, self.device_us, self.reads = 0.0, 0.0, 0
        device = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                device.run(0)
                self.at_us = device.device_us

            def query(self):
                return device.host_us >= self.at_us

            def elapsed_time(self, end):
                return (end.at_us - self.at_us) / 1e3

        class Memory:
            def sum(self):
                device.reads += 1
                device.run(100)

        monkeypatch.setattr(torch, "zeros", lambda *_, **__: Memory())
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "synchronize", self.wait)

    def run(self, us):
        """The device begins when it is idle, but not before the host asks."""
        self.device_us = max(self.device_us, self.host_us) + us

    def wait(self):
        self.host_us = self.device_us

    def call(self):
        self.host_us += 300
        self.run(10)


def test_a_small_kernel_s_time_does_not_have_the_host_s_in_it(monkeypatch):
    device = FakeDevice(monkeypatch)
    timer = QueuedTimer("cuda")

    assert 1e-5 == pytest.approx(timer(device.call))
    assert 1e-5 == pytest.approx(timer(device.call))


def test_a_call_that_waits_for_the_device_is_timed_with_its_waiting(monkeypatch):
    device = FakeDevice(monkeypatch)

    def call():
        device.wait()
        device.call()

    assert 3.1e-4 == pytest.approx(QueuedTimer("cuda")(call))
    assert device.reads < 3 * MOST_AHEAD


# ---------------------------------------------------------------- on one
@pytest.mark.needs_gpu
def test_a_long_kernel_takes_the_time_that_triton_s_timer_measures():
    from triton.testing import do_bench

    a = torch.randn(4096, 4096, dtype=torch.float16, device="cuda")

    assert do_bench(lambda: a @ a, return_mode="median") / 1e3 == pytest.approx(QueuedTimer("cuda")(lambda: a @ a), 0.2)


@pytest.mark.needs_gpu
def test_a_search_on_a_gpu_ends_with_a_kernel_that_was_timed_together_with_torch():
    def rmsnorm_linear_(x, g, w):
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w

    shapes = {"x": px.T("b", 1024, dtype="f16"), "g": px.T(1024, dtype="f16"), "w": px.T(1024, 2048, dtype="f16")}
    sess = px.Session(
        rmsnorm_linear_, inputs=shapes, at={"b": 8}, target="cuda", budget=px.Budget(trials=12, seconds=120)
    )
    sess.run()
    best = sess.best()

    assert best is not None, sess.claim
    assert "triton" == best.timed.kernel.backend
    assert best.ratios
    x, g, w = (torch.randn(*n, dtype=torch.float16, device="cuda") for n in ((8, 1024), (1024,), (1024, 2048)))
    wanted = rmsnorm_linear_(x.double(), g.double(), w.double())
    assert (best(x, g, w).double() - wanted).abs().max() < 5e-3 * wanted.abs().max()
    assert max(best.check(2)) < 5e-3
    with pytest.raises(ShapeError, match="must be on cuda"):
        best(x.cpu(), g, w)


@pytest.mark.needs_gpu
def test_a_kernel_that_reads_where_nothing_is_takes_only_its_worker_with_it():
    from dataclasses import replace

    from prism_explore.codegen import emit
    from prism_explore.pipeline.stages import Kernel, Parameters
    from prism_explore.tune.runner.bench import CheckPassed
    from prism_explore.tune.runner.worker import Worker

    gpu = px.target("cuda")
    good = emit(fused(), Parameters((("gx", 2), ("f", 4)), (("num_warps", 4),)), {"b": 4}, gpu)
    assert isinstance(good, Kernel)
    wild = replace(good, source=good.source.replace("x_ptr +", "x_ptr + (1 << 40) +"))
    with Worker(rmsnorm_linear(), {"b": 4}, gpu, "tests.tune.on_interpreter:load_as_it_stands") as worker:
        assert isinstance(worker.check("u1", good), CheckPassed)
        assert isinstance(worker.check("u2", wild), Failure)
        assert isinstance(worker.check("u3", good), CheckPassed)
