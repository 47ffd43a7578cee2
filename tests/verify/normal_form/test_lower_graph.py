"""Loads, accumulators and stores become arithmetic on indices; what has no meaning gets no form."""

from __future__ import annotations

import random

import pytest

from prism_explore.ir.text import parse
from prism_explore.verify.normal_form.algebra import Algebra, Budget, NoNormalForm, OverBudget
from prism_explore.verify.normal_form.cut_points import lower_with_cuts
from prism_explore.verify.normal_form.forms import show
from prism_explore.verify.normal_form.lower_graph import KEEPS_AN_ENTRY, lower
from tests.verify.corpus import R1_FULL, graph_of, numbered
from tests.verify.normal_form.test_semantics import disagreement


def graph(text: str, inputs: str = "  x = input f32[b, 24]"):
    return parse(f"sgraph\n{inputs}\n{numbered(text)}")


def result(text: str) -> str:
    g = graph(text)
    return show(lower(g, Algebra()).values[g.output])


BLOCK_SUMS = """
  %1 = custom(x) grid[x=gx] loop[i=f]
    $x = load(0, imap=[1], fmap=1)
    $sum = accum_sum($x, dim=1)
    $out = store($sum, omap=[1])
  return %1
"""
"""One sum per block: where grid and loop cut one dim, the grid cuts first."""


def test_the_grid_cuts_before_the_loop():
    assert "Σ_{k1:24/gx} x[p0,(p1,k1)]" == result(BLOCK_SUMS)
    assert disagreement(graph(BLOCK_SUMS), random.Random(0)) < 1e-9


def test_a_tile_is_read_at_block_iteration_and_position():
    blocks = lower(graph_of("rms_full", R1_FULL), Algebra()).blocks[3]

    assert ["x[p0,(i,p1)]", "g[(i,p0)]", "w[(i,p0),(x,p1)]"] == [show(n) for n in blocks[:3]]
    assert "Σ_{k1:4096/f} g[(i,k1)] w[(i,k1),(x,p1)] x[p0,(i,k1)]" == show(blocks[4])
    assert "Σ_{k1:4096} g[k1] w[k1,(x,p1)] x[p0,k1]" == show(blocks[5])


def test_a_store_undoes_a_load():
    text = """
  %1 = custom(x) grid[x=gx, y=gy]
    $x = load(0, imap=[1, 0])
    $y = neg($x)
    $out = store($y, omap=[1, 0])
  return %1
"""

    assert "-x[p0,p1]" == result(text)


def test_blocks_stored_in_another_order_are_digits_of_the_position():
    text = """
  %1 = custom(x) grid[x=gx]
    $x = load(0, imap=[1])
    $sum = sum($x, dim=1)
    $all = add($x, $sum)
    $out = store($all, omap=[1])
  return %1
"""

    assert "x[p0,p1] + Σ_{k1:24/gx} x[p0,(p1<1|gx|24/gx>,k1)]" == result(text)
    assert disagreement(graph(text), random.Random(0)) < 1e-9


def test_a_replicated_value_counts_once_per_iteration():
    text = """
  %1 = custom(x) grid[] loop[i=f]
    $x = load(0, imap=[])
    $sum = accum($x)
    $out = store($sum, omap=[])
  return %1
"""

    assert "f x[p0,p1]" == result(text)


def test_a_mean_over_tiles_and_iterations_loses_every_symbol():
    text = """
  %1 = custom(x) grid[] loop[i=f]
    $x = load(0, imap=[], fmap=1)
    $mean = accum_mean($x, dim=1)
    $out = store($mean, omap=[])
  return %1
"""

    assert "1/24 Σ_{k1:24} x[p0,k1]" == result(text)


def test_blocks_that_would_write_different_values_to_one_place_have_no_form():
    with pytest.raises(NoNormalForm, match="race: blocks along x would write different values to one place"):
        result(BLOCK_SUMS.replace("omap=[1]", "omap=[-]"))


