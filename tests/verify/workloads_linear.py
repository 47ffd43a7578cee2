"""Candidates of norms, linear layers and MLPs: R1 to R5 and R9, and what looks like them."""

from __future__ import annotations

from tests.verify.workloads_base import Table, swapped, variant

_table = Table()
right, wrong = _table.right, _table.wrong

# ---------------------------------------------------------------- R1: RMSNorm and a linear layer
R1 = """
  $o = custom(x, g, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $g = load(g, imap=[-], fmap=0)
    $w = load(w, imap=[1], fmap=0)
    $sum = accum(matmul(mul($x, $g), $w))
    $mean = accum_mean(square($x), dim=1)
    $rms = sqrt(add_scalar($mean, 1/1000000))
    $y = div($sum, $rms)
    store($y, omap=[1])
  return $o
"""
right("rmsnorm_linear", "R1", R1)
right(
    "rmsnorm_linear",
    "R1-rows-too",
    """
  $o = custom(x, g, w) grid[x=gx, y=gy] loop[i=f]
    $x = load(x, imap=[-, 0], fmap=1)
    $g = load(g, imap=[-, -], fmap=0)
    $w = load(w, imap=[1, -], fmap=0)
    $sum = accum(matmul(mul($x, $g), $w))
    $rms = sqrt(add_scalar(accum_mean(square($x), dim=1), 1/1000000))
    store(div($sum, $rms), omap=[1, 0])
  return $o
""",
)
right("rmsnorm_linear", "R1-rsqrt", variant(R1, rms="rsqrt(add_scalar($mean, 1/1000000))", y="mul($sum, $rms)"))
right("rmsnorm_linear", "R1-recip-sqrt", variant(R1, y="mul($sum, recip($rms))"))
right(
    "rmsnorm_linear", "R1-pow", variant(R1, rms="pow_scalar(add_scalar($mean, 1/1000000), -1/2)", y="mul($sum, $rms)")
)
right("rmsnorm_linear", "R1-sum-over-d", variant(R1, mean="mul_scalar(accum_sum(mul($x, $x), dim=1), 1/{d})"))
right(
    "rmsnorm_linear",
    "R1-weight-folded",
    """
  $folded = mul(reshape(g, dims=[{d}, 1]), w)
  $o = custom(x, $folded) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load($folded, imap=[1], fmap=0)
    $rms = sqrt(add_scalar(accum_mean(square($x), dim=1), 1/1000000))
    store(div(accum(matmul($x, $w)), $rms), omap=[1])
  return $o
""",
)
right(
    "rmsnorm_linear",
    "R1-transposed",
    """
  $o = custom(x, g, w) grid[x=gx] loop[i=f]
    $x = permute(load(x, imap=[-], fmap=1), order=[1, 0])
    $g = reshape(load(g, imap=[-], fmap=0), dims=[{d}/f, 1])
    $w = permute(load(w, imap=[1], fmap=0), order=[1, 0])
    $rms = sqrt(add_scalar(accum_mean(square($x), dim=0), 1/1000000))
    $y = div(accum(matmul($w, mul($x, $g))), $rms)
    store(permute($y, order=[1, 0]), omap=[1])
  return $o
""",
)
right(
    "rmsnorm_linear",
    "R1-split-k",
    """
  $part = custom(x, g, w) grid[x=gx, y=s] loop[i=f]
    $x = load(x, imap=[-, 1], fmap=1)
    $g = load(g, imap=[-, 0], fmap=0)
    $w = load(w, imap=[1, 0], fmap=0)
    $sum = accum(matmul(mul($x, $g), $w))
    $squares = accum_sum(square($x), dim=1)
    store(reshape($sum, dims=[1, b, {n}/gx]), omap=[2, 0])
    store($squares, omap=[-, 1])
  $squares = result($part, index=1)
  $o = custom($part, $squares) grid[x=px] loop[i=s]
    $sum = accum(load($part, imap=[2], fmap=0))
    $squares = accum(load($squares, imap=[-], fmap=1))
    $mean = mul_scalar($squares, 1/{d})
    $rms = sqrt(add_scalar($mean, 1/1000000))
    store(div(reshape($sum, dims=[b, {n}/px]), $rms), omap=[1])
  return $o
""",
)
right(
    "rmsnorm_linear",
    "R1-split-k-rows",
    """
  $part = custom(x, g, w) grid[x=gx, y=s] loop[i=f]
    $x = load(x, imap=[-, 1], fmap=1)
    $g = load(g, imap=[-, 0], fmap=0)
    $w = load(w, imap=[1, 0], fmap=0)
    $sum = accum(matmul(mul($x, $g), $w))
    $squares = accum_sum(square($x), dim=1)
    store($sum, omap=[1, 0])
    store($squares, omap=[-, 1])
  $squares = result($part, index=1)
  $o = custom($part, $squares) grid[x=px] loop[i=s]
    $sum = accum(load($part, imap=[1], fmap=0))
    $squares = accum(load($squares, imap=[-], fmap=1))
    $rms = sqrt(add_scalar(mul_scalar($squares, 1/{d}), 1/1000000))
    store(div($sum, $rms), omap=[1])
  return $o
""",
)
wrong("rmsnorm_linear", "no-eps", variant(R1, rms="sqrt($mean)"))
wrong("rmsnorm_linear", "mean-of-a-tile", variant(R1, mean="accum(mean(square($x), dim=1))"))
wrong("rmsnorm_linear", "sum-for-mean", variant(R1, mean="accum_sum(square($x), dim=1)"))
wrong("rmsnorm_linear", "weight-behind", variant(R1, sum="accum(matmul($x, $w))"))
wrong("rmsnorm_linear", "square-of-the-mean", variant(R1, mean="square(accum_mean($x, dim=1))"))
wrong(
    "rmsnorm_linear", "root-in-the-loop", variant(R1, rms="accum(sqrt(add_scalar(mean(square($x), dim=1), 1/1000000)))")
)

