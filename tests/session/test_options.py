"""The public doors under wrong words: each says what was found, what it takes, and where; nothing is passed over."""

import re
from dataclasses import replace

import pytest
import torch

import prism_explore as px

TYPES = {"x": px.T("b", 16), "w": px.T(16, 8)}


def product(x, w):
    return x @ w


def session(code=product, **more):
    return px.Session(code, **{**TYPES, "target": "h100", **more})


@pytest.fixture(scope="module")
def sess():
    made = session()
    made.run()
    yield made
    made.close()


OPTIONS = [
    ({"target": None}, "no target None; known are cpu, cuda, a100"),
    ({"target": 3}, "target= takes the name of a machine, such as 'cpu' or 'h100', or a px.Target; found 3, a int"),
    ({"target": "h1000"}, "no target 'h1000'; known are cpu"),
    ({"at": [3]}, "at= takes a number per symbol, such as at={'b': 8}; found [3], a list"),
    ({"at": {"b": 3.0}}, "symbol 'b' was given 3.0; sizes are whole numbers"),
    ({"at": {"b": -3}}, "symbol 'b' was given -3; sizes start at 1"),
    ({"at": {"c": 3}}, "give each a number to tune at, such as at={'b': 8}; missing: none, unknown: c"),
    ({"seed": "a"}, "seed= takes a whole number from 0; found 'a', a str"),
    ({"seed": -1}, "seed= takes a whole number from 0; found -1"),
    ({"seed": 1.5}, "seed= takes a whole number from 0; found 1.5, a float"),
    (
        {"budget": 5},
        "budget= takes a px.Budget, such as px.Budget(trials=64, seconds=60), or 'quick' or 'thorough'; found 5, a int",
    ),
    ({"budget": "long"}, "budget='long': no budget has this name; there are quick, thorough, or a px.Budget"),
    ({"space": "large"}, "space= takes a px.Space, such as dataclasses.replace("),
    ({"name": 3}, "name= takes a text; found 3, a int"),
    ({"baselines": ("torch.jit",)}, "baselines= takes names out of 'torch eager', 'torch.compile'"),
    ({"baselines": "torch eager"}, "such as baselines=('torch eager',); found 'torch eager'"),
    ({"dominated": "never"}, "dominated= is one of 'later', 'left out'; found 'never'"),
    ({"time_to_beat_s": True}, "time_to_beat_s takes seconds above 0 or 'baselines', found True"),
    ({"time_to_beat_s": [1]}, "time_to_beat_s takes seconds above 0 or 'baselines', found [1]"),
    ({"library": 3}, "library= takes a torch function of (x, w), found 3"),
    ({"executor": 3}, "executor= takes a concurrent.futures.Executor"),
    ({"database": 3}, "database= takes the path of a file; found 3, a int"),
    ({"ranges": [("b", 1, 2)]}, "ranges= takes two numbers per symbol, such as ranges={'b': (1, 64)}; found"),
    ({"ranges": {"b": 4}}, "a range is two whole numbers, such as {'b': (1, 64)}; found 4"),
    ({"ranges": {"b": (1.0, 2.5)}}, "a range is two whole numbers, such as {'b': (1, 64)}; found (1.0, 2.5)"),
    ({"inputs": [px.T(4)]}, "inputs= takes a type or an example tensor per argument"),
    ({"w": torch.zeros(16, 8).to_sparse()}, "argument 'w' is sparse_coo; pass a dense tensor, x.to_dense()"),
    ({"w": torch.zeros(16, 8).double()}, "operands of dtypes f32, f64; give all inputs one dtype"),
    ({"w": {1, 2}}, "argument 'w': expected px.T(...), a tensor, a number, a text or None, or a list, tuple or dict"),
    ({"z": px.T(3)}, "product(x, w) was given shapes for (x, w, z); missing: none, unknown: z"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS, ids=lambda x: ", ".join(x) if isinstance(x, dict) else "")
def test_an_option_of_a_session_that_cannot_be_is_refused_with_what_it_takes(options, said):
    with pytest.raises(px.PrismError, match=re.escape(said)):
        session(**options)


def any_number(*tensors):
    return tensors[0] @ tensors[1]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (torch.nn.Linear, "Linear is a class; pass one of its instances, such as Linear(...)"),
        ("x @ w", "expected a torch function, a module or a TensorProgram, found str"),
        (any_number, "unknown: x, w; give arguments of *args names of their own"),
        (lambda x, w: None, "returns nothing that it computes; there is nothing to search"),
        (lambda x, w: x.add_(1) @ w, "writes into x; return the new value instead of writing in place"),
    ],
)
def test_code_that_cannot_be_searched_is_refused_with_the_reason(code, said):
    with pytest.raises(px.PrismError, match=re.escape(said)):
        session(code)


@pytest.mark.parametrize("bad", [4.0, True, None, (4, 4)])
def test_a_dim_that_is_no_size_is_named_with_its_place(bad):
    with pytest.raises(px.ShapeError, match=r"dim 1 of a tensor is a whole number or a symbol's name, .* found "):
        px.T(4, bad)


@pytest.mark.parametrize("given", [{"trials": -1}, {"seconds": float("nan")}, {"patience": "long"}])
def test_a_budget_counts_from_0_on(given):
    (name,) = given
    with pytest.raises(px.ShapeError, match=rf"Budget\({name}=...\) must be a number of at least 0, found"):
        px.Budget(**given)