def test_two_grid_dims_along_one_dim_of_the_result_have_no_form():
    text = """
  %1 = custom(x) grid[x=gx, y=gy]
    $x = load(0, imap=[0, 1])
    $sum = sum($x, dim=0)
    $out = store($sum, omap=[1, 1])
  return %1
"""

    with pytest.raises(NoNormalForm, match="race: two grid dims store along one dim"):
        result(text)


def test_open_maps_have_no_form():
    with pytest.raises(NoNormalForm, match="maps are still open"):
        result(BLOCK_SUMS.replace("omap=[1]", "omap=?"))


def test_dims_in_front_are_filled_with_ones():
    inputs = "  x = input f32[h, b, 24]\n  w = input f32[24, 8]\n  g = input f32[8]"
    g = graph("  %3 = matmul(x, w)\n  %4 = mul(%3, g)\n  return %4", inputs)

    assert "Σ_{k1:24} g[p2] w[k1,p2] x[p0,p1,k1]" == show(lower(g, Algebra()).values[g.output])
    assert disagreement(g, random.Random(0)) < 1e-9


# ---------------------------------------------------------------- every operator
HEADS = "  q = input f32[h, n, 64]\n  k = input f32[h, 64, m]\n  v = input f32[h, m, 64]\n"
ATTENTION = """
  $s = matmul(q, k)
  $e = exp($s)
  $l = sum($e, dim=2)
  $p = div($e, $l)
  $o = matmul($p, v)
  return $o
"""
SAFE = """
  $s = matmul(q, k)
  $m = max($s, dim=2)
  $d = sub($s, $m)
  $e = exp($d)
  $l = sum($e, dim=2)
  $p = div($e, $l)
  $o = matmul($p, v)
  return $o
"""
ONLINE = """
  $o = custom(q, k, v) grid[x=gx, y=gy] loop[i=f]
    $q = load(0, imap=[0, 1])
    $k = load(1, imap=[0, -], fmap=2)
    $v = load(2, imap=[0, -], fmap=1)
    $s = matmul($q, $k)
    $m = running_max($s, dim=2)
    $d = sub($s, $m)
    $e = exp($d)
    $l = accum_rescaled($e, $m, dim=2)
    $w = matmul($e, $v)
    $a = accum_rescaled($w, $m)
    $r = div($a, $l)
    $out = store($r, omap=[0, 1])
  return $o
"""
CAUSAL = "  $b = band(rows=n, columns=m, high=0, dtype=f32)\n"


def numbered_from(first: int, text: str) -> str:
    """Names such as $s as numbers; in a kernel they start anew."""
    out, names, inside = [], {}, {}
    for line in text.strip("\n").split("\n"):
        table = inside if line.startswith("    ") else names
        if table is names:
            inside.clear()
        head = line.split("=")[0].strip()
        start = 0 if table is inside else first
        body = line
        for name in sorted(table, key=len, reverse=True):
            body = body.replace(f"{name},", f"{table[name]},").replace(f"{name})", f"{table[name]})")
            body = body.replace(f"return {name}", f"return {table[name]}")
        if head.startswith("$"):
            table[head] = f"%{start + len(table)}"
            body = body.replace(f"{head} =", f"{table[head]} =", 1)
        out.append(body)
    return "\n".join(out)


def one(algebra: Algebra, text: str, inputs: str = HEADS):
    g = parse(f"sgraph\n{inputs}{numbered_from(inputs.count('input'), text)}")
    return lower(g, algebra).values[g.output]


def masked(text: str) -> str:
    """The same with a causal mask on the scores."""
    if "custom" in text:
        text = text.replace("custom(q, k, v)", "custom(q, k, v, $b)")
        load = "    $b = load(3, imap=[-, 0], fmap=1)\n"
        text = text.replace("    $s = matmul", f"{load}    $s0 = matmul")
        text = text.replace("    $m = ", "    $s = mask($s0, $b)\n    $m = ")
        return CAUSAL + text.lstrip("\n")
    return CAUSAL + text.lstrip("\n").replace("$s = matmul(q, k)", "$s0 = matmul(q, k)\n  $s = mask($s0, $b)")


