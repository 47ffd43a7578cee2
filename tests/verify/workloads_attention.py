"""Candidates of softmax and attention: R6, R7, R8, R10, masks, rotary embedding, a whole block."""

from __future__ import annotations

from typing import Any

from tests.verify.workloads_base import Table, law, swapped, variant

_table = Table()
right, wrong = _table.right, _table.wrong

# ---------------------------------------------------------------- softmax over rows
SOFTMAX = """
  $o = custom(x) grid[x=gx]
    $x = load(x, imap=[0])
    $e = exp(sub($x, max($x, dim=1)))
    $den = sum($e, dim=1)
    store(div($e, $den), omap=[0])
  return $o
"""
SOFTMAX_ONLINE = """
  $m = custom(x) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0], fmap=1)
    $m = running_max($x, dim=1)
    $den = accum_rescaled(exp(sub($x, $m)), $m, dim=1)
    store(accum_max($x, dim=1), omap=[0])
    store($den, omap=[0])
  $l = result($m, index=1)
  $o = custom(x, $m, $l) grid[x=px, y=py]
    $x = load(x, imap=[0, 1])
    $m = load($m, imap=[0, -])
    $l = load($l, imap=[0, -])
    store(div(exp(sub($x, $m)), $l), omap=[0, 1])
  return $o
"""
right("softmax", "rows", SOFTMAX)
right("softmax", "no-maximum", variant(SOFTMAX, e="exp($x)"))
right("softmax", "any-shift", variant(SOFTMAX, e="exp(sub($x, mean($x, dim=1)))"))
right("softmax", "R10", SOFTMAX_ONLINE)
right(
    "softmax",
    "three-passes",
    """
  $m = custom(x) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0], fmap=1)
    store(accum_max($x, dim=1), omap=[0])
  $l = custom(x, $m) grid[x=px] loop[i=pf]
    $x = load(x, imap=[0], fmap=1)
    $m = load($m, imap=[0])
    store(accum_sum(exp(sub($x, $m)), dim=1), omap=[0])
  return div(exp(sub(x, $m)), $l)
""",
)
wrong("softmax", "sum-not-rescaled", variant(SOFTMAX_ONLINE, den="accum_sum(exp(sub($x, $m)), dim=1)"))
wrong("softmax", "columns-of-a-block", swapped(swapped(SOFTMAX, "imap=[0]", "imap=[1]"), "omap=[0]", "omap=[1]"))
wrong("softmax", "over-the-rows", variant(SOFTMAX, den="sum($e, dim=0)"))
wrong("softmax", "divided-by-the-largest", variant(SOFTMAX, den="max($e, dim=1)"))

# ---------------------------------------------------------------- R6: one kernel; heads folded
R6 = """
  $o = custom(q, k, v) grid[x=gb, y=gq, z=gv] loop[i=f]
    $q = load(q, imap=[0, 1, -])
    $k = load(k, imap=[0, -, -], fmap=2)
    $v = load(v, imap=[0, -, 2], fmap=1)
    $s = matmul($q, $k)
    $e = exp($s)
    $num = accum(matmul($e, $v))
    $den = accum_sum($e, dim=2)
    $y = div($num, $den)
    store($y, omap=[0, 1, 2])
  return $o
"""
R10 = """
  $o = custom(q, k, v) grid[x=gb, y=gq] loop[i=f]
    $q = load(q, imap=[0, 1])
    $k = load(k, imap=[0, -], fmap=2)
    $v = load(v, imap=[0, -], fmap=1)
    $s = matmul($q, $k)
    $m = running_max($s, dim=2)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v), $m)
    $den = accum_rescaled($e, $m, dim=2)
    store(div($num, $den), omap=[0, 1])
  return $o
"""
WHOLE_ROWS = """
  $o = custom(q, k, v) grid[x=gb, y=gq]
    $q = load(q, imap=[0, 1])
    $k = load(k, imap=[0, -])
    $v = load(v, imap=[0, -])
    $s = matmul($q, $k)
    $e = exp(sub($s, max($s, dim=2)))
    $p = div($e, sum($e, dim=2))
    store(matmul($p, $v), omap=[0, 1])
  return $o
"""
# ---------------------------------------------------------------- R7: keys split over blocks, two kernels
R7 = """
  $num = custom(q, k, v) grid[x=gb, y=s, z=c] loop[i=f]
    $q = load(q, imap=[0, -, 1])
    $k = load(k, imap=[0, 2, -], fmap=2)
    $v = load(v, imap=[0, 1, -], fmap=1)
    $s = matmul($q, $k)
    $e = exp($s)
    $num = accum(matmul($e, $v))
    $den = accum_sum($e, dim=2)
    store($num, omap=[0, 2, 1])
    store($den, omap=[0, 2, 1])
  $den = result($num, index=1)
  $o = custom($num, $den) grid[x=pb, y=pq]
    $num = load($num, imap=[0, 1])
    $den = load($den, imap=[0, 1])
    $sum = sum(reshape($num, dims=[b/pb, {s}/pq, s, {d}]), dim=2)
    $y = div(reshape($sum, dims=[b/pb, {s}/pq, {d}]), sum($den, dim=2))
    store($y, omap=[0, 1])
  return $o
"""
R7_LOOP = """
  $num = custom(q, k, v) grid[x=gb, y=s] loop[i=f]
    $q = load(q, imap=[0, -])
    $k = load(k, imap=[0, 2], fmap=2)
    $v = load(v, imap=[0, 1], fmap=1)
    $e = exp(matmul($q, $k))
    store(accum(matmul($e, $v)), omap=[0, 2])
    store(accum_sum($e, dim=2), omap=[0, 2])
  $den = result($num, index=1)
  $o = custom($num, $den) grid[x=pb] loop[i=s]
    $num = load($num, imap=[0], fmap=2)
    $den = load($den, imap=[0], fmap=2)
    $y = div(accum($num), accum($den))
    store($y, omap=[0])
  return $o
"""
R7_ROWS = """
  $num = custom(q, k, v) grid[x=gb, y=s, z=c] loop[i=f]
    $q = load(q, imap=[0, -, 1])
    $k = load(k, imap=[0, 2, -], fmap=2)
    $v = load(v, imap=[0, 1, -], fmap=1)
    $s = matmul($q, $k)
    $e = exp($s)
    store(accum(matmul($e, $v)), omap=[0, 2, 1])
    store(accum_sum($e, dim=2), omap=[0, 2, 1])
  $den = result($num, index=1)
  $o = custom($num, $den) grid[x=pb, y=pq] loop[i=s]
    $num = load($num, imap=[0, 1], fmap=2)
    $den = load($den, imap=[0, 1], fmap=2)
    $y = div(accum($num), accum($den))
    store($y, omap=[0, 1])
  return $o
"""
R7_SAFE = """
  $num = custom(q, k, v) grid[x=gb, y=s] loop[i=f]
    $q = load(q, imap=[0, -])
    $k = load(k, imap=[0, 2], fmap=2)
    $v = load(v, imap=[0, 1], fmap=1)
    $s = matmul($q, $k)
    $m = running_max($s, dim=2)
    $e = exp(sub($s, $m))
    store(accum_rescaled(matmul($e, $v), $m), omap=[0, 2])
    store(accum_rescaled($e, $m, dim=2), omap=[0, 2])
    store(accum_max($s, dim=2), omap=[0, 2])
  $den = result($num, index=1)
  $most = result($num, index=2)
  $o = custom($num, $den, $most) grid[x=pb] loop[i=s]
    $num = load($num, imap=[0], fmap=2)
    $den = load($den, imap=[0], fmap=2)
    $most = load($most, imap=[0], fmap=2)
    $run = running_max($most)
    $w = exp(sub($most, $run))
    $top = accum_rescaled(mul($num, $w), $run)
    $below = accum_rescaled(mul($den, $w), $run)
    store(div($top, $below), omap=[0])
  return $o
"""
FOLDED = "attention gqa mha mqa"
right(FOLDED, "R6", R6)
right(FOLDED, "R6-any-factor", variant(R6, e="mul(exp($s), recip(add_scalar(mul_scalar($s, 0), 2)))"))
right(FOLDED, "R7", R7)
right(FOLDED, "R7-loop", R7_LOOP)
right(FOLDED, "R7-rows", R7_ROWS)
right(FOLDED, "R7-safe", R7_SAFE)
right(FOLDED, "R10", R10)
right(FOLDED, "whole-rows", WHOLE_ROWS)
right(
    "attention gqa",
    "rows-and-columns-exchanged",
    """
  $o = custom(q, k, v) grid[x=gb, y=gq] loop[i=f]
    $q = permute(load(q, imap=[0, 1]), order=[0, 2, 1])
    $k = permute(load(k, imap=[0, -], fmap=2), order=[0, 2, 1])
    $v = permute(load(v, imap=[0, -], fmap=1), order=[0, 2, 1])
    $e = exp(matmul($k, $q))
    $y = div(accum(matmul($v, $e)), accum_sum($e, dim=1))
    store(permute($y, order=[0, 2, 1]), omap=[0, 1])
  return $o
""",
)
right(
    "attention",
    "scores-first",
    """
  $e = custom(q, k) grid[x=gb, y=gt] loop[i=f]
    $q = load(q, imap=[0, -], fmap=2)
    $k = load(k, imap=[0, 2], fmap=1)
    store(exp(accum(matmul($q, $k))), omap=[0, 2])
  $o = custom($e, v) grid[x=pb, y=pv] loop[i=pf]
    $e = load($e, imap=[0, -], fmap=2)
    $v = load(v, imap=[0, 2], fmap=1)
    store(div(accum(matmul($e, $v)), accum_sum($e, dim=2)), omap=[0, 2])
  return $o
""",
)
wrong(
    FOLDED,
    "normalised-per-tile",
    variant(R6, num="accum(matmul(div($e, sum($e, dim=2)), $v))", y="mul_scalar($num, 1)"),
)
wrong(FOLDED, "sum-over-queries", variant(R6, den="accum_mean(sum($e, dim=1), dim=2)"))
wrong(FOLDED, "summed-then-exponentiated", variant(R6, e="add_scalar($s, 0)", den="exp(accum_sum($s, dim=2))"))
wrong(FOLDED, "first-matmul-replaced", variant(R6, s="mul(sum($q, dim=2), sum($k, dim=1))"))
wrong(FOLDED, "block-local-sums", variant(R7_LOOP, y="accum(div($num, $den))"))
wrong(FOLDED, "R10-numerator-not-rescaled", variant(R10, num="accum(matmul($e, $v))"))
wrong(FOLDED, "R10-sum-not-rescaled", variant(R10, den="accum_sum($e, dim=2)"))
wrong(FOLDED, "R7-safe-combined-without-scales", variant(R7_SAFE, w="exp(sub($run, $run))"))
wrong(
    FOLDED,
    "value-tiles-replicated",
    swapped(
        swapped(R6, "imap=[0, -, -], fmap=2", "imap=[0, -, -]"), "imap=[0, -, 2], fmap=1", "imap=[0, -, 2]"
    ).replace("accum_sum($e, dim=2)", "sum($e, dim=2)"),
)
wrong(
    "attention",
    "partials-in-the-other-order",
    variant(R7, sum="sum(reshape($num, dims=[b/pb, {s}/pq, {d}, s]), dim=3)"),
)

