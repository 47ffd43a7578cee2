"""Every reference in the page of a report lands on what it names; each is clicked until nothing new appears."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from prism_explore.session.record import open_record
from prism_explore.widgets.report import report_data
from tests.widgets.test_references import KINDS, kind_of
from tests.widgets.test_report_fold import SAVED, SESSIONS

SEARCHES = {
    "made up": SESSIONS["story"],
    "relu_double": lambda: open_record(SAVED).session_to_show(),
    "softmax_steered": lambda: open_record(SAVED.with_stem("softmax_steered")).session_to_show(),
}


def test_every_reference_in_a_report_lands_on_itself(node: Path, tmp_path: Path) -> None:
    reports, script = tmp_path / "reports.json", tmp_path / "clicked.mjs"
    reports.write_text(json.dumps([report_data(session())[0] for session in SEARCHES.values()]), encoding="utf-8")
    without_page = "--banner:js=globalThis.document = { getElementById: () => null };"
    options = ["--bundle", "--platform=node", "--format=esm", "--loader:.css=text", without_page]
    subprocess.run(["npx", "esbuild", "test/clicked.js", *options, f"--outfile={script}"], cwd=node, check=True,
                   capture_output=True)  # fmt: skip
    printed = subprocess.run(["node", str(script), str(reports)], check=True, capture_output=True, text=True)
    found = dict(zip(SEARCHES, json.loads(printed.stdout), strict=True))

    assert {name: [] for name in SEARCHES} == {name: result["wrong"] for name, result in found.items()}
    kinds = {name: {kind_of(ref) for ref in result["clicked"]} for name, result in found.items()}
    everywhere = {"node", "region", "family", "candidate", "trial", "tensor", "e-class"}
    assert all(everywhere <= of_search for of_search in kinds.values())
    assert kinds["softmax_steered"] <= KINDS.keys()
    assert {"frame", "tensor of the program in a proof"} <= kinds["softmax_steered"]
    assert found["relu_double"]["paths"] and found["softmax_steered"]["paths"]