@pytest.mark.parametrize("spell", [str, masked])
def test_softmax_is_the_same_plain_with_its_maximum_and_online(spell):
    algebra = Algebra()
    plain = one(algebra, spell(ATTENTION))

    assert plain == one(algebra, spell(SAFE))
    assert plain == one(algebra, spell(ONLINE))
    assert plain != one(algebra, spell(ONLINE.replace("accum_rescaled($w, $m)", "accum($w)")))


def test_a_masked_softmax_is_one_with_weights():
    weighted = CAUSAL + ATTENTION.replace("$e = exp($s)", "$e0 = exp($s)\n  $e = mul($e0, $b)").lstrip("\n")
    algebra = Algebra()

    assert one(algebra, masked(SAFE)) == one(algebra, weighted)
    assert one(algebra, masked(SAFE)) != one(algebra, weighted.replace("high=0", "high=1"))


def test_what_a_mask_assumes_is_said():
    g = parse(f"sgraph\n{HEADS}{numbered_from(3, masked(SAFE))}")
    plain = parse(f"sgraph\n{HEADS}{numbered_from(3, SAFE)}")

    assert (KEEPS_AN_ENTRY,) == lower(g, Algebra()).assumptions
    assert () == lower(plain, Algebra()).assumptions


@pytest.mark.parametrize(
    ("use", "limit"),
    [
        ("$r = neg($s)", "multiplied by a number that is not positive"),
        ("$r = square($s)", "a power of a masked value"),
        ("$r = gelu($s)", "gelu of a masked value"),
        ("$r = sum($s, dim=2)", "a masked value .* is summed"),
        ("$r = mul($s, $s0)", "multiplied by what is no positive number"),
        ("$r = sub($s0, $s)", "multiplied by a number that is not positive"),
    ],
)
def test_minus_infinity_in_any_other_place_has_no_form(use, limit):
    text = f"{CAUSAL}  $s0 = matmul(q, k)\n  $s = mask($s0, $b)\n  {use}\n  return $r\n"

    with pytest.raises(NoNormalForm, match=limit):
        one(Algebra(), text)


def test_a_causal_band_read_tile_by_tile_or_transposed_is_the_same_band():
    inputs = "  x = input f32[n, m]\n"
    plain = "  $b = band(rows=n, columns=m, high=0, dtype=f32)\n  $y = mul(x, $b)\n  return $y\n"
    other = plain.replace("$y = ", "$c = permute($b, order=[1, 0])\n  $y = ").replace("x, $b", "x, $c")
    other = other.replace("rows=n, columns=m, high=0", "rows=m, columns=n, low=0")
    tiled = """
  $b = band(rows=n, columns=m, high=0, dtype=f32)
  $y = custom(x, $b) grid[x=gx]
    $x = load(0, imap=[1])
    $t = load(1, imap=[1])
    $r = mul($x, $t)
    $out = store($r, omap=[1])
  return $y
"""
    algebra = Algebra()

    assert one(algebra, plain, inputs) == one(algebra, other, inputs) == one(algebra, tiled, inputs)
    assert "x[p0,p1] [p1-p0<=0]" == show(one(algebra, plain, inputs))


LORA = "  x = input f32[b, k]\n  w = input f32[k, n]\n  a = input f32[k, r]\n  c = input f32[r, n]\n"


def test_lora_side_by_side_is_lora():
    apart = """
  $w = matmul(x, w)
  $a = matmul(x, a)
  $c = matmul($a, c)
  $y = add($w, $c)
  return $y
"""
    joined = """
  $a = matmul(x, a)
  $l = concat(x, $a, dim=1)
  $r = concat(w, c, dim=0)
  $y = custom($l, $r) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $w = load(1, imap=[1], fmap=0)
    $p = matmul($x, $w)
    $s = accum($p)
    $out = store($s, omap=[1])
  return $y
"""
    algebra = Algebra()

    assert one(algebra, apart, LORA) == one(algebra, joined, LORA)
    assert one(algebra, apart, LORA) != one(algebra, joined.replace("concat(w, c", "concat(c, w"), LORA)


