# pyright: basic
# It calls torch, triton, llvmlite and pygraphviz, which ship no types.
"""The parts that `doctor` tries: one row per part, and the function that tries it.

A function returns what it found. An exception from it means that the part does not work, an ImportError that it is
not installed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

TIMEOUT_S = 60.0
"""Longest time of one compiler or of one other Python."""


@dataclass(frozen=True, slots=True)
class Works:
    """The part was tried and works."""

    found: str
    limits: str = ""
    """What does not work nevertheless, or what works worse than it could, and what to do about it."""


@dataclass(frozen=True, slots=True)
class NotHere:
    """The part is not installed or not present."""

    found: str
    advice: str = ""
    """Instead of the advice of the row."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The part is present and does not work."""

    found: str
    advice: str = ""
    """Instead of the advice of the row."""


Outcome: TypeAlias = Works | NotHere | Failed


@dataclass(frozen=True, slots=True)
class Check:
    """A part to try."""

    part: str
    run: Callable[[], Outcome]
    purpose: str
    """What it is needed for."""
    advice: str
    """What to do if it does not work."""
    required: bool = False
    """Whether a search on the CPU needs it."""


HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Linux' setting."""
_HUGE_PAGES_GAIN = "large weights are read up to 1.9 times as fast on an Intel virtual machine, no faster on Zen 4"

# ---------------------------------------------------------------- the notebook
KERNEL_TRAPS: tuple[tuple[str, str], ...] = (
    ("7.0.", "a search that runs in the background cannot update the explorer; pip install 'ipykernel!=7.0.*'"),
    ("6.", "while a cell runs, clicks and Pause wait for its end; use sess.start(), or ipykernel 7.4 or later"),
    ("7.1.", "in JupyterLab before 4.4, clicks wait while a cell runs; use sess.start()"),
    ("7.2.", "in JupyterLab before 4.4, clicks wait while a cell runs; use sess.start()"),
    ("7.3.", "in JupyterLab before 4.4, clicks wait while a cell runs; use sess.start()"),
    ("5.", "it is older than any version that was tested; pip install --upgrade ipykernel"),
)
"""Beginning of an ipykernel version, and what does not work with it."""


def kernel_trap(ipykernel: str) -> str:
    """What does not work with this version of ipykernel; empty if nothing is known."""
    return next((trap for start, trap in KERNEL_TRAPS if ipykernel.startswith(start)), "")


