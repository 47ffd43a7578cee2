"""A real JupyterLab and a real browser, held by a few verbs: open, run_all, wait_for_output, python.

The server is ours alone: loopback, a free port, its own configuration, data, runtime, settings and
workspaces, so that neither a user's extensions nor a running Lab can be met. The kernel is the Python
that runs the tests. Whatever the page asks of another address is written down in `left_the_server`.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import BrowserContext, Locator, Page

# Headless Chromium in a container, with nothing of its own to say to the network.
CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

# Every cell in the page at all times, and no question about the news.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


# ---------------------------------------------------------------- the server
@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: where it listens, its token, and the folder that it serves."""

    address: str
    token: str
    folder: Path

    def write_notebook(self, name: str, cells: Sequence[str]) -> str:
        """Put a notebook of these code cells into the served folder, and give its path there."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.folder / name)
        return name

    def add_notebook(self, path: Path) -> str:
        """Copy a notebook into the served folder, and give its path there."""
        (self.folder / path.name).write_bytes(path.read_bytes())
        return path.name


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_lab(scratch: Path, timeout_s: float = 120) -> Iterator[Lab]:
    """Start a JupyterLab in `scratch`, wait until it answers, stop it with its kernels at the end."""
    folder = scratch / "notebooks"
    folder.mkdir(parents=True)
    settings = scratch / "settings"
    for plugin, values in SETTINGS.items():
        path = settings / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    environment = {
        **inherited,
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(scratch / "workspaces"),
        "IPYTHONDIR": str(scratch / "ipython"),
    }
    port, token = free_port(), secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        *("--no-browser", "--allow-root", "--expose-app-in-browser"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"),
    ]
    log_path = scratch / "server.log"
    with log_path.open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    lab = Lab(f"http://127.0.0.1:{port}", token, folder)
    try:
        wait_until_it_answers(lab, server, log_path, timeout_s)
        yield lab
    finally:
        server.terminate()  # the server shuts its kernels down
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_until_it_answers(lab: Lab, server: subprocess.Popen[bytes], log_path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{lab.address}/api/status?token={lab.token}", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    log = log_path.read_text(encoding="utf-8", errors="replace")[-4000:]
    raise RuntimeError(f"JupyterLab did not answer within {timeout_s:.0f} s:\n{log}")


# ---------------------------------------------------------------- the page
NOTEBOOK = "window.jupyterapp.shell.currentWidget"

KERNEL_IS_READY = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""

RUN_ALL = "() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }"

STATE_OF_CELLS = f"""() => {NOTEBOOK}.content.widgets
  .filter(cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim() !== '')
  .map(cell => ({{
    ran: cell.model.executionCount !== null && cell.model.executionState !== 'running',
    errors: cell.model.outputs.toJSON().filter(output => output.output_type === 'error')
      .map(output => output.traceback.join('\\n')),
  }}))"""

ACTIVE_CELL = f"""() => {{
  const {{ activeCellIndex, activeCell }} = {NOTEBOOK}.content;
  return [activeCellIndex, activeCell.model.executionCount ?? null];
}}"""

# A code cell gets a new number when it has run; a cell of text has none.
HAS_RUN = f"""([index, before]) => {{
  const {{ model }} = {NOTEBOOK}.content.widgets[index];
  const {{ executionCount, executionState }} = model;
  const ran = executionCount !== null && executionCount !== before && executionState !== 'running';
  return model.type !== 'code' || model.sharedModel.source.trim() === '' || ran;
}}"""

# A request of our own, beside the cells: what it prints and what it shows as text.
EXECUTE = f"""async code => {{
  const future = {NOTEBOOK}.sessionContext.session.kernel.requestExecute({{ code }});
  const said = [];
  let failed = false;
  future.onIOPub = message => {{
    const {{ msg_type }} = message.header;
    if (msg_type === 'stream') said.push(message.content.text);
    if (msg_type === 'execute_result') said.push(message.content.data['text/plain']);
    if (msg_type === 'error') {{ failed = true; said.push(message.content.traceback.join('\\n')); }}
  }};
  await future.done;
  return {{ failed, text: said.join('') }};
}}"""


class CellError(AssertionError):
    """A cell of the notebook raised."""


@dataclass
class LabPage:
    """One notebook open in one page."""

    lab: Lab
    page: Page
    left_the_server: list[str] = field(default_factory=list)
    """Addresses outside the server that the page asked for."""
    page_errors: list[str] = field(default_factory=list)
    """Exceptions that no script of the page caught."""
    console_errors: list[str] = field(default_factory=list)
    """What the page wrote to its console as an error."""

    def __post_init__(self) -> None:
        context: BrowserContext = self.page.context
        context.on("request", lambda request: self._note(request.url))
        self.page.on("websocket", lambda socket: self._note(socket.url))
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        self.page.on("console", lambda said: self.console_errors.append(said.text) if said.type == "error" else None)

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != urlsplit(self.lab.address).netloc:
            self.left_the_server.append(url)

    def open(self, path: str, timeout_s: float = 90) -> None:
        """Open a notebook of the served folder, and wait until its kernel is connected and idle."""
        workspace = f"{self.lab.address}/lab/workspaces/{secrets.token_hex(4)}"
        self.page.goto(f"{workspace}/tree/{path}?token={self.lab.token}", wait_until="domcontentloaded")
        # Before that, "run all" silently runs nothing.
        self.page.wait_for_function(KERNEL_IS_READY, timeout=timeout_s * 1000)

    def run_all(self, timeout_s: float = 120) -> None:
        """Run every cell, and wait until each has run; raise `CellError` when one fails."""
        self.page.evaluate(RUN_ALL)
        self.wait_until_all_ran(timeout_s)

    def wait_until_all_ran(self, timeout_s: float = 120) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            cells = self.page.evaluate(STATE_OF_CELLS)
            if errors := [error for cell in cells for error in cell["errors"]]:
                raise CellError("\n".join(errors))
            if all(cell["ran"] for cell in cells):
                return
            if time.monotonic() > deadline:
                ran = sum(cell["ran"] for cell in cells)
                raise TimeoutError(f"{ran} of {len(cells)} cells ran within {timeout_s:.0f} s")
            self.page.wait_for_timeout(100)

    def choose(self, cell: Locator) -> None:
        """Click beside a cell, so that the next key is for it."""
        cell.locator(".jp-InputPrompt").first.click()

    @property
    def cells(self) -> Locator:
        """The cells of the notebook."""
        return self.page.locator(".jp-Notebook .jp-Cell")

    def shift_enter(self, timeout_s: float = 120) -> Locator:
        """Press Shift+Enter, wait until that cell has run, and give it; raise `CellError` when it fails."""
        index, before = self.page.evaluate(ACTIVE_CELL)
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(HAS_RUN, arg=[index, before], timeout=timeout_s * 1000)
        if errors := [error for cell in self.page.evaluate(STATE_OF_CELLS) for error in cell["errors"]]:
            raise CellError("\n".join(errors))
        return self.cells.nth(index)

    def shift_enter_until(self, text: str, timeout_s: float = 120) -> Locator:
        """Press Shift+Enter in cell after cell, up to the first code cell that holds `text`, and give it."""
        while True:
            cell = self.shift_enter(timeout_s)
            if text in cell.locator(".jp-InputArea-editor").first.inner_text():
                return cell

    def answer(self, cell: Locator, line: str, timeout_s: float = 60) -> Locator:
        """Type a line in place of the first one of a cell, run it with Shift+Enter, and give its output."""
        cell.locator(".cm-line").first.click()
        self.page.keyboard.press("Control+Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.type(line)
        self.shift_enter(timeout_s)
        return cell.locator(".jp-OutputArea-output")

    @property
    def outputs(self) -> Locator:
        """The output areas. (The text of a source would match too, so look for results in here only.)"""
        return self.page.locator(".jp-OutputArea-output")

    def wait_for_output(self, text: str, timeout_s: float = 60) -> Locator:
        """Wait until an output that holds `text` is visible, and give it."""
        output = self.outputs.filter(has_text=text).first
        output.wait_for(state="visible", timeout=timeout_s * 1000)
        return output

    def python(self, code: str) -> str:
        """Execute code in the notebook's kernel, beside the cells, and give what it said."""
        result = self.page.evaluate(EXECUTE, code)
        if result["failed"]:
            raise CellError(result["text"])
        return str(result["text"])