R1_BARE = """
  $o = custom(x, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $sum = accum(matmul($x, $w))
    $rms = accum_rms($x, dim=1)
    $y = div($sum, $rms)
    store($y, omap=[1])
  return $o
"""
BARE = "rmsnorm_linear_bare rmsnorm"
right(BARE, "R1", R1_BARE)
right(BARE, "R1-mean-of-squares", variant(R1_BARE, rms="sqrt(accum_mean(square($x), dim=1))"))
right(BARE, "R1-power", variant(R1_BARE, rms="pow_scalar(accum_mean(pow_scalar($x, 2), dim=1), 1/2)"))
right(
    BARE,
    "two-kernels",
    """
  $rms = custom(x) grid[x=px] loop[i=pf]
    $x = load(x, imap=[0], fmap=1)
    store(accum_rms($x, dim=1), omap=[0])
  $o = custom(x, $rms, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $rms = load($rms, imap=[-])
    $w = load(w, imap=[1], fmap=0)
    store(accum(matmul(div($x, $rms), $w)), omap=[1])
  return $o
""",
)
right(
    BARE,
    "two-results",
    """
  $sum = custom(x, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $sum = accum(matmul($x, $w))
    $rms = accum_rms($x, dim=1)
    store($sum, omap=[1])
    store($rms, omap=[-])
  return div($sum, result($sum, index=1))
""",
)
wrong(
    BARE, "rms-of-a-tile", variant(R1_BARE, sum="accum(div(matmul($x, $w), rms($x, dim=1)))", y="mul_scalar($sum, 1)")
)
wrong(BARE, "loop-invariant-accumulated", swapped(swapped(R1_BARE, ", fmap=1", ""), ", fmap=0", ""))
wrong(BARE, "not-normalised", variant(R1_BARE, y="mul_scalar($sum, 1)"))

# ---------------------------------------------------------------- R2: RMSNorm and two linear layers
R2 = """
  $o = custom(x, up, gate) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $up = load(up, imap=[1], fmap=0)
    $gate = load(gate, imap=[1], fmap=0)
    $a = accum(matmul($x, $up))
    $c = accum(matmul($x, $gate))
    $rms = accum_rms($x, dim=1)
    $y = mul(div($a, $rms), div($c, $rms))
    store($y, omap=[1])
  return $o
"""
right("rmsnorm_mlp", "R2", R2)
right("rmsnorm_mlp", "R2-one-division", variant(R2, y="div(mul($a, $c), mul($rms, $rms))"))
right("rmsnorm_mlp", "R2-no-root", variant(R2, rms="accum_mean(square($x), dim=1)", y="div(mul($a, $c), $rms)"))
right("rmsnorm_mlp", "R2-divided-twice", variant(R2, y="div(div(mul($a, $c), $rms), $rms)"))
right(
    "rmsnorm_mlp",
    "R2-one-matrix",
    """
  $both = concat(up, gate, dim=1)
  $ac = custom(x, $both) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load($both, imap=[1], fmap=0)
    store(div(accum(matmul($x, $w)), accum_rms($x, dim=1)), omap=[1])
  return mul(slice($ac, dim=1, start=0, stop={n}), slice($ac, dim=1, start={n}, stop=2*{n}))
""",
)
wrong("rmsnorm_mlp", "divided-once", variant(R2, y="div(mul($a, $c), $rms)"))
wrong("rmsnorm_mlp", "up-twice", variant(R2, c="accum(matmul($x, $up))"))
wrong(
    "rmsnorm_mlp",
    "product-in-the-loop",
    variant(R2, a="accum(mul(matmul($x, $up), matmul($x, $gate)))", y="div($a, mul($rms, $rms))"),
)