# ---------------------------------------------------------------- R8: normalised queries, and values
R8 = {
    "R8": variant(R6, s="matmul(div($q, rms($q, dim=2)), $k)"),
    "R8-norm-behind-the-product": variant(R6, s="div(matmul($q, $k), rms($q, dim=2))"),
    "R8-split": variant(R7, s="matmul(div($q, rms($q, dim=2)), $k)"),
    "R8-split-rows": variant(R7_ROWS, s="matmul(div($q, rms($q, dim=2)), $k)"),
    "R8-root-of-mean": variant(R6, s="matmul(mul($q, rsqrt(mean(square($q), dim=2))), $k)"),
    "R8-online": variant(R10, s="matmul(div($q, rms($q, dim=2)), $k)"),
}
for _form, _text in R8.items():
    right("qk_norm_attention", _form, _text)
    _v = swapped(_text, "matmul($e, $v)", "matmul($e, div($v, rms($v, dim=2)))")
    if "imap=[0, -, 2]" in _v:
        # A value's norm takes all of its channels.
        _v = swapped(
            swapped(swapped(_v, ", z=gv", ""), "imap=[0, -, 2]", "imap=[0, -]"), "omap=[0, 1, 2]", "omap=[0, 1]"
        )
        _v = _v.replace("imap=[0, 1, -]", "imap=[0, 1]").replace("imap=[0, -, -]", "imap=[0, -]")
    right("qknorm", _form, _v)
    if _form == "R8":
        right(
            "qknorm",
            "norms-of-values-as-weights",
            swapped(
                _v,
                "matmul($e, div($v, rms($v, dim=2)))",
                "matmul(mul($e, permute(recip(rms($v, dim=2)), order=[0, 2, 1])), $v)",
            ),
        )
        wrong(
            "qknorm",
            "norm-of-keys",
            swapped(swapped(_v, "div($v, rms($v, dim=2))", "$v"), ", $k)", ", div($k, rms($k, dim=1)))"),
        )
        wrong("qknorm", "values-as-they-are", swapped(_v, "div($v, rms($v, dim=2))", "$v"))
        wrong("qknorm", "norm-over-the-keys", swapped(_v, "rms($v, dim=2)", "rms($v, dim=1)"))
wrong(
    "qk_norm_attention",
    "first-matmul-replaced",
    variant(R6, s="mul(div(sum($q, dim=2), rms($q, dim=2)), sum($k, dim=1))"),
)
wrong("qknorm", "first-matmul-replaced", variant(R6, s="mul(div(sum($q, dim=2), rms($q, dim=2)), sum($k, dim=1))"))
wrong("qk_norm_attention", "norm-over-the-rows", variant(R6, s="matmul(div($q, rms($q, dim=1)), $k)"))
wrong("qk_norm_attention", "norm-of-the-scores", variant(R6, s="div(matmul($q, $k), rms(matmul($q, $k), dim=2))"))
wrong("qk_norm_attention", "norm-forgotten", R6)
wrong("qk_norm_attention", "norm-behind-the-softmax", variant(R6, y="div(div($num, $den), rms($q, dim=2))"))

