import pytest
from hypothesis import given, settings

from prism_explore.errors import ParseError, PrismError
from prism_explore.ir.text import parse, parse_program, show, show_block
from tests.strategies import R1, programs, r1_example


@settings(max_examples=60, deadline=None)
@given(programs())
def test_a_printed_program_parses_back(program):
    assert program == parse_program(show(program))


def test_a_printed_sgraph_parses_back():
    assert show(parse(R1)) == R1


def test_open_maps_print_as_questions_and_parse_back():
    text = R1.replace("imap=[-], fmap=1", "imap=?").replace("omap=[1]", "omap=?")

    assert text == show(parse(text))
    assert parse(text).is_open


def test_a_block_graph_prints_alone():
    ((_, block),) = r1_example().sgraph.customs

    assert show_block(block).startswith("block grid[x=gx] loop[i=f]\n  %0 = load(0, imap=[-], fmap=1)")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("matmul(%3, %2)", "matmul(%3, %9)", "line 10: '%9' names no earlier tensor"),
        ("matmul(%3, %2)", "matmul(%3)", "takes 2 operands, found 1"),
        ("square(%0)", "cube(%0)", "line 12: unknown operator 'cube'"),
        ("imap=[1]", "imap=[1, 0]", "imap names 2 grid dims, the grid has 1"),
        ("loop[i=f]", "", "fmap 1 without a for-loop"),
        ("add_scalar(%7, 1/1000000)", "add_scalar(%7, tiny)", "needs a rational constant"),
        ("  return %3", "", "ends without a return"),
        ("    %5 = accum(%4)", "    %6 = accum(%4)", "expected %5, found %6"),
        ("sgraph", "program p", "expected 'sgraph'"),
        ("f32[b, 24]", "f31[b, 24]", "expected 'input f32"),
        ("%0 = load(0, ", "%0 = load(7, ", "load of operand 7, it has 3"),
    ],
)
def test_a_text_with_a_mistake_is_refused_with_its_place(old, new, message):
    with pytest.raises(PrismError, match=message.replace("[", r"\[").replace("(", r"\(")):
        parse(R1.replace(old, new, 1))


def test_an_empty_text_is_refused():
    with pytest.raises(ParseError, match="empty"):
        parse("")
