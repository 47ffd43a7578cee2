"""The explorer in kernels of several ipykernel versions: messages are answered, also while a cell runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "6.31": ("ipykernel==6.31.*", "nest_asyncio"),
    "7.3": ("ipykernel==7.3.*", "nest_asyncio2"),
    "7.4": ("ipykernel==7.4.*", "nest_asyncio2"),
}
"""Per version, what pip installs; the other packages are those of the tests."""
SHOW = """
import ipykernel
import prism_explore as px
builder = px.ProgramBuilder("double")
x = builder.input("x", "b", 16)
sess = px.Session(builder.build(builder.unary("relu", x)), at={"b": 4}, target="h100")
print(ipykernel.__version__, sess.widget.model_id)
"""
SLEEP_S = 2


@pytest.fixture(params=PACKAGES, scope="module")
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def client(version: str) -> Iterator[BlockingKernelClient]:
    """A client of a kernel with this version of ipykernel, which is installed once, beside the environment."""
    folder = Path(sys.prefix) / f"ipykernel-{version}"
    if not (folder / "ipykernel").is_dir():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(folder), *PACKAGES[version]], check=True)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def shown(client: BlockingKernelClient) -> tuple[str, str]:
    """Make a session with its explorer; the kernel's version, and the id of the widget."""
    words: list[str] = []

    def collect(message: dict[str, Any]) -> None:
        assert message["msg_type"] != "error", message["content"]
        if message["msg_type"] == "stream":
            words.extend(message["content"]["text"].split())

    client.execute_interactive(SHOW, output_hook=collect, timeout=90)
    version, comm = words[-2:]
    return version, comm


def subshell(client: BlockingKernelClient) -> str | None:
    """A subshell, as JupyterLab makes one per widget; None if the kernel has none."""
    request = client.session.msg("create_subshell_request")
    client.control_channel.send(request)
    deadline = monotonic() + 5
    while monotonic() < deadline:
        try:
            reply = client.control_channel.get_msg(timeout=1)
        except Empty:
            continue
        if reply["parent_header"].get("msg_id") == request["header"]["msg_id"]:
            return reply["content"].get("subshell_id")
    return None


def send(client: BlockingKernelClient, comm: str, shell: str | None, **content: Any) -> None:
    data = {"method": "custom", "content": content}
    message = client.session.msg("comm_msg", {"comm_id": comm, "data": data})
    if shell is not None:
        message["header"]["subshell_id"] = shell
    client.shell_channel.send(message)


def messages(client: BlockingKernelClient, timeout_s: float = 30) -> Iterator[dict[str, Any]]:
    """What the kernel publishes, until `timeout_s` have passed."""
    deadline = monotonic() + timeout_s
    while monotonic() < deadline:
        try:
            yield client.get_iopub_msg(timeout=1)
        except Empty:
            continue
    pytest.fail(f"the kernel did not answer within {timeout_s:g} s")


def custom(message: dict[str, Any]) -> dict[str, Any]:
    """The content of a message of the widget; empty for another message."""
    data = message["content"].get("data", {}) if message["msg_type"] == "comm_msg" else {}
    return data.get("content", {}) if data.get("method") == "custom" else {}


def is_reply(message: dict[str, Any], event_id: str) -> bool:
    return any(r["event_id"] == event_id and r["ok"] for r in custom(message).get("replies", ()))


def test_the_explorer_answers_and_a_click_during_a_cell_is_not_lost(client: BlockingKernelClient, version: str) -> None:
    installed, comm = shown(client)
    assert installed.startswith(f"{version}.")
    shell = subshell(client)
    assert (shell is not None) == (version != "6.31")

    send(client, comm, shell, kind="hello", have=0)
    next(m for m in messages(client) if custom(m).get("kind") == "sections")

    cell = client.execute(f"import time; time.sleep({SLEEP_S})")
    next(m for m in messages(client) if m["msg_type"] == "status" and m["parent_header"].get("msg_id") == cell)
    send(client, comm, shell, kind="command", event_id="click", name="select", args={"id": "n1"})
    answered = ended = False
    order: list[str] = []
    for message in messages(client):
        if not answered and is_reply(message, "click"):
            answered = True
            order.append("reply")
        is_idle = message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
        if is_idle and message["parent_header"].get("msg_id") == cell:
            ended = True
            order.append("end of the cell")
        if answered and ended:
            break

    # Without subshells, the kernel reads the click when the cell has ended.
    assert order == (["end of the cell", "reply"] if shell is None else ["reply", "end of the cell"])


# ---------------------------------------------------------------- cells that run again
DOUBLE = """
import prism_explore as px
builder = px.ProgramBuilder("double")
x = builder.input("x", "b", 16)
def session():
    return px.Session(builder.build(builder.unary("relu", x)), at={"b": 4}, target="h100")
"""

EXPRESSIONS = {
    "open": "[s._widget is not None and not s._widget.is_closed for s in made]",
    "threads": "sum(t.name == 'prism-publisher' for t in __import__('threading').enumerate())",
}


def run(client: BlockingKernelClient, code: str, cell: str) -> dict[str, str]:
    """Run a cell as JupyterLab does, and give the values of `EXPRESSIONS` after it."""
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": EXPRESSIONS}
    request = client.session.msg("execute_request", content, metadata={"cellId": cell})
    client.shell_channel.send(request)
    while True:
        reply = client.get_shell_msg(timeout=60)
        if reply["parent_header"].get("msg_id") == request["header"]["msg_id"]:
            assert reply["content"]["status"] == "ok", reply["content"]
            found = reply["content"]["user_expressions"]
            return {name: found[name]["data"]["text/plain"] for name in EXPRESSIONS if found[name]["status"] == "ok"}


def test_a_cell_that_runs_again_closes_the_explorer_that_it_showed(client: BlockingKernelClient) -> None:
    run(client, f"{DOUBLE}made = []", "first")
    first = run(client, "made.append(session()); made[-1]", "cell")
    assert first["open"] == "[True]"
    again = run(client, "made.append(session()); made[-1]", "cell")
    assert again["open"] == "[False, True]" and again["threads"] == first["threads"]
    # The same search, shown again: its explorer stays.
    assert run(client, "made[-1]", "cell")["open"] == "[False, True]"
    # Another cell shows it too, so it is still seen when the first one shows nothing.
    run(client, "made[-1]", "other")
    assert run(client, "None", "cell")["open"] == "[False, True]"
    # A search whose explorer was closed has a new one.
    assert run(client, "made[0]", "cell")["open"] == "[True, True]"
    assert run(client, "None", "other")["open"] == "[True, False]"