# ---------------------------------------------------------------- R3: gated MLP
R3 = """
  $o = custom(x, gate, up) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $gate = load(gate, imap=[1], fmap=0)
    $up = load(up, imap=[1], fmap=0)
    $a = accum(matmul($x, $gate))
    $c = accum(matmul($x, $up))
    $y = mul(silu($a), $c)
    store($y, omap=[1])
  return $o
"""
GATED = "swiglu gated_mlp"
right(GATED, "R3", R3)
right(GATED, "R3-up-first", variant(R3, y="mul($c, silu($a))"))
right(GATED, "R3-sigmoid", variant(R3, y="mul(mul($a, sigmoid($a)), $c)"))
right(GATED, "R3-by-definition", variant(R3, y="div(mul($a, $c), add_scalar(exp(neg($a)), 1))"))
right(GATED, "R3-by-growing-exp", variant(R3, y="mul($c, div(mul($a, exp($a)), add_scalar(exp($a), 1)))"))
right(
    GATED, "R3-by-tanh", variant(R3, y="mul(mul($a, $c), add_scalar(mul_scalar(tanh(mul_scalar($a, 1/2)), 1/2), 1/2))")
)
right(
    GATED,
    "R3-one-matrix",
    """
  $both = concat(gate, up, dim=1)
  $h = custom(x, $both) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load($both, imap=[1], fmap=0)
    store(accum(matmul($x, $w)), omap=[1])
  $o = custom($h) grid[x=px]
    $h = load($h, imap=[0])
    $a = slice($h, dim=1, start=0, stop={n})
    $c = slice($h, dim=1, start={n}, stop=2*{n})
    store(mul(silu($a), $c), omap=[0])
  return $o
""",
)
wrong(GATED, "swapped-weights", variant(R3, y="mul(silu($c), $a)"))
wrong(GATED, "silu-in-the-loop", variant(R3, a="accum(silu(matmul($x, $gate)))", y="mul($a, $c)"))
wrong(
    GATED,
    "product-in-the-loop",
    variant(R3, a="accum(mul(silu(matmul($x, $gate)), matmul($x, $up)))", y="mul_scalar($a, 1)"),
)
wrong(GATED, "sigmoid-for-silu", variant(R3, y="mul(sigmoid($a), $c)"))
wrong(GATED, "exp-with-the-other-sign", variant(R3, y="div(mul($a, $c), add_scalar(exp($a), 1))"))

# ---------------------------------------------------------------- R4: LoRA
R4 = """
  $o = custom(x, w, a, c) grid[x=gx]
    $x = load(x, imap=[-])
    $w = load(w, imap=[1])
    $a = load(a, imap=[-])
    $c = load(c, imap=[1])
    store(add(matmul($x, $w), matmul(matmul($x, $a), $c)), omap=[1])
  return $o
"""
R4_LOOP = """
  $o = custom(x, w, a, c) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $a = load(a, imap=[-], fmap=0)
    $c = load(c, imap=[1])
    $y = accum(add(matmul($x, $w), matmul(matmul($x, $a), $c)))
    store($y, omap=[1])
  return $o
"""
R4_CONCAT = """
  $o = custom(x, w, a, c) grid[x=gx]
    $x = load(x, imap=[-])
    $w = load(w, imap=[1])
    $a = load(a, imap=[-])
    $c = load(c, imap=[1])
    $left = concat($x, matmul($x, $a), dim=1)
    $right = concat($w, $c, dim=0)
    store(matmul($left, $right), omap=[1])
  return $o
"""
right("lora", "R4", R4)
right("lora", "R4-loop", R4_LOOP)
right(
    "lora", "R4-two-accumulators", variant(R4_LOOP, y="add(accum(matmul($x, $w)), matmul(accum(matmul($x, $a)), $c))")
)
right("lora", "R4-concat", R4_CONCAT)
right(
    "lora",
    "R4-concat-kernels",
    """
  $xa = custom(x, a) grid[x=px] loop[i=pf]
    $x = load(x, imap=[0], fmap=1)
    $a = load(a, imap=[-], fmap=0)
    store(accum(matmul($x, $a)), omap=[0])
  $left = concat(x, $xa, dim=1)
  $right = concat(w, c, dim=0)
  $o = custom($left, $right) grid[x=gx] loop[i=f]
    $x = load($left, imap=[-], fmap=1)
    $w = load($right, imap=[1], fmap=0)
    store(accum(matmul($x, $w)), omap=[1])
  return $o
""",
)
right(
    "lora",
    "R4-merged",
    """
  $w = add(w, matmul(a, c))
  $o = custom(x, $w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load($w, imap=[1], fmap=0)
    store(accum(matmul($x, $w)), omap=[1])
  return $o
""",
)
wrong("lora", "concat-in-the-other-order", variant(R4_CONCAT, left="concat(matmul($x, $a), $x, dim=1)"))
wrong(
    "lora",
    "concat-of-x-twice",
    variant(R4_CONCAT, left="concat(slice($x, dim=1, start=0, stop={r}), $x, dim=1)", right="concat($c, $w, dim=0)"),
)
wrong(
    "lora",
    "update-per-iteration",
    variant(R4_LOOP, y="accum(add(matmul($x, $w), mul_scalar(matmul(matmul($x, $a), $c), 1/2)))"),
)
wrong(
    "lora",
    "one-tile-of-the-update",
    R4_LOOP.replace(
        "$x = load(x, imap=[-], fmap=1)",
        "$x = load(x, imap=[-], fmap=1)\n    $all = load(x, imap=[-])\n    $alla = load(a, imap=[-])",
    ).replace("matmul(matmul($x, $a), $c)", "matmul(matmul($all, $alla), $c)"),
)