# ---------------------------------------------------------------- heads apart, scaled, grouped
GROUPED = """
  $q = reshape(q, dims=[b, {g}, {each}*{s}, {d}])
  $o = custom($q, k, v) grid[x=gb, y=gg] loop[i=f]
    $q = load($q, imap=[0, 1])
    $k = load(k, imap=[0, 1], fmap=3)
    $v = load(v, imap=[0, 1], fmap=2)
    $s = mul_scalar(matmul($q, $k), {scale})
    $e = exp($s)
    store(div(accum(matmul($e, $v)), accum_sum($e, dim=3)), omap=[0, 1])
  return reshape($o, dims=[b, {h}, {s}, {d}])
"""
GROUPED_ONLINE = """
  $q = reshape(q, dims=[b, {g}, {each}*{s}, {d}])
  $o = custom($q, k, v) grid[x=gb, y=gg] loop[i=f]
    $q = load($q, imap=[0, 1])
    $k = load(k, imap=[0, 1], fmap=3)
    $v = load(v, imap=[0, 1], fmap=2)
    $s = mul_scalar(matmul($q, $k), {scale})
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v), $m)
    $den = accum_rescaled($e, $m, dim=3)
    store(div($num, $den), omap=[0, 1])
  return reshape($o, dims=[b, {h}, {s}, {d}])
"""
GROUPED_IN_BLOCK = """
  $o = custom(q, k, v) grid[x=gb, y=gg] loop[i=f]
    $q = reshape(load(q, imap=[0, 1]), dims=[b/gb, {g}/gg, {each}*{s}, {d}])
    $k = load(k, imap=[0, 1], fmap=3)
    $v = load(v, imap=[0, 1], fmap=2)
    $e = exp(matmul(mul_scalar($q, {scale}), $k))
    $y = div(accum(matmul($e, $v)), accum_sum($e, dim=3))
    store(reshape($y, dims=[b/gb, {h}/gg, {s}, {d}]), omap=[0, 1])
  return $o
"""
EXPANDED = """
  $k = reshape(expand(reshape(k, dims=[b, {g}, 1, {d}, {t}]), dim=2, size={each}), dims=[b, {h}, {d}, {t}])
  $v = reshape(expand(reshape(v, dims=[b, {g}, 1, {t}, {d}]), dim=2, size={each}), dims=[b, {h}, {t}, {d}])
  $o = custom(q, $k, $v) grid[x=gb, y=gh] loop[i=f]
    $q = load(q, imap=[0, 1])
    $k = load($k, imap=[0, 1], fmap=3)
    $v = load($v, imap=[0, 1], fmap=2)
    $s = mul_scalar(matmul($q, $k), {scale})
    $e = exp($s)
    store(div(accum(matmul($e, $v)), accum_sum($e, dim=3)), omap=[0, 1])
  return $o
"""
TILED = """
  $k = reshape(expand(reshape(k, dims=[b, 1, {g}, {d}, {t}]), dim=1, size={each}), dims=[b, {h}, {d}, {t}])
  $v = reshape(expand(reshape(v, dims=[b, 1, {g}, {t}, {d}]), dim=1, size={each}), dims=[b, {h}, {t}, {d}])
"""
GROUPS = "grouped_attention safe_grouped_attention"
right(GROUPS, "R6", GROUPED)
right(GROUPS, "R10", GROUPED_ONLINE)
right(GROUPS, "R6-heads-in-the-block", GROUPED_IN_BLOCK)
right(GROUPS, "R6-keys-repeated", EXPANDED)
right(
    GROUPS,
    "R7",
    """
  $q = reshape(q, dims=[b, {g}, {each}*{s}, {d}])
  $num = custom($q, k, v) grid[x=gb, y=gg, z=s] loop[i=f]
    $q = load($q, imap=[0, 1, -])
    $k = load(k, imap=[0, 1, 3], fmap=3)
    $v = load(v, imap=[0, 1, 2], fmap=2)
    $s = mul_scalar(matmul($q, $k), {scale})
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    store(accum_rescaled(matmul($e, $v), $m), omap=[0, 1, 3])
    store(accum_rescaled($e, $m, dim=3), omap=[0, 1, 3])
    store(accum_max($s, dim=3), omap=[0, 1, 3])
  $den = result($num, index=1)
  $most = result($num, index=2)
  $o = custom($num, $den, $most) grid[x=pb, y=pg]
    $num = reshape(load($num, imap=[0, 1]), dims=[b/pb, {g}/pg, {each}*{s}, s, {d}])
    $den = load($den, imap=[0, 1])
    $most = load($most, imap=[0, 1])
    $w = exp(sub($most, max($most, dim=3)))
    $top = sum(mul($num, reshape($w, dims=[b/pb, {g}/pg, {each}*{s}, s, 1])), dim=3)
    $below = sum(mul($den, $w), dim=3)
    store(div(reshape($top, dims=[b/pb, {g}/pg, {each}*{s}, {d}]), $below), omap=[0, 1])
  return reshape($o, dims=[b, {h}, {s}, {d}])
""",
)
right(
    GROUPS,
    "R7-no-maximum",
    """
  $q = reshape(q, dims=[b, {g}, {each}*{s}, {d}])
  $num = custom($q, k, v) grid[x=gb, y=gg, z=s] loop[i=f]
    $q = load($q, imap=[0, 1, -])
    $k = load(k, imap=[0, 1, 3], fmap=3)
    $v = load(v, imap=[0, 1, 2], fmap=2)
    $e = exp(mul_scalar(matmul($q, $k), {scale}))
    store(accum(matmul($e, $v)), omap=[0, 1, 3])
    store(accum_sum($e, dim=3), omap=[0, 1, 3])
  $den = result($num, index=1)
  $o = custom($num, $den) grid[x=pb, y=pg]
    $num = reshape(load($num, imap=[0, 1]), dims=[b/pb, {g}/pg, {each}*{s}, s, {d}])
    $den = load($den, imap=[0, 1])
    $top = reshape(sum($num, dim=3), dims=[b/pb, {g}/pg, {each}*{s}, {d}])
    store(div($top, sum($den, dim=3)), omap=[0, 1])
  return reshape($o, dims=[b, {h}, {s}, {d}])
""",
)
wrong(GROUPS, "heads-mapped-the-other-way", TILED + EXPANDED[EXPANDED.index("  $o = ") :])
wrong(GROUPS, "scale-lost", variant(GROUPED, s="matmul($q, $k)"))
wrong(GROUPS, "scale-behind", variant(GROUPED, s="matmul($q, $k)", e="mul_scalar(exp($s), {scale})"))
wrong(GROUPS, "scale-squared", variant(GROUPED, s="mul_scalar(matmul(mul_scalar($q, {scale}), $k), {scale})"))
wrong(GROUPS, "R10-not-rescaled", variant(GROUPED_ONLINE, num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"))
wrong(
    GROUPS,
    "heads-and-rows-confused",
    swapped(
        GROUPED,
        "  $q = reshape(q, dims",
        "  $t = permute(reshape(q, dims=[b, {each}, {g}, {s}, {d}]), order=[0, 2, 1, 3, 4])\n  $q = reshape($t, dims",
    ),
)

# ---------------------------------------------------------------- torch's attention: safe softmax
SAFE = """
  $o = custom(q, k, v) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    $v = load(v, imap=[0, 1, -], fmap=2)
    $s = mul_scalar(matmul($q, $k), {scale})
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v), $m)
    $den = accum_rescaled($e, $m, dim=3)
    store(div($num, $den), omap=[0, 1, 2])
  return $o
"""
SAFE_TWO_PASSES = """
  $m = custom(q, k) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    store(accum_max(mul_scalar(matmul($q, $k), {scale}), dim=3), omap=[0, 1, 2])
  $o = custom(q, k, v, $m) grid[x=pb, y=ph, z=pq] loop[i=pf]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    $v = load(v, imap=[0, 1, -], fmap=2)
    $m = load($m, imap=[0, 1, 2])
    $e = exp(sub(mul_scalar(matmul($q, $k), {scale}), $m))
    $den = accum_sum($e, dim=3)
    store(div(accum(matmul($e, $v)), $den), omap=[0, 1, 2])
  return $o
"""
right("safe_attention", "R10", SAFE)
right("safe_attention", "R10-scaled-queries", variant(SAFE, s="matmul(mul_scalar($q, {scale}), $k)"))
right(
    "safe_attention",
    "R6",
    variant(SAFE, m="mul_scalar(max($s, dim=3), 0)", num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"),
)
right(
    "safe_attention",
    "R6-no-maximum",
    variant(SAFE, e="exp($s)", num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)").replace(
        "    $m = running_max($s, dim=3)\n", ""
    ),
)
right("safe_attention", "two-passes", SAFE_TWO_PASSES)
right(
    "safe_attention",
    "whole-rows",
    """
  $o = custom(q, k, v) grid[x=gb, y=gh, z=gq]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -])
    $v = load(v, imap=[0, 1, -])
    $s = mul_scalar(matmul($q, $k), {scale})
    $e = exp(sub($s, max($s, dim=3)))
    store(matmul(div($e, sum($e, dim=3)), $v), omap=[0, 1, 2])
  return $o
""",
)
right(
    "safe_attention",
    "heads-merged",
    """
  $q = reshape(q, dims=[b*{h}, {s}, {d}])
  $k = reshape(k, dims=[b*{h}, {d}, {t}])
  $v = reshape(v, dims=[b*{h}, {t}, {d}])
  $o = custom($q, $k, $v) grid[x=gb] loop[i=f]
    $q = load($q, imap=[0])
    $k = load($k, imap=[0], fmap=2)
    $v = load($v, imap=[0], fmap=1)
    $s = mul_scalar(matmul($q, $k), {scale})
    $m = running_max($s, dim=2)
    $e = exp(sub($s, $m))
    store(div(accum_rescaled(matmul($e, $v), $m), accum_rescaled($e, $m, dim=2)), omap=[0])
  return reshape($o, dims=[b, {h}, {s}, {d}])
""",
)
wrong("safe_attention", "numerator-not-rescaled", variant(SAFE, num="accum(matmul($e, $v))"))
wrong("safe_attention", "neither-rescaled", variant(SAFE, num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"))
wrong(
    "safe_attention",
    "maximum-of-the-tile",
    variant(SAFE, m="max($s, dim=3)", num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"),
)
wrong("safe_attention", "scale-lost", variant(SAFE, s="matmul($q, $k)"))
wrong(
    "safe_attention",
    "maximum-over-queries",
    variant(SAFE_TWO_PASSES, den="accum_sum(exp(mul_scalar(matmul($q, $k), {scale})), dim=3)"),
)
wrong("safe_attention", "mean-for-sum", variant(SAFE_TWO_PASSES, den="accum_mean($e, dim=3)"))

# ---------------------------------------------------------------- masks
CAUSAL = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $o = custom(q, k, v, $keep) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    $v = load(v, imap=[0, 1, -], fmap=2)
    $keep = load($keep, imap=[-, -, 0], fmap=1)
    $s = mask(mul_scalar(matmul($q, $k), {scale}), $keep)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v), $m)
    $den = accum_rescaled($e, $m, dim=3)
    store(div($num, $den), omap=[0, 1, 2])
  return $o
"""
CAUSAL_PLAIN = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $o = custom(q, k, v, $keep) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    $v = load(v, imap=[0, 1, -], fmap=2)
    $keep = load($keep, imap=[-, -, 0], fmap=1)
    $s = mul_scalar(matmul($q, $k), {scale})
    $e = mul(exp($s), $keep)
    $num = accum(matmul($e, $v))
    $den = accum_sum($e, dim=3)
    store(div($num, $den), omap=[0, 1, 2])
  return $o
"""
CAUSAL_ROWS = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $o = custom(q, k, v, $keep) grid[x=gb, y=gh, z=gq]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -])
    $v = load(v, imap=[0, 1, -])
    $keep = load($keep, imap=[-, -, 0])
    $s = mask(mul_scalar(matmul($q, $k), {scale}), $keep)
    $e = exp(sub($s, max($s, dim=3)))
    store(matmul(div($e, sum($e, dim=3)), $v), omap=[0, 1, 2])
  return $o
"""
CAUSAL_SPLIT = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $num = custom(q, k, v, $keep) grid[x=gb, y=gh, z=s] loop[i=f]
    $q = load(q, imap=[0, 1, -])
    $k = load(k, imap=[0, 1, 3], fmap=3)
    $v = load(v, imap=[0, 1, 2], fmap=2)
    $keep = load($keep, imap=[-, -, 1], fmap=1)
    $s = mask(mul_scalar(matmul($q, $k), {scale}), $keep)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    store(accum_rescaled(matmul($e, $v), $m), omap=[0, 1, 3])
    store(accum_rescaled($e, $m, dim=3), omap=[0, 1, 3])
    store(accum_max($s, dim=3), omap=[0, 1, 3])
  $den = result($num, index=1)
  $most = result($num, index=2)
  $o = custom($num, $den, $most) grid[x=pb, y=ph] loop[i=s]
    $num = load($num, imap=[0, 1], fmap=3)
    $den = load($den, imap=[0, 1], fmap=3)
    $most = load($most, imap=[0, 1], fmap=3)
    $run = running_max($most)
    $w = exp(sub($most, $run))
    $top = accum_rescaled(mul($num, $w), $run)
    $below = accum_rescaled(mul($den, $w), $run)
    store(div($top, $below), omap=[0, 1])
  return $o
"""
CAUSAL_SPLIT_ROWS = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $num = custom(q, k, v, $keep) grid[x=gh, y=gq, z=s] loop[i=f]
    $q = load(q, imap=[1, 2, -])
    $k = load(k, imap=[1, -, 3], fmap=3)
    $v = load(v, imap=[1, -, 2], fmap=2)
    $keep = load($keep, imap=[-, 0, 1], fmap=1)
    $s = mask(mul_scalar(matmul($q, $k), {scale}), $keep)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    store(accum_rescaled(matmul($e, $v), $m), omap=[1, 2, 3])
    store(accum_rescaled($e, $m, dim=3), omap=[1, 2, 3])
    store(accum_max($s, dim=3), omap=[1, 2, 3])
  $den = result($num, index=1)
  $most = result($num, index=2)
  $o = custom($num, $den, $most) grid[x=ph, y=pq] loop[i=s]
    $num = load($num, imap=[1, 2], fmap=3)
    $den = load($den, imap=[1, 2], fmap=3)
    $most = load($most, imap=[1, 2], fmap=3)
    $run = running_max($most)
    $w = exp(sub($most, $run))
    $top = accum_rescaled(mul($num, $w), $run)
    $below = accum_rescaled(mul($den, $w), $run)
    store(div($top, $below), omap=[1, 2])
  return $o
"""
CAUSAL_PAGES = """
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $q = reshape(q, dims=[b, {h}, 1, {s}, {d}])
  $k = permute(reshape(k, dims=[b, {h}, {d}, {s}/2, 2]), order=[0, 1, 3, 2, 4])
  $v = reshape(v, dims=[b, {h}, {s}/2, 2, {d}])
  $keep = permute(reshape($keep, dims=[{s}, {s}/2, 2]), order=[1, 0, 2])
  $o = custom($q, $k, $v, $keep) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load($q, imap=[0, 1, 3])
    $k = load($k, imap=[0, 1, -], fmap=2)
    $v = load($v, imap=[0, 1, -], fmap=2)
    $keep = load($keep, imap=[-, -, 1], fmap=0)
    $s = mask(mul_scalar(matmul($q, $k), {scale}), $keep)
    $m = running_max(max($s, dim=4), dim=2)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(sum(matmul($e, $v), dim=2), $m)
    $den = accum_rescaled(sum(sum($e, dim=4), dim=2), $m)
    store(div($num, $den), omap=[0, 1, 3])
  return reshape($o, dims=[b, {h}, {s}, {d}])
"""
"""Keys and values in pages of two."""
right(
    "safe_attention",
    "R7",
    swapped(
        swapped(
            swapped(CAUSAL_SPLIT, "  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)\n", ""),
            "    $keep = load($keep, imap=[-, -, 1], fmap=1)\n",
            "",
        ),
        "custom(q, k, v, $keep)",
        "custom(q, k, v)",
    ).replace("mask(mul_scalar(matmul($q, $k), {scale}), $keep)", "mul_scalar(matmul($q, $k), {scale})"),
)
_BAND = "band(rows={s}, columns={s}, high=0, dtype=f32)"
_WINDOW = "band(rows={s}, columns={s}, low={back}, high=0, dtype=f32)"
for _name, _band in (("causal_attention", _BAND), ("sliding_window_attention", _WINDOW)):
    _online, _plain, _rows = (swapped(t, _BAND, _band) for t in (CAUSAL, CAUSAL_PLAIN, CAUSAL_ROWS))
    right(_name, "R10", _online)
    right(_name, "R6-mask-as-factor", _plain)
    right(_name, "R6-mask-before-exp", variant(_plain, e="exp(mask($s, $keep))"))
    right(_name, "whole-rows", _rows)
    right(_name, "R7-split", swapped(CAUSAL_SPLIT, _BAND, _band))
    right(_name, "R7-split-rows", swapped(CAUSAL_SPLIT_ROWS, _BAND, _band))
    _pages = swapped(CAUSAL_PAGES, _BAND, _band)
    right(_name, "R10-pages", _pages)
    wrong(
        _name,
        "pages-not-rescaled",
        variant(_pages, num="accum(sum(matmul($e, $v), dim=2))", den="accum(sum(sum($e, dim=4), dim=2))"),
    )
    wrong(
        _name,
        "mask-of-other-pages",
        swapped(_pages, "dims=[{s}, {s}/2, 2]), order=[1, 0, 2]", "dims=[{s}, 2, {s}/2]), order=[2, 0, 1]"),
    )
    wrong(_name, "split-without-weights", variant(swapped(CAUSAL_SPLIT, _BAND, _band), w="exp(sub($run, $run))"))
    right(_name, "R10-mask-twice", variant(_online, e="mul(exp(sub($s, $m)), $keep)"))
    right(
        _name,
        "R10-shifted-by-all-scores",
        variant(_online, m="running_max(mul_scalar(matmul($q, $k), {scale}), dim=3)"),
    )
    wrong(_name, "mask-lost", variant(_online, s="mul_scalar(matmul($q, $k), {scale})"))
    wrong(_name, "one-too-many", swapped(_online, "high=0", "high=1"))
    wrong(_name, "one-too-few", swapped(_online, "high=0", "high=-1"))
    wrong(
        _name,
        "transposed",
        swapped(
            swapped(_online, "imap=[-, -, 0], fmap=1", "imap=[-, -, 1], fmap=0"),
            "matmul($q, $k), {scale}), $keep",
            "matmul($q, $k), {scale}), permute($keep, order=[1, 0])",
        ),
    )
    wrong(_name, "sum-not-masked", variant(_plain, den="accum_sum(exp($s), dim=3)"))
    wrong(_name, "masked-with-zero", variant(_rows, s="mul(mul_scalar(matmul($q, $k), {scale}), $keep)"))
    wrong(_name, "sum-over-queries", swapped(_rows, "sum($e, dim=3)", "sum($e, dim=2)"))
    wrong(_name, "divided-by-the-largest", variant(_plain, den="accum_max($e, dim=3)"))
    wrong(_name, "not-rescaled", variant(_online, num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"))
wrong(
    "sliding_window_attention",
    "window-one-too-wide",
    swapped(swapped(CAUSAL, _BAND, _WINDOW), "low={back}", "low={back}-1"),
)
wrong("sliding_window_attention", "window-forgotten", CAUSAL)
right(
    "sliding_window_attention",
    "R10-two-masks",
    """
  $past = band(rows={s}, columns={s}, high=0, dtype=f32)
  $near = band(rows={s}, columns={s}, low={back}, dtype=f32)
  $o = custom(q, k, v, $past, $near) grid[x=gb, y=gh, z=gq] loop[i=f]
    $q = load(q, imap=[0, 1, 2])
    $k = load(k, imap=[0, 1, -], fmap=3)
    $v = load(v, imap=[0, 1, -], fmap=2)
    $past = load($past, imap=[-, -, 0], fmap=1)
    $near = load($near, imap=[-, -, 0], fmap=1)
    $s = mask(mask(mul_scalar(matmul($q, $k), {scale}), $past), $near)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    store(div(accum_rescaled(matmul($e, $v), $m), accum_rescaled($e, $m, dim=3)), omap=[0, 1, 2])
  return $o
""",
)


# ---------------------------------------------------------------- masks where heads share keys
def _causal_groups(q: Any, k: Any, v: Any) -> Any:
    import torch

    (b, g, s, d), at = k.shape, torch.arange(18)
    scores = q.reshape(b, g, 4, s, d) @ k.reshape(b, g, 1, s, d).transpose(-1, -2)
    seen = torch.softmax(scores.masked_fill(~(at[:, None] - at[None, :] >= 0), float("-inf")), -1)
    return (seen @ v.reshape(b, g, 1, s, d)).reshape(b, 4 * g, s, d)


law("causal_groups", _causal_groups, q="b 24 18 5", k="b 6 18 5", v="b 6 18 5")
_HEADS_FIRST = """
  $q = reshape(q, dims=[b, 6, 72, 5])
  $keep = band(rows=18, columns=18, high=0, dtype=f32)
  $keep = reshape(expand(reshape($keep, dims=[1, 18, 18]), dim=0, size=4), dims=[72, 18])
"""
_ROWS_FIRST = """
  $q = reshape(permute(reshape(q, dims=[b, 6, 4, 18, 5]), order=[0, 1, 3, 2, 4]), dims=[b, 6, 72, 5])
  $keep = band(rows=18, columns=18, high=0, dtype=f32)
  $keep = reshape(expand(reshape($keep, dims=[18, 1, 18]), dim=1, size=4), dims=[72, 18])
"""
_MERGED_ROWS = """
  $o = custom($q, k, v, $keep) grid[x=gb, y=gg, z=gq] loop[i=f]
    $q = load($q, imap=[0, 1, 2])
    $k = permute(load(k, imap=[0, 1, -], fmap=2), order=[0, 1, 3, 2])
    $v = load(v, imap=[0, 1, -], fmap=2)
    $keep = load($keep, imap=[-, -, 0], fmap=1)
    $s = mask(matmul($q, $k), $keep)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v), $m)
    $den = accum_rescaled($e, $m, dim=3)
    store(div($num, $den), omap=[0, 1, 2])