ROPE = "  x = input f32[b, 64]\n  c = input f32[b, 32]\n  s = input f32[b, 32]\n"


def test_rotary_embedding_in_halves_or_with_a_rotated_copy():
    halves = """
  $u = slice(x, dim=1, start=0, stop=32)
  $v = slice(x, dim=1, start=32, stop=64)
  $uc = mul($u, c)
  $vs = mul($v, s)
  $first = sub($uc, $vs)
  $vc = mul($v, c)
  $us = mul($u, s)
  $second = add($vc, $us)
  $y = concat($first, $second, dim=1)
  return $y
"""
    rotated = """
  $u = slice(x, dim=1, start=0, stop=32)
  $v = slice(x, dim=1, start=32, stop=64)
  $n = neg($v)
  $r = concat($n, $u, dim=1)
  $cc = concat(c, c, dim=1)
  $ss = concat(s, s, dim=1)
  $xc = mul(x, $cc)
  $rs = mul($r, $ss)
  $y = add($xc, $rs)
  return $y
"""
    algebra = Algebra()

    assert one(algebra, halves, ROPE) == one(algebra, rotated, ROPE)
    assert one(algebra, halves, ROPE) != one(algebra, rotated.replace("concat($n, $u", "concat($u, $n"), ROPE)


def test_reshapes_that_merge_and_split_collapse_also_at_symbolic_sizes():
    inputs = "  x = input f32[b, h, n, d]\n"
    there = "  $m = reshape(x, dims=[b*h, n*d])\n  $y = reshape($m, dims=[b, h, n, d])\n  return $y\n"
    heads = """
  $p = permute(x, order=[0, 2, 1, 3])
  $m = reshape($p, dims=[b*n, h*d])
  $s = reshape($m, dims=[b, n, h, d])
  $y = permute($s, order=[0, 2, 1, 3])
  return $y
"""
    across = "  $m = reshape(x, dims=[b, n, h, d])\n  $y = reshape($m, dims=[b, h, n, d])\n  return $y\n"

    assert "x[p0,p1,p2,p3]" == show(one(Algebra(), there, inputs))
    assert "x[p0,p1,p2,p3]" == show(one(Algebra(), heads, inputs))
    assert "x[p0,p1,p2,p3]" == show(one(Algebra(), across, inputs))


def test_several_results_of_a_kernel_are_several_forms():
    text = """
  $y = custom(x) grid[x=gx]
    $x = load(0, imap=[0])
    $n = neg($x)
    $e = exp($x)
    $a = store($n, omap=[0])
    $b = store($e, omap=[0])
  $z = result($y, index=1)
  $s = add($y, $z)
  return $s
"""

    assert "-x[p0] + exp(x[p0])" == show(one(Algebra(), text, "  x = input f32[n]\n"))


def test_powers_of_what_may_be_negative_keep_to_their_domain():
    inputs = "  x = input f32[n]\n"

    def power(e: str, of: str = "x") -> str:
        return show(one(Algebra(), f"  $s = square(x)\n  $y = pow_scalar({of}, {e})\n  return $y\n", inputs))

    assert "x[p0]^3" == power("3")
    assert "1" == power("0")
    assert "x[p0]^-2" == power("-2")
    assert "root3(x[p0])^2" == power("2/3")
    assert "(x[p0]^2)^1/3" == power("1/3", "$s")
    assert "sqrt(x[p0])^-3" == power("-3/2")


def test_the_last_of_a_loops_values_rescales_whatever_they_are():
    text = """
  $y = custom(x, y) grid[] loop[i=f]
    $x = load(0, imap=[], fmap=0)
    $y = load(1, imap=[], fmap=0)
    $a = accum_rescaled($x, $y, dim=0)
    $out = store($a, omap=[])
  return $y
"""
    inputs = "  x = input f32[n]\n  y = input f32[f]\n"

    assert "Σ_{k1:f,k1_1:n/f} x[(k1,k1_1)] exp(y[-1 + f])^-1 exp(y[k1])" == show(one(Algebra(), text, inputs))