# ---------------------------------------------------------------- R5: nTrans
R5 = """
  $o = custom(h, x, alpha) grid[x=gx]
    $h = load(h, imap=[0])
    $x = load(x, imap=[0])
    $alpha = load(alpha, imap=[0])
    $n = div($h, rms($h, dim=1))
    $y = add($x, mul($alpha, add($n, $x)))
    $z = div($y, rms($y, dim=1))
    store($z, omap=[0])
  return $o
"""
right("ntrans", "R5", R5)
right("ntrans", "R5-distributed", variant(R5, y="add(mul(add_scalar($alpha, 1), $x), mul($alpha, $n))"))
right(
    "ntrans",
    "R5-division-behind",
    """
  $y = custom(h, x, alpha) grid[x=gx]
    $h = load(h, imap=[0])
    $x = load(x, imap=[0])
    $alpha = load(alpha, imap=[0])
    $n = div($h, rms($h, dim=1))
    $y = add($x, mul($alpha, add($n, $x)))
    store($y, omap=[0])
    store(accum_rms($y, dim=1), omap=[0])
  return div($y, result($y, index=1))
""",
)
right(
    "ntrans",
    "R5-loops",
    """
  $rms = custom(h) grid[x=px] loop[i=pf]
    $h = load(h, imap=[0], fmap=1)
    store(accum_rms($h, dim=1), omap=[0])
  $s = custom(h, $rms, x, alpha) grid[x=gx] loop[i=f]
    $h = load(h, imap=[0], fmap=1)
    $r = load($rms, imap=[0])
    $x = load(x, imap=[0], fmap=1)
    $alpha = load(alpha, imap=[0], fmap=1)
    $y = add($x, mul($alpha, add(div($h, $r), $x)))
    store(accum_rms($y, dim=1), omap=[0])
  return div(add(x, mul(alpha, add(div(h, $rms), x))), $s)
""",
)
wrong("ntrans", "half-a-row", swapped(swapped(R5, "imap=[0]", "imap=[1]"), "omap=[0]", "omap=[1]"))
wrong("ntrans", "one-residual", variant(R5, y="mul($alpha, add($n, $x))"))
wrong("ntrans", "norm-of-the-first", variant(R5, z="div($y, rms($h, dim=1))"))
wrong("ntrans", "difference", variant(R5, y="add($x, mul($alpha, sub($n, $x)))"))