"""
_PLAIN_MERGED = swapped(
    variant(_MERGED_ROWS, e="exp($s)", num="accum(matmul($e, $v))", den="accum_sum($e, dim=3)"),
    "    $m = running_max($s, dim=3)\n",
    "",
)
_MERGED_SPLIT = """
  $num = custom($q, k, v, $keep) grid[x=gg, y=gq, z=s] loop[i=f]
    $q = load($q, imap=[1, 2, -])
    $k = permute(load(k, imap=[1, -, 2], fmap=2), order=[0, 1, 3, 2])
    $v = load(v, imap=[1, -, 2], fmap=2)
    $keep = load($keep, imap=[-, 0, 1], fmap=1)
    $s = mask(matmul($q, $k), $keep)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    store(accum_rescaled(matmul($e, $v), $m), omap=[1, 2, 3])
    store(accum_rescaled($e, $m, dim=3), omap=[1, 2, 3])
    store(accum_max($s, dim=3), omap=[1, 2, 3])
  $den = result($num, index=1)
  $most = result($num, index=2)
  $o = custom($num, $den, $most) grid[x=ph, y=pq] loop[i=s]
    $num = load($num, imap=[1, 2], fmap=3)
    $den = load($den, imap=[1, 2], fmap=3)
    $most = load($most, imap=[1, 2], fmap=3)
    $run = running_max($most)
    $w = exp(sub($most, $run))
    store(div(accum_rescaled(mul($num, $w), $run), accum_rescaled(mul($den, $w), $run)), omap=[1, 2])
