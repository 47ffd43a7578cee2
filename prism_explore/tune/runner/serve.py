"""The worker's main loop: read requests from stdin, run them on a bench of this process, write answers.

    client (worker.py)  --- one JSON object per line, through stdin --->  main()
                        <-- one JSON object per line, to what was stdout ---

The first request, `start`, creates the bench: it generates the inputs from the seed, so no tensor is transferred. Every
other request has a handler in `HANDLERS`. The process ends when its stdin ends, so it does not outlive its parent.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias, cast

from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.ir.text import parse_program
from prism_explore.tune.runner import baseline_serve
from prism_explore.tune.runner.backend import import_named
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from prism_explore.tune.runner.local_bench import LocalBench
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain, machine_code_to_plain, target_from_plain
from prism_explore.tune.space.kernels_at import kernels_at

Request: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[LocalBench, Request], CheckPassed | Samples | Failure | Answer]


def _check(bench: LocalBench, request: Request) -> CheckPassed | Failure:
    return bench.check(request["key"], kernel_from_plain(request["kernel"]))


def _time(bench: LocalBench, request: Request) -> Samples | Failure:
    return bench.time(request["keys"], int(request["rounds"]))


def _drop(bench: LocalBench, request: Request) -> Answer:
    bench.drop(request["key"])
    return {}


def _ceilings(bench: LocalBench, request: Request) -> Failure | Answer:
    found = bench.prepare_ceilings(float(request["bytes"]), float(request["flops"]), bool(request["is_16_bit"]))
    return found if isinstance(found, Failure) else asdict(found)


def _compile_at(bench: LocalBench, request: Request) -> Answer:
    """Kernels of a candidate at the bench's sizes, compared with the reference, with their machine code."""
    tuned, target = kernel_from_plain(request["kernel"]), target_from_plain(request["target"])
    found: list[Answer] = []
    why = "no parameters are legal"
    for number, kernel in enumerate(kernels_at(tuned.verified, tuned.parameters, bench.shapes, target)):
        checked = bench.check(str(number), kernel)
        if isinstance(checked, Failure):
            why = checked.reason
        elif isinstance(run := bench.kept(str(number)), LoadedKernel):
            found.append({"kernel": kernel_to_plain(kernel), "code": machine_code_to_plain(run.machine_code)})
        if number + 1 == int(request["most"]):
            break
    return {"kernels": found, "why": why}


HANDLERS: Mapping[str, Handler] = {
    "check": _check,
    "time": _time,
    "drop": _drop,
    "compile at": _compile_at,
    "baseline": baseline_serve.prepare_baseline,
    "ceilings": _ceilings,
}
"""What a worker does on each request, by the request's field `do`."""


def main() -> None:
    """Serve the parent: requests on stdin, answers on what was stdout; everything printed goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def read_requests() -> None:
        for line in sys.stdin.buffer:
            requests.put(cast("dict[str, Any]", json.loads(line)))
        os._exit(0)  # the parent has ended; a kernel may still be running

    def answer(reply: Answer) -> None:
        out.write(json.dumps(reply).encode() + b"\n")
        out.flush()

    threading.Thread(target=read_requests, daemon=True).start()
    serve(requests, answer)


def serve(requests: queue.Queue[dict[str, Any] | None], answer: Callable[[Answer], None]) -> None:
    """Answer requests in order until None is read."""
    bench: LocalBench | None = None
    while (request := requests.get()) is not None:
        try:
            if request["do"] == "start":
                bench = _start(request)
                answer({"slots": bench.ring.slots, "is_cold": bench.ring.is_cold})
                continue
            assert bench is not None, "the first request is `start`"
            reply = _to_plain(HANDLERS[request["do"]](bench, request))
            answer({**reply, "lost": True} if bench.lost else reply)
        except MemoryError:
            answer({"failure": ["tune.memory", "out of memory"]})
        except Exception as failure:
            answer({"failure": ["tune.crash", f"{type(failure).__name__}: {failure}"]})


def _to_plain(found: CheckPassed | Samples | Failure | Answer) -> Answer:
    match found:
        case CheckPassed(error):
            return {"error": error}
        case Samples(times_s, waits):
            return {"times_s": {k: list(t) for k, t in times_s.items()}, "waits": list(waits)}
        case Failure(code, reason):
            return {"failure": [code, reason]}
        case _:
            return found


def _start(request: Request) -> LocalBench:
    _limit_memory(int(request["memory_bytes"]))
    if nice := int(request["nice"]):
        os.nice(nice)
    load = import_named(request["loader"])
    shapes = {str(k): int(v) for k, v in request["shapes"].items()}
    program = parse_program(request["program"])
    target, seed = target_from_plain(request["target"]), int(request["seed"])
    transposed = {str(name): (str(of), tuple(axes)) for name, (of, axes) in request["transposed"].items()}
    if target.kind == "gpu":
        from prism_explore.tune.runner.gpu_bench import DeviceBench, device_lock

        return DeviceBench(program, shapes, target, load, seed=seed, lock=device_lock(), transposed=transposed)
    return LocalBench(program, shapes, target, load, seed=seed, fill=bool(request["fill"]), transposed=transposed)


def _limit_memory(most_bytes: int) -> None:
    if not most_bytes:
        return
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    except (ImportError, ValueError, OSError):
        return  # not supported on this system
