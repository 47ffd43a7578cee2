"""Where torch was faster beside the kernel, a call runs torch, and everything that is shown says so.

The stop-watch is scripted: the rows of the race are made up, and all the rest is real.
"""

import shutil
import warnings
from dataclasses import replace

import pytest
import torch

import prism_explore as px
from prism_explore.events.fastest import COMPILED, EAGER, LIBRARY, OURS
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.frontend import LibraryCall, trace
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.search import explore
from prism_explore.session import results
from prism_explore.tune.runner.baseline_table import AUTOTUNED
from tests.session.test_session import QUICK, B, D, N, machine, rmsnorm_linear

SHAPES = {"x": px.T("b", D), "g": px.T(D), "w": px.T(D, N)}
SAID = (
    "torch eager took 80 µs and the kernel 100 µs in one run, 0.80 times as long (0.80 to 0.80 in half of the rounds)"
)


NAMES = {"eager": EAGER, "compiled": COMPILED, "frozen": AUTOTUNED, "library": LIBRARY}


def raced(**to_ours):
    """The rows of a race that ended with these ratios."""
    ratios = {OURS: 1.0, **{NAMES[k]: r for k, r in to_ours.items()}}
    return tuple(BaselineMeasured(n, r * 1e-4, r * 1e-4, r * 1e-4, 24, "", r, r, r) for n, r in ratios.items())


def scripted(monkeypatch, **to_ours):
    """Let every race end so, as far as its modes were asked for; the list tells at which sizes it was held."""
    asked = []

    def compare_with_baselines(reference, kernel, target, journal, *, baselines, **_):
        asked.append((dict(kernel.shapes), tuple(baselines)))
        rows = tuple(r for r in raced(**to_ours) if r.name in (OURS, *baselines))
        for row in rows:
            journal.append(row)
        return rows

    monkeypatch.setattr(explore, "compare_with_baselines", compare_with_baselines)
    monkeypatch.setattr(results, "compare_with_baselines", compare_with_baselines)
    return asked


def counted(best, baselines=None):
    """The same offer, its torch code counting its calls, after another race if one is given; and the count."""
    calls = []

    def reference(x, g, w):
        calls.append(tuple(x.shape))
        return rmsnorm_linear(x, g, w)

    return replace(best, traced=replace(best.traced, reference=reference), baselines=baselines or best.baselines), calls


def given(rows=B):
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(*shape, generator=draw) for shape in ((rows, D), (D,), (D, N)))


@pytest.fixture(scope="module")
def sess():
    """A search whose race ended so: torch eager took 80 of our 100."""
    with pytest.MonkeyPatch.context() as patch:
        scripted(patch, eager=0.8)
        made = px.Session(rmsnorm_linear, **SHAPES, target=machine(), at={"b": B}, budget=QUICK)
        made.run()
        yield made
        made.close()


@pytest.fixture
def slower(sess):
    best, calls = counted(sess.best())
    return sess, best, calls


def test_the_torch_code_runs_and_the_kernel_stays_at_hand(slower):
    _, best, calls = slower
    x, g, w = given()

    found = best(x, g, w=w)
    assert [(B, D)] == calls
    assert EAGER == best.implementation

    own = best.kernel(x, g, w=w)
    assert [(B, D)] == calls
    torch.testing.assert_close(found, own, rtol=2e-4, atol=2e-5)


def test_everything_that_is_shown_says_what_runs_and_why(slower):
    sess, best, _ = slower

    assert f"{SAID}; a call runs torch eager, and best.kernel is the kernel" == best.why
    assert repr(best).startswith(best.why)
    assert best.source == f"# {best.why}\n{best.timed.kernel.source}"
    assert best.proof.startswith(f"# {best.why}\nproved by")
    assert f"Torch was faster beside it: {SAID}" in sess.claim
    assert f"{SAID}; this runs the kernel" in repr(best.kernel)