"""
_HEADS_BACK = "  return reshape($o, dims=[b, 24, 18, 5])\n"
_ROWS_BACK = (
    "  return reshape(permute(reshape($o, dims=[b, 6, 18, 4, 5]), order=[0, 1, 3, 2, 4]), dims=[b, 24, 18, 5])\n"
)
for _form, _text in (("R10", _MERGED_ROWS), ("R6", _PLAIN_MERGED), ("R7", _MERGED_SPLIT)):
    right("causal_groups", f"{_form}-heads-first", _HEADS_FIRST.rstrip() + _text + _HEADS_BACK)
    right("causal_groups", f"{_form}-rows-first", _ROWS_FIRST.rstrip() + _text + _ROWS_BACK)
wrong(
    "causal_groups",
    "mask-of-other-rows",
    swapped(_HEADS_FIRST, "dims=[1, 18, 18]), dim=0", "dims=[18, 1, 18]), dim=1").rstrip() + _MERGED_ROWS + _HEADS_BACK,
)
wrong("causal_groups", "rows-brought-back-as-heads", _ROWS_FIRST.rstrip() + _MERGED_ROWS + _HEADS_BACK)
_TILE_MERGED = (
    """
  $q = reshape(q, dims=[b, 6, 4, 18, 5])
  $keep = band(rows=18, columns=18, high=0, dtype=f32)
  $o = custom($q, k, v, $keep) grid[x=gb, y=gg, z=gq] loop[i=f]
    $q = reshape(load($q, imap=[0, 1, 3]), dims=[b/gb, 6/gg, 72/gq, 5])
    $k = permute(load(k, imap=[0, 1, -], fmap=2), order=[0, 1, 3, 2])
    $v = load(v, imap=[0, 1, -], fmap=2)
    $keep = load($keep, imap=[-, -, 0], fmap=1)
    $rows = reshape(expand(reshape($keep, dims=[1, 18/gq, 18/f]), dim=0, size=4), dims=[72/gq, 18/f])
    $s = mask(matmul($q, $k), $rows)
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $y = div(accum_rescaled(matmul($e, $v), $m), accum_rescaled($e, $m, dim=3))
    store(reshape($y, dims=[b/gb, 6/gg, 4, 18/gq, 5]), omap=[0, 1, 3])
