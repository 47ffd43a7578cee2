"""A doubtful reader, driven: certify a proof, step its e-graph, audit a cut, ask what if, take a question back."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, LabPage

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(600)]

CELLS = (
    """
import prism_explore as px
def rms_linear(x, w):
    return x / x.square().mean(-1, keepdim=True).sqrt() @ w
sess = px.Session(rms_linear, x=px.T("b", 64), w=px.T(64, 64), target="cpu", at={"b": 8})
sess.run(until=lambda s: any(f.row.proved for f in s.families.values()))
""",
    "sess",
)


def states(page: LabPage) -> dict[str, str]:
    return json.loads(page.python("import json; print(json.dumps({q.id: q.state for q in sess.questions.values()}))"))


def select(page: LabPage, ref: str) -> None:
    page.python(f"sess.select({ref!r})")


def card(explorer: Locator, title: str) -> Locator:
    return explorer.locator("[data-panel=inspector] .pe-card").filter(has=explorer.page.get_by_text(title, exact=True))


def walk_through_the_graph(explorer: Locator) -> None:
    """Collapse and expand a kernel, enter it by keyboard; move a size, and with it what a block reads."""
    graph, sizes = explorer.locator("[data-panel=graph]"), explorer.locator("[data-panel=sizes]")
    picture, trail = graph.locator("svg[data-stage]"), graph.locator(".pe-trail")
    explorer.locator("[data-panel=graph] [data-action=toggle]").first.click()
    expect(picture).to_contain_text("custom kernel")
    picture.locator(".role-box", has_text="custom kernel").click()
    picture.press("Enter")
    expect(picture).to_contain_text("load x")
    picture.press("Shift+Enter")
    expect(trail).to_contain_text("kernel %")
    picture.press("Backspace")
    expect(trail).not_to_contain_text("kernel %")

    explorer.get_by_role("tab", name="Sizes").click()
    slider = sizes.locator("input[type=range]:enabled").first
    symbol = slider.get_attribute("data-symbol")
    slider.press("End")
    expect(sizes.locator("output").first).to_have_text(re.compile(rf"^{symbol} = \d+$"))
    reads = sizes.locator("figure[data-kind=load] figcaption")
    before = reads.all_inner_texts()
    sizes.get_by_role("button", name=re.compile("^next ")).first.click()
    expect(reads).not_to_have_text(before)


def test_a_reader_who_doubts_gets_evidence_and_answers(lab: Lab, lab_page: LabPage) -> None:
    page = lab_page.page
    lab_page.open(lab.write_notebook("doubts.ipynb", CELLS))
    lab_page.run_all(timeout_s=240)
    explorer = page.locator(".prism-explore").last
    explorer.scroll_into_view_if_needed()
    inspector = explorer.locator("[data-panel=inspector]")
    expect(inspector).to_contain_text("The result so far")

    # A proved candidate: its conditions, its trials; then its certificate, lemma by lemma.
    proved = lab_page.python(
        "print(next(c for f in sess.families.values() for c, v in f.verdicts.items() if v.verdict == 'proved'), end='')"
    )
    select(lab_page, proved)
    expect(card(explorer, f"{proved} proved")).to_contain_text("normal form")
    expect(card(explorer, "passed the refuter")).to_contain_text("relative error")
    expect(card(explorer, "certificate")).to_contain_text("No certificate has been made")
    inspector.get_by_role("button", name=re.compile("^Certify")).click()
    certificate = card(explorer, "certificate")
    expect(certificate).to_contain_text("lemmas from axioms alone", timeout=60_000)
    fold = certificate.locator("details").filter(has=page.locator(".pe-chain")).first
    fold.locator("summary").locator("math, code").first.click()
    expect(fold.locator(".pe-chain")).to_be_visible()
    expect(fold).to_contain_text("by ")

    # The e-graph of a lemma, forward and back with its own buttons.
    explorer.get_by_role("tab", name="E-classes").click()
    tensor = lab_page.python(
        f"e = sess.equalities({proved!r}); print(max(e.tensors, key=lambda t: len(e.lemma(t).frames)), end='')"
    )
    select(lab_page, f"{proved}/{tensor}@0")
    eclasses = explorer.locator("[data-panel=eclasses]")
    expect(eclasses).to_contain_text("frame 0 of", timeout=30_000)
    eclasses.get_by_role("button", name=re.compile("next")).click()
    expect(eclasses).to_contain_text("frame 1 of")
    expect(inspector).to_contain_text("round 1")
    eclasses.get_by_role("button", name=re.compile("previous")).click()
    expect(eclasses).to_contain_text("frame 0 of")

    # The path from the program's tensor to the candidate's, played as steps.
    eclasses.get_by_role("button", name="Path", exact=True).click()
    steps = eclasses.locator(".pe-path > li")
    expect(steps.nth(1)).to_be_visible(timeout=30_000)
    eclasses.locator(".pe-pathbox").get_by_role("button", name=re.compile("next")).click()
    expect(steps.nth(1)).to_have_attribute("aria-current", "step")
    walk_through_the_graph(explorer)

    # An audit of a cut, and a what-if from the form; both are listed, and their answers lead on.
    region = lab_page.python(
        "print(next(p for p, h in sess.pruned.items() if h.reason.rule == 'expr.unreachable'), end='')"
    )
    select(lab_page, region)
    inspector.get_by_role("button", name=f"Audit {region}", exact=True).click()
    expect(inspector.locator(".pe-card", has_text=f"audit of {region}")).to_be_visible(timeout=120_000)
    explorer.get_by_role("tab", name="What-if").click()
    questions = explorer.locator("[data-panel=questions]")
    questions.locator("[name=block_ops]").fill("12")
    questions.get_by_role("button", name="What if?").click()
    row = questions.get_by_role("row").filter(has_text="block_ops=12")
    expect(row).to_contain_text("answered", timeout=120_000)
    row.click()
    expect(inspector).to_contain_text("what if:")
    assert {"q1": "answered", "q2": "answered", "q3": "answered"} == states(lab_page)

    # One that would take long is taken back, and the kernel was free all the while.
    for rule in ("expr.unreachable", "expr.apart", "limit.needed", "dup.canonical"):
        questions.locator(f"[value='{rule}']").check()
    questions.locator("[name=run]").check()
    questions.locator("[name=nodes]").fill("100000")
    questions.get_by_role("button", name="What if?").click()
    expect(questions.get_by_role("row").filter(has_text="running")).to_be_visible(timeout=20_000)
    assert "2" == lab_page.python("1 + 1")
    questions.get_by_role("button", name="cancel q4").click()
    expect(questions.get_by_role("row").filter(has_text="cancelled")).to_be_visible(timeout=20_000)
    assert "cancelled" == states(lab_page)["q4"]

    # Back in time, to where nothing was complete; the search itself stays where it is.
    families = explorer.locator("[data-panel=families] tbody tr[data-ref]")
    explorer.get_by_role("tab", name="Families").click()
    expect(families.first).to_be_visible()
    explorer.get_by_label("show an earlier state").fill("2")
    expect(explorer.locator(".pe-banner")).to_contain_text("Earlier state, event 2 of")
    expect(families).to_have_count(0)
    explorer.locator(".pe-banner").get_by_role("button", name="Back to now").click()
    expect(families.first).to_be_visible()
    expect(explorer.locator(".pe-banner")).to_be_hidden()

    assert lab_page.page_errors == []