TWO_KERNELS = """
  $y = custom(x) grid[x=gx*h]
    $x = load(0, imap=[1])
    $s = sum($x, dim=1)
    $d = div($x, $s)
    $out = store($d, omap=[1])
  $z = custom($y) grid[x=gx]
    $y = load(0, imap=[1])
    $s = sum($y, dim=1)
    $out = store($s, omap=[1])
  return $z
"""


def test_kernels_whose_blocks_are_nested_meet_in_one_form():
    one_kernel = """
  $y = custom(x) grid[x=gx] loop[i=h]
    $x = load(0, imap=[1], fmap=1)
    $s = sum($x, dim=1)
    $d = div($x, $s)
    $a = accum_sum($d, dim=1)
    $out = store($a, omap=[1])
  return $y
"""
    algebra = Algebra()
    inputs = "  x = input f32[b, k]\n"

    assert one(algebra, one_kernel, inputs) == one(algebra, TWO_KERNELS, inputs)
    assert one(algebra, one_kernel, inputs) != one(algebra, TWO_KERNELS.replace("x=gx*h", "x=h"), inputs)


def test_work_ends_where_numbers_or_forms_grow_without_end():
    inputs = "  x = input f32[n]\n"
    doubled = ["  $a0 = add(x, x)", *(f"  $a{n + 1} = square($a{n})" for n in range(40)), "  return $a40"]
    crossed = ["  $a0 = add_scalar(x, 1)", *(f"  $a{n + 1} = square($a{n})" for n in range(40)), "  return $a40"]

    with pytest.raises(NoNormalForm, match="a number of more than 2048 bits"):
        one(Algebra(), "\n".join(doubled), inputs)
    with pytest.raises(NoNormalForm, match="a normal form of more than 256 terms"):
        one(Algebra(), "\n".join(crossed), inputs)


def test_what_both_graphs_have_becomes_a_name_for_both():
    inputs = (
        "  x = input f32[n, 64]\n  the_weight_of_the_first_of_two_layers_one_behind_the_other = input f32[64, 64]\n"
    )
    inputs += "  v = input f32[64, 64]\n"
    program = """
  $h = matmul(x, the_weight_of_the_first_of_two_layers_one_behind_the_other)
  $e = silu($h)
  $q = square($e)
  $m = mean($q, dim=1)
  $r = rsqrt($m)
  $y = mul($e, $r)
  $o = matmul($y, v)
  return $o
"""
    candidate = """
  $e = custom(x, the_weight_of_the_first_of_two_layers_one_behind_the_other) grid[x=gx] loop[i=f]
    $x = load(0, imap=[0], fmap=1)
    $w = load(1, imap=[-], fmap=0)
    $p = matmul($x, $w)
    $h = accum($p)
    $e = silu($h)
    $out = store($e, omap=[0])
  $o = custom($e, v) grid[x=gy] loop[i=h]
    $e = load(0, imap=[0], fmap=1)
    $v = load(1, imap=[-], fmap=0)
    $m = accum_rms($e, dim=1)
    $p = matmul($e, $v)
    $a = accum($p)
    $d = div($a, $m)
    $out = store($d, omap=[0])
  return $o
"""

    def parsed(text: str):
        return parse(f"sgraph\n{inputs}{numbered_from(3, text)}")

    wanted, found = lower_with_cuts(parsed(program), parsed(candidate), Algebra())

    assert "%4[p0,p1]" == show(found.values[3]) == show(wanted.values[4])
    assert wanted.values[-1] == found.values[-1]
    lost = parsed(candidate.replace("$d = div($a, $m)", "$d = mul($a, $m)"))
    wanted, found = lower_with_cuts(parsed(program), lost, Algebra())
    assert wanted.values[-1] != found.values[-1]