"""
    + _HEADS_BACK
)
right("causal_groups", "R10-merged-in-the-block", _TILE_MERGED)

# ---------------------------------------------------------------- rotary embedding
ROTARY = """
  $o = custom(q, k, cos, sin) grid[x=gb, y=gh]
    $q = load(q, imap=[0, 1])
    $k = load(k, imap=[0, 1])
    $cos = load(cos, imap=[-, -])
    $sin = load(sin, imap=[-, -])
    $ql = slice($q, dim=3, start=0, stop={half})
    $qr = slice($q, dim=3, start={half}, stop={d})
    $kl = slice($k, dim=3, start=0, stop={half})
    $kr = slice($k, dim=3, start={half}, stop={d})
    $a = add(mul($q, $cos), mul(concat(neg($qr), $ql, dim=3), $sin))
    $c = add(mul($k, $cos), mul(concat(neg($kr), $kl, dim=3), $sin))
    store(matmul($a, permute($c, order=[0, 1, 3, 2])), omap=[0, 1])
  return $o
"""
ROTARY_SPLIT = """
  $o = custom(q, k, cos, sin) grid[x=gb, y=gh]
    $q = load(q, imap=[0, 1])
    $k = load(k, imap=[0, 1])
    $cos = load(cos, imap=[-, -])
    $sin = load(sin, imap=[-, -])
    $ql = slice($q, dim=3, start=0, stop={half})
    $qr = slice($q, dim=3, start={half}, stop={d})
    $kl = slice($k, dim=3, start=0, stop={half})
    $kr = slice($k, dim=3, start={half}, stop={d})
    $cl = slice($cos, dim=1, start=0, stop={half})
    $cr = slice($cos, dim=1, start={half}, stop={d})
    $sl = slice($sin, dim=1, start=0, stop={half})
    $sr = slice($sin, dim=1, start={half}, stop={d})
    $a = sub(mul($ql, $cl), mul($qr, $sl))
    $b = add(mul($qr, $cr), mul($ql, $sr))
    $c = sub(mul($kl, $cl), mul($kr, $sl))
    $d = add(mul($kr, $cr), mul($kl, $sr))
    $y = add(matmul($a, permute($c, order=[0, 1, 3, 2])), matmul($b, permute($d, order=[0, 1, 3, 2])))
    store($y, omap=[0, 1])
  return $o