# ---------------------------------------------------------------- LayerNorm
LAYERNORM = """
  $o = custom(x, g, h, w) grid[x=gx, y=gy]
    $x = load(x, imap=[-, 0])
    $g = load(g, imap=[-, -])
    $h = load(h, imap=[-, -])
    $w = load(w, imap=[1, -])
    $mean = mean($x, dim=1)
    $c = sub($x, $mean)
    $var = mean(square($c), dim=1)
    $y = add(mul(div($c, sqrt(add_scalar($var, 1/100000))), $g), $h)
    store(matmul($y, $w), omap=[1, 0])
  return $o
"""
LAYERNORM_FUSED = """
  $g = reshape(g, dims=[1, {d}])
  $h = reshape(h, dims=[1, {d}])
  $o = custom(x, $g, $h, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $g = load($g, imap=[-], fmap=1)
    $h = load($h, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $xw = accum(matmul(mul($x, $g), $w))
    $gw = accum(matmul($g, $w))
    $hw = accum(matmul($h, $w))
    $mean = accum_mean($x, dim=1)
    $var = sub(accum_mean(square($x), dim=1), square($mean))
    $y = add(div(sub($xw, mul($mean, $gw)), sqrt(add_scalar($var, 1/100000))), $hw)
    store($y, omap=[1])
  return $o
"""
right("layernorm_linear", "two-passes", LAYERNORM)
right("layernorm_linear", "one-pass", variant(LAYERNORM, var="sub(mean(square($x), dim=1), square($mean))"))
right("layernorm_linear", "fused", LAYERNORM_FUSED)
right(
    "layernorm_linear",
    "fused-rsqrt-first",
    variant(LAYERNORM_FUSED, y="add(mul(rsqrt(add_scalar($var, 1/100000)), sub($xw, mul($mean, $gw))), $hw)"),
)
right(
    "layernorm_linear",
    "statistics-first",
    """
  $mean = custom(x) grid[x=px] loop[i=pf]
    $x = load(x, imap=[0], fmap=1)
    $mean = accum_mean($x, dim=1)
    $squares = accum_mean(square($x), dim=1)
    store($mean, omap=[0])
    store(rsqrt(add_scalar(sub($squares, square($mean)), 1/100000)), omap=[0])
  $scale = result($mean, index=1)
  $o = custom(x, $mean, $scale, g, h, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $m = load($mean, imap=[-])
    $s = load($scale, imap=[-])
    $g = load(g, imap=[-], fmap=0)
    $h = load(h, imap=[-], fmap=0)
    $w = load(w, imap=[1], fmap=0)
    store(accum(matmul(add(mul(mul(sub($x, $m), $s), $g), $h), $w)), omap=[1])
  return $o
""",
)
wrong("layernorm_linear", "mean-not-squared", variant(LAYERNORM, var="sub(mean(square($x), dim=1), $mean)"))
wrong(
    "layernorm_linear",
    "bias-scaled-too",
    variant(LAYERNORM_FUSED, y="div(add(sub($xw, mul($mean, $gw)), $hw), sqrt(add_scalar($var, 1/100000)))"),
)
wrong(
    "layernorm_linear",
    "not-centred",
    variant(LAYERNORM_FUSED, y="add(div($xw, sqrt(add_scalar($var, 1/100000))), $hw)"),
)
wrong(
    "layernorm_linear",
    "unbiased",
    variant(LAYERNORM, var="mul_scalar(mean(square($c), dim=1), {d}/{less})"),
)
wrong("layernorm_linear", "mean-of-a-tile", variant(LAYERNORM_FUSED, mean="accum(mean($x, dim=1))"))

# ---------------------------------------------------------------- residuals, R9
RESIDUAL = """
  $o = custom(x, r, g, w) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $r = load(r, imap=[-], fmap=1)
    $g = load(g, imap=[-], fmap=0)
    $w = load(w, imap=[1], fmap=0)
    $y = add($x, $r)
    $mean = accum_mean(square($y), dim=1)
    $sum = accum(matmul(mul($y, $g), $w))
    store(div($sum, sqrt(add_scalar($mean, 1/1000000))), omap=[1])
  return $o
"""
right("residual_rmsnorm_linear", "R1", RESIDUAL)
right(
    "residual_rmsnorm_linear",
    "R1-squares-multiplied-out",
    variant(
        RESIDUAL.replace(
            "    $mean =",
            "    $squares = add(accum_mean(square($x), dim=1), accum_mean(square($r), dim=1))\n    $mean =",
        ),
        mean="add($squares, mul_scalar(accum_mean(mul($x, $r), dim=1), 2))",
    ),
)
right(
    "residual_rmsnorm_linear",
    "R1-two-products",
    variant(RESIDUAL, sum="add(accum(matmul(mul($x, $g), $w)), accum(matmul(mul($r, $g), $w)))"),
)
wrong("residual_rmsnorm_linear", "norm-of-x-alone", variant(RESIDUAL, mean="accum_mean(square($x), dim=1)"))
wrong("residual_rmsnorm_linear", "residual-not-multiplied", variant(RESIDUAL, sum="accum(matmul(mul($x, $g), $w))"))
wrong(
    "residual_rmsnorm_linear",
    "cross-term-lost",
    variant(RESIDUAL, mean="add(accum_mean(square($x), dim=1), accum_mean(square($r), dim=1))"),
)

R9 = """
  $y = custom(x, w, r) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $r = load(r, imap=[1])
    $y = add(accum(matmul($x, $w)), $r)
    $part = sum(square($y), dim=1)
    store($y, omap=[1])
    store($part, omap=[1])
  $parts = result($y, index=1)
  $o = custom($y, $parts) grid[x=px]
    $y = load($y, imap=[1])
    $mean = mul_scalar(sum(load($parts, imap=[-]), dim=1), 1/{n})
    store(div($y, sqrt($mean)), omap=[1])
  return $o
"""
right("linear_residual_rmsnorm", "R9", R9)
right(
    "linear_residual_rmsnorm",
    "R9-rows",
    """
  $y = custom(x, w, r) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $r = load(r, imap=[1])
    store(add($r, accum(matmul($x, $w))), omap=[1])
  $o = custom($y) grid[x=px]
    $y = load($y, imap=[0])
    store(div($y, rms($y, dim=1)), omap=[0])
  return $o
""",
)
right(
    "linear_residual_rmsnorm",
    "R9-one-kernel",
    """
  $o = custom(x, w, r) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0], fmap=1)
    $w = load(w, imap=[-], fmap=0)
    $r = load(r, imap=[0])
    $y = add(accum(matmul($x, $w)), $r)
    store(div($y, rms($y, dim=1)), omap=[0])
  return $o
""",
)
wrong(
    "linear_residual_rmsnorm",
    "norm-of-the-blocks-columns",
    """
  $o = custom(x, w, r) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w, imap=[1], fmap=0)
    $r = load(r, imap=[1])
    $y = add(accum(matmul($x, $w)), $r)
    store(div($y, rms($y, dim=1)), omap=[1])
  return $o
""",
)
wrong(
    "linear_residual_rmsnorm",
    "residual-per-iteration",
    swapped(R9, "add(accum(matmul($x, $w)), $r)", "accum(add(matmul($x, $w), $r))"),
)
wrong(
    "linear_residual_rmsnorm",
    "residual-behind",
    swapped(R9, "$part = sum(square($y), dim=1)", "$part = sum(square(sub($y, $r)), dim=1)"),
)