def test_what_was_tuned_for_is_asked_of_both_and_arrays_go_to_the_kernel(slower):
    _, best, calls = slower
    x, g, w = given()
    with pytest.raises(px.ShapeError, match=r"\(6, 64\)"):
        best(given(6)[0], g, w)
    with pytest.raises(px.ShapeError, match="must be float32"):
        best(x.double(), g.double(), w.double())
    with pytest.raises(px.ShapeError, match="missing: w"):
        best(x, g)
    torch.testing.assert_close(best.kernel(x, g, w), torch.from_numpy(best(x.numpy(), g.numpy(), w.numpy())))

    assert [] == calls


def test_gradients_are_torch_s_whoever_runs(slower):
    _, best, _ = slower
    x, g, w = given()
    grads = []
    for run in (best, best.kernel):
        own = x.clone().requires_grad_()
        run(own, g, w).sum().backward()
        grads.append(own.grad)

    torch.testing.assert_close(*grads)


def test_a_saved_search_decides_the_same_from_the_same_facts(slower, tmp_path):
    sess, best, _ = slower
    path = sess.save(tmp_path / "run.prism")
    again, alone = px.Session.load(path, rmsnorm_linear, **SHAPES), px.Session.load(path)

    assert best.faster_baseline == again.best().faster_baseline == alone.best().faster_baseline
    assert sess.claim == again.claim == px.load(path).claim
    assert best.why == again.best().why

    assert best.candidate == alone.best().implementation
    assert f"{SAID}; a call runs the kernel, because the torch code is missing" in repr(alone.best())
    torch.testing.assert_close(best.kernel(*given()), alone.best()(*given()))
    again.close()
    alone.close()


def test_a_saved_kernel_says_that_it_is_the_kernel(slower, tmp_path):
    _, best, calls = slower
    with pytest.warns(UserWarning, match="the kernel is saved, without torch code: torch eager took 80"):
        path = best.save(tmp_path / "rms.kernel")
    opened = px.load_kernel(path)

    assert f"{SAID}; this runs the kernel" in repr(opened)
    assert "no torch code is in the file: the kernel runs" in opened.note
    torch.testing.assert_close(best.kernel(*given()), opened(*given()))
    assert [] == calls


@pytest.mark.parametrize("rivals", [raced(eager=1.0, compiled=1.2), raced(eager=1.0), raced(eager=1.3)])
def test_a_tie_and_a_win_run_the_kernel_and_say_nothing(slower, rivals, tmp_path):
    best, calls = counted(slower[1], rivals)
    best(*given())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = px.load_kernel(best.save(tmp_path / "rms.kernel"))

    assert [] == calls
    assert (best.candidate, "", None) == (best.implementation, best.why, best.faster_baseline)
    assert best.source == best.timed.kernel.source
    assert "" == opened.note


def test_compiled_code_runs_compiled_where_that_won(slower, monkeypatch):
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda code, **how: compiled.append(how) or code)
    best, calls = counted(slower[1], raced(eager=0.9, compiled=0.5))
    best(*given())
    best(*given())

    assert COMPILED == best.implementation
    assert [{"dynamic": False}] == compiled
    assert 2 == len(calls)
    assert "a call runs torch.compile, compiled at its first call" in repr(best)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_what_torch_compiled_gives_the_kernel_s_numbers_and_gradients(sess):
    best = replace(sess.best(), baselines=raced(compiled=0.5))
    x, g, w = given()
    grads = []
    for run in (best, best.kernel):
        own = x.clone().requires_grad_()
        found = run(own, g, w=w)
        found.sum().backward()
        grads.append((found.detach(), own.grad))

    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)


def test_a_library_call_runs_where_it_won_and_is_called_with_the_arguments_in_their_order(slower):
    def library(a, b, c):
        calls.append(tuple(a.shape))
        return rmsnorm_linear(a, b, c)

    calls = []
    rivals = raced(eager=0.9, library=0.5)
    best = replace(
        slower[1], baselines=rivals, library_call=LibraryCall("", replace(slower[1].traced, reference=library))
    )
    x, g, w = given()

    torch.testing.assert_close(best.kernel(x, g, w), best(x, w=w, g=g), rtol=2e-4, atol=2e-5)
    assert [(B, D)] == calls
    assert LIBRARY == best.implementation
    assert "a call runs torch library call, which was compared, not proved" in best.why
    assert (
        "torch library call, same(x), which is proved equal"
        in replace(best, library_call=replace(best.library_call, call_text="same(x)")).why
    )
    assert EAGER == replace(best, library_call=None).implementation
    lost = replace(best, baselines=raced(eager=1.2, library=0.5), library_call=None)
    assert best.candidate == lost.implementation
    assert "a call runs the kernel, because the torch code is missing" in lost.why