def test_conditions_of_a_candidate_say_which_sizes_are_whole():
    inputs = "  x = input f32[b, 32]\n"
    program = "  $y = neg(x)\n  return $y\n"
    heads = """
  $y = custom(x) grid[x=gb, y=gg]
    $x = load(0, imap=[0, 1])
    $h = reshape($x, dims=[b/gb, 8/gg, 4])
    $n = neg($h)
    $s = reshape($n, dims=[b*8/(gb*gg), 4])
    $r = reshape($s, dims=[b/gb, 32/gg])
    $out = store($r, omap=[0, 1])
  return $y
"""
    g = parse(f"sgraph\n{inputs}{numbered_from(1, heads)}")

    assert one(Algebra(), program, inputs) == lower(g, Algebra(integers=g.conditions())).values[1]
    assert {"8/gg", "32/gg"} <= {str(d) for d in g.conditions()}


def test_sums_over_the_halves_of_a_dim_are_a_sum_over_the_dim():
    inputs = "  x = input f32[b, 64]\n  y = input f32[64, b]\n"
    halves = """
  $a = slice(x, dim=1, start=0, stop=20)
  $b = slice(x, dim=1, start=20, stop=64)
  $c = slice(y, dim=0, start=0, stop=20)
  $d = slice(y, dim=0, start=20, stop=64)
  $p = matmul($a, $c)
  $q = matmul($b, $d)
  $o = add($p, $q)
  return $o
"""
    algebra = Algebra()
    whole = one(algebra, "  $o = matmul(x, y)\n  return $o\n", inputs)

    assert whole == one(algebra, halves, inputs)
    assert whole != one(algebra, halves.replace("start=20", "start=19"), inputs)
    assert whole != one(algebra, halves.replace("add", "sub"), inputs)


def test_sums_of_nothing_but_bands_are_looked_at_for_neighbours():
    # The slice of a tile is read at a moved place, and a sum of it has no factor beside its band.
    text = """sgraph
  v = input f32[2, 12, 6]
  %1 = band(rows=12, columns=6, low=-2, high=0, dtype=f32)
  %2 = custom(v, %1) grid[x=gx, y=gy] loop[i=gx]
    %0 = load(0, imap=[2, 1], fmap=2)
    %1 = load(1, imap=[1, 0], fmap=1)
    %2 = slice(%1, dim=0, start=6/gx^2, stop=12/gx^2)
    %3 = running_max(%2, dim=0)
    %4 = sub(%2, %3)
    %5 = exp(%4)
    %6 = accum_rescaled(%5, %3, dim=0)
    %7 = matmul(%5, %2)
    %8 = accum_rescaled(%7, %3)
    %9 = accum_sum(%4, dim=0)
    %10 = store(%9, omap=[1, -])
  return %2
"""
    with pytest.raises(NoNormalForm, match="race"):
        lower(parse(text), Algebra())


def test_a_proof_by_cuts_has_a_budget_per_tensor_and_not_per_graph():
    """Each part between two cuts is short, so that a graph may have as many of them as it likes."""
    lines, x = ["  x = input f32[64, 64]", "  the_gain_of_all_layers = input f32[64]"], "x"
    for layer in range(40):
        at = 2 + 6 * layer
        lines += [
            f"  %{at} = square({x})",
            f"  %{at + 1} = mean(%{at}, dim=1)",
            f"  %{at + 2} = rsqrt(%{at + 1})",
            f"  %{at + 3} = mul({x}, %{at + 2})",
            f"  %{at + 4} = mul(%{at + 3}, the_gain_of_all_layers)",
            f"  %{at + 5} = add({x}, %{at + 4})",
        ]
        x = f"%{at + 5}"
    layers = parse("\n".join(("sgraph", *lines, f"  return {x}")))
    budget = Budget(steps=1_000)

    wanted, found = lower_with_cuts(layers, layers, Algebra(budget))

    assert wanted.values[-1] == found.values[-1]
    with pytest.raises(OverBudget):
        lower(layers, Algebra(budget))