# ---------------------------------------------------------------- linear, bias, a function, linear, bias
MLP_TWO = """
  $h = custom(x, w1, b1) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $w = load(w1, imap=[1], fmap=0)
    $b = load(b1, imap=[0])
    $a = add(accum(matmul($x, $w)), $b)
    $y = FN($a)
    store($y, omap=[1])
  $o = custom($h, w2, b2) grid[x=px] loop[i=pf]
    $h = load($h, imap=[-], fmap=1)
    $w = load(w2, imap=[1], fmap=0)
    $b = load(b2, imap=[0])
    store(add(accum(matmul($h, $w)), $b), omap=[1])
  return $o
"""
MLP_ONE = """
  $o = custom(x, w1, b1, w2, b2) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0])
    $w1 = load(w1, imap=[-], fmap=1)
    $b1 = load(b1, imap=[-], fmap=0)
    $w2 = load(w2, imap=[-], fmap=0)
    $b2 = load(b2, imap=[-])
    $a = add(matmul($x, $w1), $b1)
    $y = FN($a)
    $z = add(accum(matmul($y, $w2)), $b2)
    store($z, omap=[0])
  return $o
"""
_SPELLED = {
    "gelu": (
        "by-definition",
        "mul(mul_scalar($a, 1/2), add_scalar(erf(mul($a, recip(sqrt(add_scalar(mul_scalar($a, 0), 2))))), 1))",
    ),
    "relu": ("as-maximum", "max_scalar($a, 0)"),
    "silu": ("by-definition", "div($a, add_scalar(exp(neg($a)), 1))"),
}
_CONFUSED = {"gelu": "gelu_tanh", "relu": "abs", "silu": "gelu"}
for _fn, (_way, _text) in _SPELLED.items():
    _name, _two, _one = f"mlp_{_fn}", MLP_TWO.replace("FN", _fn), MLP_ONE.replace("FN", _fn)
    right(_name, "two-kernels", _two)
    right(_name, "one-kernel", _one)
    right(_name, f"one-kernel-{_way}", variant(_one, y=_text))
    right(
        _name,
        "bias-as-a-column",
        variant(_one, a="matmul(concat($x, $ones, dim=1), concat($w1, reshape($b1, dims=[1, {n}/f]), dim=0))").replace(
            "    $a =", "    $ones = add_scalar(mul_scalar(sum($x, dim=1), 0), 1)\n    $a ="
        ),
    )
    wrong(
        _name,
        "function-of-a-part",
        variant(_two, a=f"accum({_fn}(matmul($x, $w)))", y="add($a, $b)"),
    )
    wrong(_name, "another-function", variant(_one, y=f"{_CONFUSED[_fn]}($a)"))
    wrong(_name, "bias-behind-the-function", variant(_one, a="matmul($x, $w1)", y=f"add({_fn}($a), $b1)"))
    wrong(_name, "bias-per-iteration", variant(_one, z="accum(add(matmul($y, $w2), $b2))"))
right("mlp_relu", "by-absolute-value", variant(MLP_ONE, y="mul_scalar(add($a, abs($a)), 1/2)"))