"""
_JOINED = "matmul(concat($a, $b, dim=3), permute(concat($c, $d, dim=3), order=[0, 1, 3, 2]))"
right("rotary_scores", "concat", ROTARY)
right("rotary_scores", "split", ROTARY_SPLIT)
right("rotary_scores", "split-then-concat", variant(ROTARY_SPLIT, y=_JOINED))
ROTARY_TILES = """
  $o = custom(q, k, cos, sin) grid[x=gh, y=gq, z=gk]
    $q = load(q, imap=[1, 2, -])
    $k = load(k, imap=[1, -, 2])
    $cq = load(cos, imap=[-, 0, -])
    $ck = load(cos, imap=[-, -, 0])
    $sq = load(sin, imap=[-, 0, -])
    $sk = load(sin, imap=[-, -, 0])
    $ql = slice($q, dim=3, start=0, stop={half})
    $qr = slice($q, dim=3, start={half}, stop={d})
    $kl = slice($k, dim=3, start=0, stop={half})
    $kr = slice($k, dim=3, start={half}, stop={d})
    $a = add(mul($q, $cq), mul(concat(neg($qr), $ql, dim=3), $sq))
    $c = add(mul($k, $ck), mul(concat(neg($kr), $kl, dim=3), $sk))
    store(matmul($a, permute($c, order=[0, 1, 3, 2])), omap=[1, 2, 3])
  return $o
"""
right("rotary_scores", "tiles", ROTARY_TILES)
wrong(
    "rotary_scores",
    "tiles-turned-the-other-way",
    variant(ROTARY_TILES, c="sub(mul($k, $ck), mul(concat(neg($kr), $kl, dim=3), $sk))"),
)
right(
    "rotary_scores",
    "split-halves-exchanged",
    variant(ROTARY_SPLIT, y="matmul(concat($b, $a, dim=3), permute(concat($d, $c, dim=3), order=[0, 1, 3, 2]))"),
)
wrong(
    "rotary_scores",
    "sign",
    variant(ROTARY_SPLIT, a="add(mul($ql, $cl), mul($qr, $sl))", b="sub(mul($qr, $cr), mul($ql, $sr))"),
)
wrong(
    "rotary_scores",
    "both-turned-back",
    variant(
        ROTARY_SPLIT,
        a="add(mul($ql, $cl), mul($qr, $sl))",
        b="sub(mul($qr, $cr), mul($ql, $sr))",
        c="add(mul($kl, $cl), mul($kr, $sl))",
        d="sub(mul($kr, $cr), mul($kl, $sr))",
    ),
)
wrong(
    "rotary_scores",
    "halves-exchanged-on-one-side",
    variant(ROTARY_SPLIT, y="matmul(concat($b, $a, dim=3), permute(concat($c, $d, dim=3), order=[0, 1, 3, 2]))"),
)
wrong(
    "rotary_scores",
    "wrong-half-of-cos",
    variant(
        ROTARY_SPLIT, cl="slice($cos, dim=1, start={half}, stop={d})", cr="slice($cos, dim=1, start=0, stop={half})"
    ),
)
wrong(
    "rotary_scores",
    "off-by-one-split",
    swapped(
        swapped(ROTARY, "start=0, stop={half}", "start=0, stop={half}+1"),
        "start={half}, stop={d}",
        "start={half}+1, stop={d}",
    ),
)

# ---------------------------------------------------------------- a low-rank cache
LATENT = """
  $q = reshape(q, dims=[b, {h}, 1, {d}])
  $c = reshape(c, dims=[b, 1, {t}, {r}])
  $o = custom($q, $c, uk, uv) grid[x=gb, y=gh] loop[i=f]
    $q = load($q, imap=[0, 1])
    $c = load($c, imap=[0, -], fmap=2)
    $uk = load(uk, imap=[-, 0])
    $uv = load(uv, imap=[-, 0])
    $k = matmul($c, $uk)
    $s = mul_scalar(matmul($q, permute($k, order=[0, 1, 3, 2])), {scale})
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, matmul($c, $uv)), $m)
    $den = accum_rescaled($e, $m, dim=3)
    store(div($num, $den), omap=[0, 1])
  return reshape($o, dims=[b, {h}, {d}])
"""
ABSORBED = """
  $q = matmul(reshape(q, dims=[b, {h}, 1, {d}]), permute(uk, order=[0, 2, 1]))
  $c = reshape(c, dims=[b, 1, {t}, {r}])
  $o = custom($q, $c, uv) grid[x=gb, y=gh] loop[i=f]
    $q = load($q, imap=[0, 1])
    $c = load($c, imap=[0, -], fmap=2)
    $uv = load(uv, imap=[-, 0])
    $s = mul_scalar(matmul($q, permute($c, order=[0, 1, 3, 2])), {scale})
    $m = running_max($s, dim=3)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $c), $m)
    $den = accum_rescaled($e, $m, dim=3)
    $y = matmul(div($num, $den), $uv)
    store($y, omap=[0, 1])
  return reshape($o, dims=[b, {h}, {d}])
"""
right("latent_attention", "R10", LATENT)
right("latent_attention", "absorbed", ABSORBED)
right("latent_attention", "absorbed-divided-last", variant(ABSORBED, y="div(matmul($num, $uv), $den)"))
right(
    "latent_attention",
    "absorbed-in-the-kernel",
    """
  $o = custom(q, c, uk, uv) grid[x=gb, y=gh] loop[i=f]
    $q = reshape(load(q, imap=[0, 1]), dims=[b/gb, {h}/gh, 1, {d}])
    $c = reshape(load(c, imap=[0, -], fmap=1), dims=[b/gb, 1, {t}/f, {r}])
    $uk = load(uk, imap=[-, 0])
    $uv = load(uv, imap=[-, 0])
    $a = matmul($q, permute($uk, order=[0, 2, 1]))
    $e = exp(mul_scalar(matmul($a, permute($c, order=[0, 1, 3, 2])), {scale}))
    $y = div(matmul(accum(matmul($e, $c)), $uv), accum_sum($e, dim=3))
    store(reshape($y, dims=[b/gb, {h}/gh, {d}]), omap=[0, 1])
  return $o