def test_a_result_in_a_structure_has_it_whoever_runs_and_in_a_saved_kernel(slower, tmp_path):
    code, rivals = (lambda x, g, w: {"y": (rmsnorm_linear(x, g, w), x)}), raced(eager=1.5, library=0.5)
    traced = trace(code, {i.name: i.type for i in slower[1].traced.program.inputs})
    best = replace(slower[1], traced=traced)
    library = LibraryCall("", replace(traced, reference=rmsnorm_linear))
    saved = px.load_kernel(best.kernel.save(tmp_path / "a.kernel"))
    x, g, w = given()

    assert EAGER == best.implementation
    for run in (best, best.kernel, saved, replace(best, baselines=rivals, library_call=library)):
        found = run(x, g, w)
        assert found["y"][1] is x
        torch.testing.assert_close(found["y"][0], rmsnorm_linear(x, g, w), rtol=2e-4, atol=2e-5)
    x.requires_grad_()
    best.kernel(x, g, w)["y"][0].sum().backward()
    torch.testing.assert_close(x.grad, torch.autograd.grad(rmsnorm_linear(x, g, w).sum(), x)[0])


def test_frozen_weights_are_no_call_and_are_said_to_be_none(slower):
    best, calls = counted(slower[1], raced(eager=1.5, frozen=0.5))
    best(*given())

    assert [] == calls
    assert best.candidate == best.implementation
    assert "faster, but a call does not run it: it is tuned and packs its weights beforehand" in repr(best)


# ---------------------------------------------------------------- by value, and in a model
def test_dispatch_runs_torch_at_the_values_nearest_to_where_it_won(sess, monkeypatch):
    asked = scripted(monkeypatch, eager=0.8, compiled=0.5)
    made = sess.dispatch(b=(4, 8))
    assert [({"b": 4}, (EAGER,)), ({"b": 8}, (EAGER,))] == asked
    assert f"up to 5.657: torch eager runs, not the kernel: {SAID}" in repr(made)

    best, calls = counted(sess.best())
    timed = [(p.value, p.timed) for p in made.points]
    rows = {4: raced(eager=0.8, compiled=0.5), 8: raced(eager=1.0, compiled=0.5)}
    mixed = Dispatch(made.program, "b", {"b": 4}, timed, machine(), best.traced, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (4, 5, 6, 8):
            torch.testing.assert_close(mixed(*given(n)), mixed.kernel(n)(*given(n)), rtol=2e-4, atol=2e-5)
    assert [(4, D), (5, D)] == calls

    x, g, w = given(5)
    with pytest.raises(px.ShapeError, match="'g' must have shape"):
        mixed(x, g[1:], w)
    mixed(x.numpy(), g.numpy(), w.numpy())
    assert 2 == len(calls)


@pytest.mark.parametrize(("ratio", "replaced"), [(0.8, False), (1.0, True)])
def test_a_region_of_a_model_is_left_by_the_same_rule(monkeypatch, ratio, replaced):
    scripted(monkeypatch, eager=ratio)
    backend = px.TorchCompiler(target=machine(), budget=QUICK, rest="eager")
    layer = torch.nn.Linear(32, 48, bias=False).eval()
    torch.compiler.reset()
    fast = torch.compile(layer, backend=backend, dynamic=False)
    with torch.no_grad():
        x = torch.randn(4, 32)
        torch.testing.assert_close(layer(x), fast(x), rtol=2e-4, atol=2e-5)

    assert [replaced] == [row.replaced for row in backend.outcomes], backend.report()
    assert replaced or "torch eager took 80 µs and the kernel 100 µs" in backend.report()