# ---------------------------------------------------------------- Llama's MLP
LLAMA_ONE = """
  $o = custom(x, gate, up, down) grid[x=gx, y=gy] loop[i=f]
    $x = load(x, imap=[0, -])
    $gate = load(gate, imap=[-, -], fmap=1)
    $up = load(up, imap=[-, -], fmap=1)
    $down = load(down, imap=[-, 1], fmap=0)
    $h = mul(silu(matmul($x, $gate)), matmul($x, $up))
    store(accum(matmul($h, $down)), omap=[0, 1])
  return $o
"""
LLAMA_TWO = """
  $h = custom(x, gate, up) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $gate = load(gate, imap=[1], fmap=0)
    $up = load(up, imap=[1], fmap=0)
    $y = mul(silu(accum(matmul($x, $gate))), accum(matmul($x, $up)))
    store($y, omap=[1])
  $o = custom($h, down) grid[x=px] loop[i=pf]
    $h = load($h, imap=[-], fmap=1)
    $down = load(down, imap=[1], fmap=0)
    store(accum(matmul($h, $down)), omap=[1])
  return $o
"""
right("llama_mlp", "one-kernel", LLAMA_ONE)
right("llama_mlp", "two-kernels", LLAMA_TWO)
right(
    "llama_mlp",
    "one-kernel-sigmoid",
    variant(LLAMA_ONE, h="mul(mul(matmul($x, $up), matmul($x, $gate)), sigmoid(matmul($x, $gate)))"),
)
right(
    "llama_mlp",
    "split-hidden",
    """
  $part = custom(x, gate, up, down) grid[x=gx, y=s] loop[i=f]
    $x = load(x, imap=[0, -])
    $gate = load(gate, imap=[-, 1], fmap=1)
    $up = load(up, imap=[-, 1], fmap=1)
    $down = load(down, imap=[-, 0], fmap=0)
    $h = mul(silu(matmul($x, $gate)), matmul($x, $up))
    store(accum(matmul($h, $down)), omap=[0, 1])
  return reshape(sum(reshape($part, dims=[b, s, {d}]), dim=1), dims=[b, {d}])
""",
)
wrong("llama_mlp", "gate-and-up-swapped", variant(LLAMA_ONE, h="mul(matmul($x, $gate), silu(matmul($x, $up)))"))
wrong(
    "llama_mlp",
    "silu-of-the-product",
    variant(LLAMA_TWO, y="silu(mul(accum(matmul($x, $gate)), accum(matmul($x, $up))))"),
)
wrong("llama_mlp", "product-in-the-loop", variant(LLAMA_TWO, y="accum(mul(silu(matmul($x, $gate)), matmul($x, $up)))"))

# ---------------------------------------------------------------- mixtures of experts
GATING = """
  $o = custom(x, route, experts) grid[x=gx] loop[i=f]
    $x = load(x, imap=[-], fmap=1)
    $route = load(route, imap=[-], fmap=0)
    $experts = load(experts, imap=[2], fmap=1)
    $l = accum(matmul($x, $route))
    $y = accum(matmul($x, $experts))
    $e = exp($l)
    $p = div($e, sum($e, dim=1))
    $w = reshape(permute($p, order=[1, 0]), dims=[{e}, b, 1])
    $z = reshape(sum(mul($w, $y), dim=0), dims=[b, {n}/gx])
    store($z, omap=[1])
  return $o
"""
right("moe_gating", "one-kernel", GATING)
right("moe_gating", "one-kernel-safe", variant(GATING, e="exp(sub($l, max($l, dim=1)))"))
right(
    "moe_gating",
    "normalised-behind",
    variant(
        GATING,
        w="reshape(permute($e, order=[1, 0]), dims=[{e}, b, 1])",
        z="div(reshape(sum(mul($w, $y), dim=0), dims=[b, {n}/gx]), sum($e, dim=1))",
    ),
)
right(
    "moe_gating",
    "weights-first",
    """
  $p = custom(x, route) grid[x=px] loop[i=pf]
    $x = load(x, imap=[0], fmap=1)
    $route = load(route, imap=[-], fmap=0)
    $l = accum(matmul($x, $route))
    $e = exp(sub($l, max($l, dim=1)))
    store(div($e, sum($e, dim=1)), omap=[0])
  $o = custom($p, x, experts) grid[x=gx] loop[i=f]
    $p = load($p, imap=[-])
    $x = load(x, imap=[-], fmap=1)
    $experts = load(experts, imap=[2], fmap=1)
    $w = reshape(permute($p, order=[1, 0]), dims=[{e}, b, 1])
    $y = mul($w, matmul($x, $experts))
    store(reshape(sum(accum($y), dim=0), dims=[b, {n}/gx]), omap=[1])
  return $o
""",
)
right(
    "moe_gating",
    "fused",
    variant(
        GATING,
        e="exp(sub($l, max($l, dim=1)))",
        z="sum(mul($w, $y), dim=0)",
    ).replace("store($z, omap=[1])\n  return $o", "store($z, omap=[2])\n  return reshape($o, dims=[b, {n}])"),
)
wrong("moe_gating", "normalised-over-tokens", variant(GATING, p="div($e, sum($e, dim=0))"))
wrong("moe_gating", "not-normalised", variant(GATING, p="mul_scalar($e, 1)"))
wrong("moe_gating", "softmax-of-a-part", variant(GATING, e="accum(exp(matmul($x, $route)))"))