""",
)
wrong("latent_attention", "values-of-keys", variant(LATENT, num="accum_rescaled(matmul($e, $k), $m)"))
wrong(
    "latent_attention",
    "absorbed-into-the-values-weight",
    swapped(ABSORBED, "permute(uk, order", "permute(add(uv, mul_scalar(uk, 0)), order"),
)
wrong(
    "latent_attention",
    "heads-shifted",
    swapped(
        ABSORBED,
        "  $q = matmul(reshape(q, dims=[b, {h}, 1, {d}]), permute(uk,",
        "  $t = concat(slice(uk, dim=0, start=1, stop={h}), slice(uk, dim=0, start=0, stop=1), dim=0)\n"
        "  $q = matmul(reshape(q, dims=[b, {h}, 1, {d}]), permute($t,",
    ),
)
wrong("latent_attention", "scale-lost", variant(ABSORBED, s="matmul($q, permute($c, order=[0, 1, 3, 2]))"))

# ---------------------------------------------------------------- a whole block
BLOCK = """
  $qkv = concat(concat(wq, wk, dim=1), wv, dim=1)
  $p = custom(x, g1, $qkv) grid[x=gb, y=gn] loop[i=f]
    $x = load(x, imap=[0, -], fmap=2)
    $g = load(g1, imap=[-, -], fmap=0)
    $w = load($qkv, imap=[-, 1], fmap=0)
    $rms = sqrt(add_scalar(accum_mean(square($x), dim=2), 1/100000))
    store(div(accum(matmul(mul($x, $g), $w)), $rms), omap=[0, 2])
  $q = permute(reshape(slice($p, dim=2, start=0, stop={d}), dims=[b, {s}, {heads}, {c}]), order=[0, 2, 1, 3])
  $k = permute(reshape(slice($p, dim=2, start={d}, stop={d_m}), dims=[b, {s}, {kv_heads}, {c}]), order=[0, 2, 3, 1])
  $v = slice($p, dim=2, start={d_m}, stop={d_m}+{m})
  $v = permute(reshape($v, dims=[b, {s}, {kv_heads}, {c}]), order=[0, 2, 1, 3])
  $ct = permute(cos, order=[1, 0])
  $st = permute(sin, order=[1, 0])
  $keep = band(rows={s}, columns={s}, high=0, dtype=f32)
  $a = custom($q, $k, $v, cos, sin, $ct, $st, $keep) grid[x=ab, y=ag] loop[i=af]
    $q = load($q, imap=[0, 1])
    $k = load($k, imap=[0, 1], fmap=3)
    $v = load($v, imap=[0, 1], fmap=2)
    $cos = load(cos, imap=[-, -])
    $sin = load(sin, imap=[-, -])
    $ct = load($ct, imap=[-, -], fmap=1)
    $st = load($st, imap=[-, -], fmap=1)
    $keep = load($keep, imap=[-, -], fmap=1)
    $ql = slice($q, dim=3, start=0, stop={half})
    $qr = slice($q, dim=3, start={half}, stop={c})
    $kl = slice($k, dim=2, start=0, stop={half})
    $kr = slice($k, dim=2, start={half}, stop={c})
    $qt = add(mul($q, $cos), mul(concat(neg($qr), $ql, dim=3), $sin))
    $kt = add(mul($k, $ct), mul(concat(neg($kr), $kl, dim=2), $st))
    $q5 = reshape($qt, dims=[b/ab, {kv_heads}/ag, {each}, {s}, {c}])
    $k5 = reshape($kt, dims=[b/ab, {kv_heads}/ag, 1, {c}, {s}/af])
    $v5 = reshape($v, dims=[b/ab, {kv_heads}/ag, 1, {s}/af, {c}])
    $s = mask(mul_scalar(matmul($q5, $k5), {scale}), $keep)
    $m = running_max($s, dim=4)
    $e = exp(sub($s, $m))
    $num = accum_rescaled(matmul($e, $v5), $m)
    $den = accum_rescaled($e, $m, dim=4)
    store(reshape(div($num, $den), dims=[b/ab, {heads}/ag, {s}, {c}]), omap=[0, 1])
  $merged = reshape(permute($a, order=[0, 2, 1, 3]), dims=[b, {s}, {d}])
  $y = custom($merged, wo, x) grid[x=ob, y=on] loop[i=of]
    $a = load($merged, imap=[0, -], fmap=2)
    $w = load(wo, imap=[-, 1], fmap=0)
    $x = load(x, imap=[0, 2])
    store(add($x, accum(matmul($a, $w))), omap=[0, 2])
  $h = custom($y, g2, gate, up) grid[x=hb, y=hn] loop[i=hf]
    $y = load($y, imap=[0, -], fmap=2)
    $g = load(g2, imap=[-, -], fmap=0)
    $gate = load(gate, imap=[-, 1], fmap=0)
    $up = load(up, imap=[-, 1], fmap=0)
    $n = mul($y, $g)
    $rms = sqrt(add_scalar(accum_mean(square($y), dim=2), 1/100000))
    $l = div(accum(matmul($n, $gate)), $rms)
    $r = div(accum(matmul($n, $up)), $rms)
    store(mul(silu($l), $r), omap=[0, 2])
  $o = custom($h, down, $y) grid[x=db, y=dn] loop[i=df]
    $h = load($h, imap=[0, -], fmap=2)
    $down = load(down, imap=[-, 1], fmap=0)
    $y = load($y, imap=[0, 2])
    $z = add($y, accum(matmul($h, $down)))
    store($z, omap=[0, 2])
  return $o
"""
right("transformer_block", "five-kernels", BLOCK)
right(
    "transformer_block",
    "five-kernels-silu-by-definition",
    swapped(BLOCK, "mul(silu($l), $r)", "div(mul($l, $r), add_scalar(exp(neg($l)), 1))"),
)
wrong(
    "transformer_block",
    "mask-lost",
    swapped(BLOCK, "mask(mul_scalar(matmul($q5, $k5), {scale}), $keep)", "mul_scalar(matmul($q5, $k5), {scale})"),
)
wrong(
    "transformer_block",
    "heads-not-brought-back",
    swapped(BLOCK, "reshape(permute($a, order=[0, 2, 1, 3]), dims=[b, {s}, {d}])", "reshape($a, dims=[b, {s}, {d}])"),
)
wrong(
    "transformer_block",
    "residual-of-the-input",
    swapped(BLOCK, "custom($h, down, $y)", "custom($h, down, x)").replace(
        "$y = load($y, imap=[0, 2])", "$y = load(x, imap=[0, 2])"
    ),
)
wrong(
    "transformer_block",
    "keys-and-values-exchanged",
    swapped(BLOCK, "concat(concat(wq, wk, dim=1), wv, dim=1)", "concat(concat(wq, wv, dim=1), wk, dim=1)"),
)
wrong("transformer_block", "keys-not-rotated", swapped(BLOCK, "reshape($kt, dims", "reshape($k, dims"))

ENTRIES = tuple(_table.entries)