def test_a_gain_is_a_share():
    with pytest.raises(px.ShapeError, match=r"Budget\(gain=...\) is a share below 1, such as 0.02, found 1.0"):
        px.Budget(gain=1.0)


def test_a_space_counts_in_whole_numbers(sess):
    for bad in (-1, 2.5, "many"):
        with pytest.raises(px.ShapeError, match="block_ops is a number from 0 on; found"):
            replace(sess.task.space, block_ops=bad)
        with pytest.raises(px.ShapeError, match="block_ops is a number from 0 on; found"):
            sess.what_if(block_ops=bad)


# ---------------------------------------------------------------- a search under way
@pytest.mark.parametrize("n", [0, -2, 1.5, "family", True])
def test_a_number_of_steps_is_a_whole_one(sess, n):
    with pytest.raises(px.ShapeError, match="a number of steps is a whole number from 1 on, found"):
        sess.step(n)


def test_a_condition_is_a_function_and_its_own_mistake_ends_no_search():
    made = session()
    with pytest.raises(px.ShapeError, match=r"until= takes a function of the session, such as .*; found 3"):
        made.run(until=3)
    with pytest.raises(ZeroDivisionError):
        made.run(until=lambda s: 1 / 0)

    assert "paused" == made.state
    made.run()
    assert "finished" == made.state
    assert made.families
    made.close()


def test_a_search_that_failed_says_so_each_time_that_it_is_asked_to_go_on(monkeypatch):
    made = session()
    monkeypatch.setattr(made.journal, "append", lambda event: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            made.run()
    assert "failed" == made.state
    assert made.failure.startswith("ZeroDivisionError")


@pytest.mark.parametrize("which", ["", None, 3])
def test_a_preference_is_a_family_a_text_or_a_function(sess, which):
    with pytest.raises(px.ShapeError, match="prefer takes a family such as 'f2', a text in its graph"):
        sess.prefer(which)


def test_families_candidates_and_regions_that_there_are_none_of_are_named(sess):
    for steer in (sess.accept, sess.reject):
        with pytest.raises(px.ShapeError, match=r"no family 'f99' to (accept|reject); there are f1"):
            steer("f99")
    with pytest.raises(KeyError, match="no family 'f99'; there are f1"):
        sess.families["f99"]
    for ask in (sess.evidence, sess.certify, sess.replay, sess.equalities):
        with pytest.raises(px.ShapeError, match=re.escape("no candidate 'f9.c9'; there are f1.c1")):
            ask("f9.c9")
    with pytest.raises(px.ShapeError, match="no event 'selects' to listen to; there are 'select', 'state' and 'fork'"):
        sess.on("selects", print)


@pytest.mark.parametrize("values", [4, "4", (1.5,), (), (0, 1), (True,)])
def test_values_to_dispatch_by_are_whole_numbers(sess, values):
    with pytest.raises(px.ShapeError, match=r"b takes whole numbers from 1 on, such as b=\(1, 8, 64\); found"):
        sess.dispatch(b=values)


# ---------------------------------------------------------------- files
def test_a_place_that_nothing_can_be_written_to_is_named(sess, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is a folder; name a file in an existing folder"):
        sess.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; name a file"):
        sess.save(tmp_path / "nowhere" / "run.prism")


# ---------------------------------------------------------------- graphs and programs
def test_a_builder_refuses_operators_dims_and_names_that_there_are_none_of():
    b = px.ProgramBuilder("p")
    x = b.input("x", "b", 4)
    for wrong, said in (
        (
            lambda: b.input("x y", 4),
            "an input's name is made of letters, digits and _, a digit not first, such as x_1; found 'x y'",
        ),
        (lambda: b.unary("sinh", x), "no operator 'sinh'; there are exp"),
        (lambda: b.binary("xor", x, x), "no operator 'xor'; there are add"),
        (lambda: b.reduce("median", x, 1), "no operator 'median'; there are sum"),
        (lambda: b.reduce("sum", x, 7), "over dim 7 of a tensor with 2 dims"),
        (lambda: b.reduce("sum", x, -3), "over dim -3 of a tensor with 2 dims"),
        (lambda: b.reduce("sum", 99, 1), "operand %99 is not an earlier node"),
    ):
        with pytest.raises(px.ShapeError, match=re.escape(said)):
            wrong()
    assert 1 == len(b.nodes)
    assert b.type_of(b.reduce("sum", x, -1)) == px.T("b", 1)


def test_what_is_no_graph_is_refused_by_its_kind(sess):
    with pytest.raises(px.ParseError, match=r"as show\(\) prints it; found a int"):
        px.parse(3)
    with pytest.raises(
        px.ParseError, match="expected 'sgraph', found 'program product'; parse_program reads a program"
    ):
        px.parse(px.show(sess.program))
    with pytest.raises(px.ShapeError, match=r"check takes torch functions, modules, programs.*; found a int"):
        px.check(sess.program, 3)
    with pytest.raises(px.ShapeError, match="compare takes sessions, saved searches or their files; found a int"):
        px.compare(sess, 3)


def test_a_compiler_for_torch_refuses_a_machine_and_a_rest_that_there_are_none_of():
    with pytest.raises(px.TargetUnavailable, match="no target 'nope'; known are cpu"):
        px.TorchCompiler(target="nope")
    with pytest.raises(px.ShapeError, match="rest= is one of 'fastest', 'eager', 'inductor'; found 'jit'"):
        px.TorchCompiler(rest="jit")
