"""What is shipped: metadata agree, bundles are what their sources say, nothing is personal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "prism_explore" / "widgets" / "static"
LIMITS_BYTES = {"explorer.js": 200 * 1024, "frames.js": 64 * 1024, "report.js": 240 * 1024}

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def declared() -> dict[str, Requirement]:
    """Every direct dependency, whichever extra brings it."""
    extras = PROJECT["optional-dependencies"].values()
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]
    return {requirement.name: requirement for requirement in map(Requirement, texts)}


def tried() -> dict[str, Requirement]:
    """The lines of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line and not line.startswith("#")]
    return {requirement.name: requirement for requirement in map(Requirement, texts)}


def bundles(folder: Path) -> dict[str, bytes]:
    """The bundles of a folder, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.js"))}


# ---------------------------------------------------------------- metadata agree
def test_every_direct_dependency_has_a_tried_version_and_nothing_else_has() -> None:
    assert sorted(declared()) == sorted(tried())


def test_tried_versions_are_exact_and_allowed() -> None:
    for name, requirement in tried().items():
        (exact,) = requirement.specifier

        assert exact.operator == "=="
        assert declared()[name].specifier.contains(exact.version), f"{requirement} is not allowed"


def test_ipykernel_7_0_is_refused_because_its_threads_cannot_set_traits() -> None:
    allowed = declared()["ipykernel"].specifier

    assert not allowed.contains("7.0.1")
    assert allowed.contains("6.31")
    assert allowed.contains("7.4.0")


def test_conda_takes_python_from_pyproject_and_the_rest_through_pip() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    rows = re.findall(r"^ +- (.+)$", text.split("dependencies:")[1], flags=re.MULTILINE)

    assert rows == [f"python{PROJECT['requires-python']}", "pip", "pip:", "-e .[lab]"]
    assert f"name: {PROJECT['name']}\n" in text
    assert "lab" in PROJECT["optional-dependencies"]


def test_this_python_is_a_supported_one() -> None:
    version = ".".join(map(str, sys.version_info[:3]))

    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


# ---------------------------------------------------------------- the bundles
def test_bundles_are_small() -> None:
    assert list(LIMITS_BYTES) == list(bundles(STATIC))
    for name, content in bundles(STATIC).items():
        assert len(content) <= LIMITS_BYTES[name], f"{name} has {len(content)} bytes"


def test_bundles_ask_the_network_for_nothing() -> None:
    namespaces = {f"http://www.w3.org/{path}".encode() for path in ("2000/svg", "1999/xhtml", "1998/Math/MathML")}
    for name, content in bundles(STATIC).items():
        addresses = set(re.findall(rb"https?://[^\s\"'`)<>]+", content))

        assert addresses <= namespaces, f"{name} names {sorted(addresses - namespaces)}"
        for word in (
            rb"\beval\(",
            rb"\bnew Function\b",
            rb"\bfetch\(",
            rb"\bXMLHttpRequest\b",
            rb"\bWebSocket\b",
        ):
            assert not re.search(word, content), f"{name} holds {word.decode()}"


def test_bundles_are_rebuilt_byte_for_byte(node: Path, tmp_path: Path) -> None:
    built = subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=node, capture_output=True, text=True)

    assert built.returncode == 0, built.stderr
    assert sorted(bundles(STATIC)) == sorted(bundles(tmp_path)), "run `make widgets` and commit its result"
    for name, content in bundles(tmp_path).items():
        assert bundles(STATIC)[name] == content, f"static/{name} is stale: run `make widgets` and commit it"


# ---------------------------------------------------------------- nothing personal
def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((ROOT / "widgets" / "package-lock.json").read_text(encoding="utf-8"))

    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
    assert all("integrity" in entry for name, entry in lock["packages"].items() if name)


def test_the_lock_file_serves_every_platform() -> None:
    lock = json.loads((ROOT / "widgets" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    locked = {name.split("node_modules/")[-1] for name in lock}
    wanted = {name for entry in lock.values() for name in entry.get("optionalDependencies", ())}

    assert sorted(wanted - locked) == [], "npm ci refuses such a lock file"


def test_the_lock_file_is_for_the_versions_of_package_json() -> None:
    package = json.loads((ROOT / "widgets" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "widgets" / "package-lock.json").read_text(encoding="utf-8"))

    assert package["devDependencies"] == lock["packages"][""]["devDependencies"]
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is not pinned: the bundles could not be rebuilt"


def test_no_file_names_a_home_folder() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    home = re.compile(r"(?<![\w.])/(home|Users|root)/\w")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path != Path(__file__).resolve():
            found = home.search(path.read_text(encoding="utf-8", errors="ignore"))

            assert not found, f"{name} holds a path of somebody's machine: {found and found.group()}"


# ---------------------------------------------------------------- what is installed
def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "prism_explore" / "py.typed").exists()


@pytest.mark.slow
def test_a_wheel_carries_the_bundles_and_the_types(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)], capture_output=True, text=True
    )
    if built.returncode != 0 and "hatchling" in built.stderr:
        pytest.skip("pip could not fetch the build backend (hatchling)")

    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    import zipfile

    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"prism_explore/widgets/static/{name}" for name in bundles(STATIC)}
    assert {"prism_explore/py.typed", *shipped} <= names
    assert {name.split("/")[0] for name in names} == {
        "prism_explore",
        f"prism_explore-{PROJECT['version']}.dist-info",
    }
