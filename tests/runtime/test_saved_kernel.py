"""A kernel is saved, and opened where its search is not: proved, compiled and compared again."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch

import prism_explore as px
from tests.session.test_session import QUICK, B, D, Layer, N, machine, rmsnorm_linear


@pytest.fixture(scope="module")
def best():
    shapes = {"x": px.T("b", D), "g": px.T(D), "w": px.T(D, N)}
    sess = px.Session(rmsnorm_linear, **shapes, target=machine(), at={"b": B}, budget=QUICK, baselines=())
    yield sess.best()
    sess.close()


@pytest.fixture
def given():
    torch.manual_seed(0)
    return torch.randn(B, D), torch.randn(D), torch.randn(D, N)


def test_a_saved_kernel_gives_the_same_numbers_and_keeps_how_it_is_called(best, given, tmp_path):
    again = px.load_kernel(best.save(tmp_path / "rms.kernel"))
    x, g, w = given

    torch.testing.assert_close(best(x, g, w), again(x, g, w=w), rtol=0, atol=0)
    assert best.source == again.source
    assert best.verified.proof.claim == again.claim
    assert "" == again.note
    assert again.measured["time_s"] == best.timed.time_s
    assert max(again.check(1)) < 1e-4


def test_it_opens_in_a_process_that_knows_nothing_of_the_search(best, tmp_path):
    path = best.save(tmp_path / "rms.kernel")
    code = (
        "import sys, numpy as np, prism_explore as px\n"
        f"k = px.load_kernel({str(path)!r})\n"
        f"x, g, w = np.ones(({B}, {D}), np.float32), np.ones({D}, np.float32), np.ones(({D}, {N}), np.float32)\n"
        "print(k(x, g, w)[0, 0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert "" == done.stderr
    assert float(done.stdout) == pytest.approx(D, rel=1e-4)


def test_a_kernel_that_was_loaded_can_be_saved_again(best, given, tmp_path):
    first = px.load_kernel(best.save(tmp_path / "a.kernel"))
    second = px.load_kernel(first.save(tmp_path / "b.kernel"))

    torch.testing.assert_close(first(*given), second(*given), rtol=0, atol=0)


def _altered(path, change):
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    data = json.loads(texts["kernel.json"])
    change(data)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**texts, "kernel.json": json.dumps(data)}.items():
            archive.writestr(name, text)
    return path


def test_a_file_whose_graph_was_changed_is_refuted_and_not_run(best, tmp_path):
    def wrong(data):
        name, text = data["kernel"]["candidate"]
        assert "div(" in text
        data["kernel"]["candidate"] = [name, text.replace("div(", "mul(")]

    path = _altered(best.save(tmp_path / "rms.kernel"), wrong)

    with pytest.raises(px.ShapeError, match="does not compute its program: refuted at"):
        px.load_kernel(path)


def test_a_schedule_that_this_machine_cannot_run_is_left_and_said(best, given, tmp_path):
    def other(data):
        data["kernel"]["schedule"] = [["threads", 10_000], ["nonsense", 3]]

    again = px.load_kernel(_altered(best.save(tmp_path / "rms.kernel"), other))

    assert "tuned for another machine" in again.note
    torch.testing.assert_close(best(*given), again(*given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda d: d.pop("kernel"), "damaged"),
        (lambda d: d["kernel"].update(candidate=["f1.c1", "sgraph\n  nonsense"]), "damaged"),
        (lambda d: d["kernel"].update(sizes=[["gx", "many"]]), "damaged"),
        (lambda d: d.update(signature=[1, 2]), "damaged"),
    ],
)
def test_a_damaged_file_says_so(best, tmp_path, change, word):
    with pytest.raises(px.JournalVersionError, match=word):
        px.load_kernel(_altered(best.save(tmp_path / "rms.kernel"), change))


def test_another_kind_of_file_is_refused_with_what_was_expected(tmp_path):
    path = tmp_path / "x.kernel"
    path.write_text("hello")

    with pytest.raises(px.JournalVersionError, match=r"no saved kernel.*expected a \.kernel file"):
        px.load_kernel(path)


# ---------------------------------------------------------------- modules and gradients
@pytest.fixture(scope="module")
def layer():
    torch.manual_seed(1)
    made = Layer().eval()
    sess = px.Session(made, x=torch.randn(B, D), target=machine(), budget=QUICK, baselines=())
    yield made, sess.best()
    sess.close()


def test_a_module_s_weights_are_not_saved_and_are_asked_for(layer, tmp_path):
    module, best = layer
    path = best.save(tmp_path / "layer.kernel")
    x = torch.randn(B, D)

    with pytest.raises(px.ShapeError, match=r"norm\.weight, proj\.weight.*pass it: load_kernel\(path, module\)"):
        px.load_kernel(path)
    with torch.no_grad():
        torch.testing.assert_close(module(x), px.load_kernel(path, module)(x), rtol=2e-4, atol=2e-5)
    assert path.stat().st_size < 20_000


def test_the_gradient_is_the_torch_code_s(best, given):
    ours = [t.clone().requires_grad_() for t in given]
    theirs = [t.clone().requires_grad_() for t in given]
    weights = torch.randn(B, N)

    (best(*ours) * weights).sum().backward()
    (rmsnorm_linear(*theirs) * weights).sum().backward()

    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-4, atol=1e-4)


def test_only_what_requires_a_gradient_gets_one(best, given):
    x, g, w = given
    best(x, g.requires_grad_(), w).sum().backward()

    assert g.grad is not None
    assert x.grad is None


def test_a_module_s_parameters_learn_through_its_kernel(layer):
    module, best = layer
    x = torch.randn(B, D)
    module.zero_grad()
    module(x).square().sum().backward()
    wanted = {n: p.grad.clone() for n, p in module.named_parameters()}
    module.zero_grad()
    best(x).square().sum().backward()

    for name, p in module.named_parameters():
        torch.testing.assert_close(wanted[name], p.grad, rtol=1e-3, atol=1e-3)


def test_a_gradient_without_torch_code_says_what_to_do(best, given, tmp_path):
    again = px.load_kernel(best.save(tmp_path / "rms.kernel"))
    x, g, w = given

    with pytest.raises(px.ShapeError, match=r"no_grad\(\) or with x\.detach\(\)"):
        again(x.requires_grad_(), g, w)
    with torch.no_grad():
        np.testing.assert_allclose(best(x, g, w), again(x, g, w))