ROUTED = """
  $o = custom(x, route, up, down) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0])
    $route = load(route, imap=[1])
    $up = load(up, imap=[-], fmap=2)
    $down = load(down, imap=[-], fmap=1)
    $h = silu(matmul($x, $up))
    $y = accum(matmul($h, $down))
    $w = reshape($route, dims=[{e}, b/gx, 1])
    $z = mul($w, $y)
    store(reshape(sum($z, dim=0), dims=[b/gx, {d}]), omap=[0])
  return $o
"""
right("moe_routed", "one-kernel", ROUTED)
right(
    "moe_routed",
    "weights-before-down",
    """
  $o = custom(x, route, up, down) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0])
    $route = load(route, imap=[1])
    $up = load(up, imap=[-], fmap=2)
    $down = load(down, imap=[-], fmap=1)
    $w = reshape($route, dims=[{e}, b/gx, 1])
    $h = mul($w, silu(matmul($x, $up)))
    $y = accum(sum(matmul($h, $down), dim=0))
    store(reshape($y, dims=[b/gx, {d}]), omap=[0])
  return $o
""",
)
right(
    "moe_routed",
    "expert-by-expert",
    """
  $w = reshape(route, dims=[{e}, b, 1])
  $o = custom(x, $w, up, down) grid[x=gx] loop[i={e}]
    $x = load(x, imap=[0])
    $w = load($w, imap=[1], fmap=0)
    $up = load(up, imap=[-], fmap=0)
    $down = load(down, imap=[-], fmap=0)
    $y = mul($w, matmul(silu(matmul($x, $up)), $down))
    store(reshape(accum($y), dims=[b/gx, {d}]), omap=[0])
  return $o
""",
)
right(
    "moe_routed",
    "one-long-matmul",
    """
  $w = reshape(permute(route, order=[1, 0]), dims=[b, {e}, 1])
  $h = silu(matmul(x, up))
  $rows = reshape(mul($w, permute($h, order=[1, 0, 2])), dims=[b, {en}])
  return matmul($rows, reshape(down, dims=[{en}, {d}]))
""",
)
right(
    "moe_routed",
    "fused",
    """
  $w = reshape(route, dims=[{e}, b, 1])
  $o = custom(x, $w, up, down) grid[x=gx] loop[i=f]
    $x = load(x, imap=[0])
    $w = load($w, imap=[1])
    $up = load(up, imap=[-], fmap=2)
    $down = load(down, imap=[-], fmap=1)
    $y = accum(matmul(silu(matmul($x, $up)), $down))
    store(sum(mul($w, $y), dim=0), omap=[1])
  return reshape($o, dims=[b, {d}])
""",
)
COLUMNS = """
  $w = reshape(route, dims=[{e}, b, 1])
  $o = custom(x, $w, up, down) grid[x=gx, y=gy] loop[i=f]
    $x = load(x, imap=[0, -])
    $w = load($w, imap=[1, -])
    $up = load(up, imap=[-, -], fmap=2)
    $down = load(down, imap=[-, 2], fmap=1)
    $y = accum(matmul(silu(matmul($x, $up)), $down))
    store(sum(mul($w, $y), dim=0), omap=[1, 2])
  return reshape($o, dims=[b, {d}])
"""
EXPERTS_OVER_BLOCKS = """
  $w = reshape(route, dims=[{e}, b, 1])
  $part = custom(x, $w, up, down) grid[x=ge, y=gd, z=s] loop[i=f]
    $x = load(x, imap=[-, -, -])
    $w = load($w, imap=[0, -, -])
    $up = load(up, imap=[0, -, 2], fmap=2)
    $down = load(down, imap=[0, 2, 1], fmap=1)
    $y = accum(matmul(silu(matmul($x, $up)), $down))
    store(mul($w, $y), omap=[0, 2, 1])
  $o = custom($part) grid[x=pd] loop[i=s]
    store(sum(accum(load($part, imap=[2], fmap=1)), dim=0), omap=[2])
  return reshape($o, dims=[b, {d}])
"""
right("moe_routed", "fused-columns", COLUMNS)
right("moe_routed", "experts-over-blocks", EXPERTS_OVER_BLOCKS)
wrong("moe_routed", "experts-over-blocks-one-share", swapped(EXPERTS_OVER_BLOCKS, "sum(accum(", "mean(accum("))
wrong(
    "moe_routed",
    "weights-inside-silu",
    variant(ROUTED, h="silu(mul(reshape($route, dims=[{e}, b/gx, 1]), matmul($x, $up)))", z="mul_scalar($y, 1)"),
)
wrong("moe_routed", "weights-lost", variant(ROUTED, z="mul_scalar($y, 1)"))
wrong(
    "moe_routed",
    "experts-and-hidden-confused",
    """
  $w = reshape(permute(route, order=[1, 0]), dims=[b, {e}, 1])
  $h = silu(matmul(x, up))
  $rows = reshape(permute(mul($w, permute($h, order=[1, 0, 2])), order=[0, 2, 1]), dims=[b, {en}])
  return matmul($rows, reshape(down, dims=[{en}, {d}]))
""",
)

ENTRIES = tuple(_table.entries)
