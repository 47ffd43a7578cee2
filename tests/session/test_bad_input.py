"""What a search is given that it cannot take, or hardly: a clear error, or an honest result, and never a hang."""

import pytest

import prism_explore as px
from prism_explore.ir.program import ProgramBuilder


def search(program):
    sess = px.Session(program, target="h100")
    sess.run()
    sess.close()
    return sess


def test_too_many_dims_are_refused_with_the_tensor_and_what_to_do():
    b = ProgramBuilder("many")
    x = b.input("x", *[2] * 9)
    with pytest.raises(px.ShapeError, match=r"many: %0 has 9 dims, .* a search takes 6 at most\. Merge dims"):
        px.Session(b.build(b.unary("exp", x)), target="h100")


def test_the_largest_number_of_dims_is_searched():
    b = ProgramBuilder("six")
    x = b.input("x", *[2] * 6)
    sess = search(b.build(b.unary("exp", x)))

    assert "proved" == sess.families["f1"].row.status


def test_a_dim_of_size_0_is_refused():
    with pytest.raises(px.ShapeError, match=r"a tensor dim of size 0 in \(0, 4\); sizes start at 1"):
        px.Session(lambda x: x.exp(), x=px.T(0, 4))


def test_a_program_that_does_not_read_an_input_says_so():
    b = ProgramBuilder("unread")
    x = b.input("x", 4, 4)
    b.input("y", 4, 4)
    with pytest.raises(px.ShapeError, match="unread: the result does not depend on input 'y'; drop it"):
        b.build(b.unary("exp", x))


def test_torch_code_that_does_not_read_an_argument_is_searched_and_called_with_it():
    sess = px.Session(lambda x, y: x.exp(), x=px.T(4, 4), y=px.T(4, 4), target="h100")

    assert ["x"] == [i.name for i in sess.program.inputs]


def test_a_result_that_is_an_input_leaves_nothing_to_search():
    with pytest.raises(px.UnsupportedOperator, match="returns nothing that it computes; there is nothing to search"):
        px.Session(lambda x: x, x=px.T(4, 4))


def test_mixed_dtypes_are_refused_with_both():
    with pytest.raises(px.ShapeError, match="operands of dtypes f32, f64; give all inputs one dtype"):
        b = ProgramBuilder("mixed")
        b.matmul(b.input("x", 4, 8, dtype="f64"), b.input("w", 8, 4, dtype="f32"))


def test_a_program_whose_dims_are_all_1_ends_with_proved_families_within_its_budgets():
    b = ProgramBuilder("ones")
    x, w = b.input("x", 1, 1), b.input("w", 1, 1)
    sess = search(b.build(b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w)))

    assert "finished" == sess.state
    assert "proved" in {f.row.status for f in sess.families.values()}


@pytest.mark.parametrize("name", ["width 64", "", "two\nlines", "a-b"])
def test_a_name_that_the_text_of_a_program_cannot_hold_is_refused(name):
    graph = px.parse("sgraph\n  x = input f32[4, 4]\n  %1 = exp(x)\n  return %1")
    for make in (ProgramBuilder, lambda name: px.TensorProgram(name, graph)):
        with pytest.raises(px.ShapeError, match=r"letters, digits and _, such as width_64; found"):
            make(name)


def test_a_name_that_a_program_may_have_is_read_back():
    graph = px.parse("sgraph\n  x = input f32[4, 4]\n  %1 = exp(x)\n  return %1")
    for name in ("width_64", "64", "größe"):
        program = px.TensorProgram(name, graph)
        assert px.parse_program(px.show(program)) == program