def _versions(*packages: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _text(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {number}" for package, number in versions.items())


def check_kernel() -> Outcome:
    """The kernel of this notebook, or the one that a notebook in this environment would get."""
    found = _versions("ipykernel", "ipywidgets", "traitlets")
    if "ipykernel" not in found:
        return NotHere("ipykernel is not installed")
    where = "this Python is a Jupyter kernel" if is_kernel() else "this Python is no Jupyter kernel"
    return Works(f"{_text(found)}; {where}", kernel_trap(found["ipykernel"]))


def is_kernel() -> bool:
    """Whether this Python is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def check_server() -> Outcome:
    """The Jupyter server, and the browser halves of ipywidgets and anywidget in its environment."""
    python = server_python()
    if python is None:
        found = _versions("jupyterlab", "notebook", "voila", "jupyter-server")
        if not found:
            return NotHere("no JupyterLab and no Notebook in this environment")
        return _widgets_of(Path(sys.executable), f"{_text(found)}, in this environment", "this environment")
    return _widgets_of(python, f"the server runs {python}", "the environment of the server")


def server_python() -> Path | None:
    """The Python of the server that started this kernel; None if it is not known."""
    parent = os.environ.get("JPY_PARENT_PID", "")
    executable = Path("/proc") / parent / "exe"
    if not parent.isdecimal() or not is_kernel() or not executable.exists():
        return None
    # The first word, because the target of the link is not in the virtual environment.
    command = (executable.parent / "cmdline").read_bytes().split(b"\0")[0].decode()
    named = shutil.which(command) if command else None
    return Path(named) if named else executable.resolve()


_SERVER_CODE = """
import sys
from importlib.metadata import version, PackageNotFoundError
from pathlib import Path
from jupyter_core.paths import jupyter_path
folders = [Path(p) / "labextensions" for p in jupyter_path()]
for package, extension in (("anywidget", "anywidget"), ("jupyterlab_widgets", "@jupyter-widgets/jupyterlab-manager")):
    there = any((folder / extension / "package.json").is_file() for folder in folders)
    try:
        number = version(package)
    except PackageNotFoundError:
        number = "no version"
    print(package, number, "found" if there else "missing")
"""


def _widgets_of(python: Path, where: str, environment: str) -> Outcome:
    """Whether JupyterLab, as that Python starts it, finds the extensions that draw widgets."""
    done = subprocess.run([python, "-c", _SERVER_CODE], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        return Failed(f"{where}; it cannot list its extensions: {done.stderr.strip().splitlines()[-1:]}")
    rows = [line.split(" ") for line in done.stdout.strip().splitlines()]
    missing = [row[0] for row in rows if row[-1] == "missing"]
    listed = ", ".join(f"{row[0]} {' '.join(row[1:-1])}" for row in rows if row[-1] == "found")
    if missing:
        packages = " ".join(missing)
        return Failed(
            f"{where}; the browser halves of {packages} are not found there",
            f"run pip install {packages} in {environment}, then reload the page",
        )
    return Works(f"{where}; with {listed}")


_VOILA_CODE = """
from pathlib import Path
from jupyter_core.paths import jupyter_path
for kind, name in (("nbconvert", "base"), ("nbconvert", "lab"), ("voila", "lab")):
    folders = [Path(p) / kind / "templates" / name for p in jupyter_path()]
    if not any(folder.is_dir() for folder in folders):
        print(kind)
"""


def check_voila() -> Outcome:
    """Whether Voila finds the templates without which it shows an empty page or cell."""
    found = _versions("voila", "nbconvert")
    if "voila" not in found:
        return NotHere("voila is not installed", "pip install voila, if notebooks are to be served as pages")
    code = [sys.executable, "-c", _VOILA_CODE]
    done = subprocess.run(code, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    missing = sorted(set(done.stdout.split()))
    if done.returncode != 0 or missing:
        what = f"the templates of {' and '.join(missing)}" if missing else done.stderr.strip()[-200:]
        packages = " ".join(missing or ["voila", "nbconvert"])
        return Failed(f"{_text(found)}; not found: {what}", f"pip install --force-reinstall {packages}")
    return _widgets_of(Path(sys.executable), f"{_text(found)} and its templates", "this environment")


def check_browser_half() -> Outcome:
    """The bundles that the explorer, reports and pictures with sliders send to the browser."""
    folder = Path(__file__).resolve().parent.parent / "widgets" / "static"
    sizes: list[str] = []
    for name in ("explorer.js", "report.js", "frames.js"):
        text = (folder / name).read_text(encoding="utf-8")
        if len(text) < 10_000 or (name == "explorer.js" and "export" not in text[-400:]):
            return Failed(f"{folder / name} is damaged: {len(text):,} characters")
        sizes.append(f"{name} {len(text.encode()) / 1024:.0f} KB")
    from prism_explore.widgets.explorer import Explorer

    if not getattr(Explorer, "_esm", ""):
        return Failed("the widget has no browser half")
    return Works(", ".join(sizes))


# ---------------------------------------------------------------- kernels on the CPU
def check_cpu_kernels() -> Outcome:
    """Compile and run a small program with the code generator that searches use."""
    import numpy as np

    from prism_explore.codegen.cpu.llvm.jit import JitModule
    from prism_explore.targets.cpus import host_cpu

    cpu = host_cpu()
    text = (
        "define void @scale(float* %x, float %by, i64 %n) {\nentry:\n  br label %loop\nloop:\n"
        "  %i = phi i64 [0, %entry], [%next, %loop]\n  %at = getelementptr float, float* %x, i64 %i\n"
        "  %old = load float, float* %at\n  %new = fmul float %old, %by\n  store float %new, float* %at\n"
        "  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done\n"
        "done:\n  ret void\n}\n"
    ).replace("float*", "ptr")
    module = JitModule(text, cpu)
    scale = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_float, ctypes.c_int64)(module.address("scale"))
    values = np.arange(64, dtype=np.float32)
    scale(values.ctypes.data, 2.0, 64)
    if not np.array_equal(values, 2 * np.arange(64, dtype=np.float32)):
        return Failed("a kernel that doubles 64 numbers gave other numbers")
    found = f"llvmlite {version('llvmlite')} compiled and ran a kernel for {cpu.name}: {cpu.lanes} float32 lanes, "
    return Works(found + f"{cpu.threads} core{'' if cpu.threads == 1 else 's'}")


def check_c_compiler() -> Outcome:
    """Compile a C function and call it."""
    compiler = next((path for name in (os.environ.get("CC", ""), "cc", "gcc", "clang") if (path := _which(name))), None)
    if compiler is None:
        return NotHere("no cc, gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "twice.c", Path(folder) / "twice.so"
        source.write_text("int twice(int x) { return 2 * x; }\n", encoding="utf-8")
        command = [compiler, "-shared", "-fPIC", str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            return Failed(f"{compiler} cannot compile: {done.stderr.strip()[:200]}")
        if ctypes.CDLL(str(library)).twice(21) != 42:
            return Failed(f"a function compiled by {compiler} gave a wrong result")
    return Works(f"{compiler} compiled a function, and it ran")


def _which(name: str) -> str | None:
    return shutil.which(name) if name else None


# ---------------------------------------------------------------- torch, Triton, the GPU
def check_torch() -> Outcome:
    """Trace a torch function, as a session does."""
    import torch

    from prism_explore.frontend import trace
    from prism_explore.ir.tensors import tensor

    def product(x, w):
        return torch.relu(x @ w)

    traced = trace(product, {"x": tensor("b", 8), "w": tensor(8, 4)})
    operators = len(traced.program.graph.nodes)
    return Works(f"torch {torch.__version__}; a function was traced into {operators} operators")


def check_huge_pages() -> Outcome:
    """Whether torch's tensors lie in huge pages, so that fewer addresses are translated while a weight is read."""
    try:
        setting = HUGE_PAGES.read_text(encoding="utf-8")
    except OSError:
        return NotHere(f"{HUGE_PAGES} cannot be read", "nothing: this system decides on its own")
    chosen = setting.partition("[")[2].partition("]")[0]
    asks = os.environ.get("THP_MEM_ALLOC_ENABLE") == "1"
    if chosen == "always" or (chosen == "madvise" and asks):
        return Works(f"Linux gives huge pages to torch's tensors ({chosen})")
    if chosen == "madvise":
        advice = "set THP_MEM_ALLOC_ENABLE=1 before Python starts"
        return Works("Linux gives huge pages on request, and torch requests none", f"{advice} ({_HUGE_PAGES_GAIN})")
    advice = f"echo madvise | sudo tee {HUGE_PAGES}, and set THP_MEM_ALLOC_ENABLE=1"
    return Works(f"Linux gives no huge pages ({chosen or 'unknown setting'})", f"{advice} ({_HUGE_PAGES_GAIN})")


def check_triton() -> Outcome:
    """Compile a Triton kernel for an H100, which needs no GPU."""
    import triton

    from prism_explore.codegen.triton.aot import ENVIRONMENT
    from prism_explore.codegen.triton.worker_process import Failure, Worker
    from prism_explore.targets.gpus import ARCHITECTURES

    source = (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef twice(x, n: tl.constexpr):\n"
        "    at = x + tl.arange(0, n)\n    tl.store(at, 2 * tl.load(at))\n\n\ndef launch():\n    return twice\n"
    )
    request = {
        "source": source,
        "kernel": "twice",
        "target": ARCHITECTURES["sm_90"].triton,
        "options": {"num_warps": 4, "num_stages": 1},
        "signature": {"x": "*fp32", "n": "constexpr"},
        "constants": {"n": 128},
        "aligned": [0],
    }
    with Worker("prism_explore.codegen.triton.aot", ENVIRONMENT) as worker:
        reply = worker.request(request, TIMEOUT_S)
    if isinstance(reply, Failure):
        return Failed(f"triton {triton.__version__} cannot compile for an H100: {reply.reason}")
    return Works(f"triton {triton.__version__} compiled a kernel for an H100: {reply['registers']} registers")


def check_gpu() -> Outcome:
    """Compute on the GPU."""
    import torch

    from prism_explore.tune.runner.gpu_bench import device_name

    if not torch.cuda.is_available():
        return NotHere("torch finds no GPU")
    name = device_name()
    total = float(torch.arange(1024, device="cuda", dtype=torch.float32).sum())
    if total != 1023 * 512:
        return Failed(f"{name} computed a wrong sum")
    return Works(f"{name} computed a sum; {torch.cuda.mem_get_info()[1] / 2**30:.0f} GiB of memory")


# ---------------------------------------------------------------- proofs, pictures, files
def check_egglog() -> Outcome:
    """Prove an equation in egglog's process."""
    from prism_explore.verify.egraph.client import EgglogClient, Problem
    from prism_explore.verify.egraph.limits import Limits, explain

    with EgglogClient() as client:
        run = client.prove(Problem("", '(At "a")', '(At "a")'), Limits(seconds=TIMEOUT_S))
    if not run.equal:
        return Failed(f"egglog {version('egglog')}: {explain(run.stop)}")
    return Works(f"egglog {version('egglog')} proved an equation")


def check_graphviz() -> Outcome:
    """Lay out a graph of two nodes."""
    from prism_explore.widgets.drawing.layout import Box, Diagram, load_graphviz, place

    load_graphviz()  # a layout of this graph may be known from an earlier call
    placed = place(Diagram((Box("a", 40.0, 20.0), Box("b", 40.0, 20.0)), (("a", "b"),)))
    if placed.rects["a"].y >= placed.rects["b"].y:
        return Failed("the layout of two nodes is upside down")
    return Works(f"pygraphviz {version('pygraphviz')} laid out a graph")


def check_state_folder() -> Outcome:
    """Write a file into the folder that keeps the figures of this machine."""
    from prism_explore.targets.host import cache_file

    folder = cache_file().parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")
    free_gib = shutil.disk_usage(folder).free / 2**30
    return Works(f"{folder}, {free_gib:.1f} GiB free", "" if free_gib > 0.1 else "less than 100 MB are free")


def check_machine() -> Outcome:
    """How busy the machine is: times on a busy one are not reliable."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {cores} cores"
    if not hasattr(os, "getloadavg"):
        return Works(found)
    load = os.getloadavg()[0]
    busy = f"other work runs: the load is {load:.1f} for {cores} cores, so measured times are not reliable now"
    return Works(f"{found}, load {load:.1f}", busy if load > 0.7 * cores else "")


CHECKS: tuple[Check, ...] = (
    Check("machine", check_machine, "everything", "use Python 3.11 or later", True),
    Check("Jupyter kernel", check_kernel, "the explorer in a notebook", "pip install 'ipykernel!=7.0.*'"),
    Check("Jupyter server", check_server, "the explorer in a notebook", "pip install jupyterlab anywidget"),
    Check("Voila", check_voila, "the explorer in a page of Voila", "pip install voila"),
    Check(
        "browser half", check_browser_half, "the explorer and reports", "pip install --force-reinstall prism-explore"
    ),
    Check("CPU kernels", check_cpu_kernels, "kernels on the CPU", "pip install --upgrade llvmlite", True),
    Check("C compiler", check_c_compiler, "the torch.compile baseline, and Triton on a GPU", "apt-get install gcc"),
    Check("torch", check_torch, "programs from torch code, and its baselines", "pip install torch", True),
    Check("huge pages", check_huge_pages, "kernels that read large weights", "nothing: kernels run without them"),
    Check("Triton", check_triton, "kernels for GPUs", "pip install triton, which exists for Linux only"),
    Check("GPU", check_gpu, "timing kernels on a GPU", "without one, GPU kernels are compiled and modelled, not timed"),
    Check("egglog", check_egglog, "certificates of proofs, and e-graphs", "pip install 'egglog>=13.2,<14'", True),
    Check("Graphviz", check_graphviz, "pictures of graphs", "pip install pygraphviz"),
    Check(
        "state folder",
        check_state_folder,
        "figures of this machine from run to run",
        "make the folder one that can be written; on Linux XDG_CACHE_HOME names another, on Windows LOCALAPPDATA",
    ),
)
"""The parts, in the order of the table."""
