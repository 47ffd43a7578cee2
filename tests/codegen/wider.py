"""sGraphs with views, maxima, masks, running maxima, rescaled sums and several results, for both code generators."""

from __future__ import annotations

from tests.codegen.corpus import Case

FLASH = """sgraph
  q = input f32[h, m, d]
  k = input f32[h, d, s] order(0, 2, 1)
  v = input f32[h, s, e]
  %3 = custom(q, k, v) grid[x=h, y=gy] loop[i=f]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, -], fmap=2)
    %2 = load(2, imap=[0, -], fmap=1)
    %3 = mul_scalar(%0, 1/4)
    %4 = matmul(%3, %1)
    %5 = running_max(%4, dim=2)
    %6 = sub(%4, %5)
    %7 = exp(%6)
    %8 = matmul(%7, %2)
    %9 = accum_rescaled(%8, %5)
    %10 = accum_rescaled(%7, %5, dim=2)
    %11 = div(%9, %10)
    %12 = store(%11, omap=[0, 1])
  return %3
"""
"""R10: safe softmax and both products in one pass over the keys."""

CAUSAL_FLASH = """sgraph
  q = input f32[h, m, d]
  k = input f32[h, d, s] order(0, 2, 1)
  v = input f32[h, s, e]
  %3 = band(rows=m, columns=s, low=-1*s, high=s-1*m, dtype=f32)
  %4 = custom(q, k, v, %3) grid[x=h, y=gy] loop[i=f]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, -], fmap=2)
    %2 = load(2, imap=[0, -], fmap=1)
    %3 = load(3, imap=[-, 0], fmap=1)
    %4 = matmul(%0, %1)
    %5 = mask(%4, %3)
    %6 = running_max(%5, dim=2)
    %7 = sub(%5, %6)
    %8 = exp(%7)
    %9 = matmul(%8, %2)
    %10 = accum_rescaled(%9, %6)
    %11 = accum_rescaled(%8, %6, dim=2)
    %12 = div(%10, %11)
    %13 = store(%12, omap=[0, 1])
  return %4
"""

SPLIT_KV = """sgraph
  q = input f32[m, d]
  k = input f32[d, s]
  v = input f32[s, e]
  %3 = custom(q, k, v) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[1], fmap=1)
    %2 = load(2, imap=[0], fmap=0)
    %3 = matmul(%0, %1)
    %4 = running_max(%3, dim=1)
    %5 = sub(%3, %4)
    %6 = exp(%5)
    %7 = matmul(%6, %2)
    %8 = accum_rescaled(%7, %4)
    %9 = accum_rescaled(%6, %4, dim=1)
    %10 = accum_max(%4)
    %11 = reshape(%8, dims=[1, m, e])
    %12 = reshape(%9, dims=[1, m, 1])
    %13 = reshape(%10, dims=[1, m, 1])
    %14 = store(%11, omap=[0])
    %15 = store(%12, omap=[0])
    %16 = store(%13, omap=[0])
  %4 = result(%3, index=1)
  %5 = result(%3, index=2)
  %6 = custom(%3, %4, %5) grid[y=gy]
    %0 = load(0, imap=[2])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[-])
    %3 = max(%2, dim=0)
    %4 = sub(%2, %3)
    %5 = exp(%4)
    %6 = mul(%0, %5)
    %7 = sum(%6, dim=0)
    %8 = mul(%1, %5)
    %9 = sum(%8, dim=0)
    %10 = div(%7, %9)
    %11 = reshape(%10, dims=[m, e/gy])
    %12 = store(%11, omap=[1])
  return %6
"""
"""R7: parts of the keys in the grid, three results per part, merged by a second kernel."""

LAYERNORM_LINEAR = """sgraph
  x = input f32[b, d]
  g = input f32[d]
  c = input f32[d]
  w = input f32[d, n]
  %4 = custom(x, g, c, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[1], fmap=0)
    %4 = mul(%0, %1)
    %5 = matmul(%4, %3)
    %6 = accum(%5)
    %7 = reshape(%1, dims=[1, d/f])
    %8 = matmul(%7, %3)
    %9 = accum(%8)
    %10 = reshape(%2, dims=[1, d/f])
    %11 = matmul(%10, %3)
    %12 = accum(%11)
    %13 = accum_mean(%0, dim=1)
    %14 = square(%0)
    %15 = accum_mean(%14, dim=1)
    %16 = square(%13)
    %17 = sub(%15, %16)
    %18 = add_scalar(%17, 1/1000)
    %19 = sqrt(%18)
    %20 = mul(%13, %9)
    %21 = sub(%6, %20)
    %22 = div(%21, %19)
    %23 = add(%22, %12)
    %24 = store(%23, omap=[1])
  return %4
"""

ROPE = """sgraph
  x = input f32[b, d]
  c = input f32[b, d]
  s = input f32[b, d]
  w = input f32[d, n]
  %4 = custom(x, c, s, w) grid[x=gx, y=gy]
    %0 = load(0, imap=[-, 0])
    %1 = load(1, imap=[-, 0])
    %2 = load(2, imap=[-, 0])
    %3 = load(3, imap=[1, -])
    %4 = slice(%0, dim=1, start=0, stop=d/2)
    %5 = slice(%0, dim=1, start=d/2, stop=d)
    %6 = neg(%5)
    %7 = concat(%6, %4, dim=1)
    %8 = mul(%0, %1)
    %9 = mul(%7, %2)
    %10 = add(%8, %9)
    %11 = matmul(%10, %3)
    %12 = store(%11, omap=[1, 0])
  return %4
"""

ROPE_BETWEEN = """sgraph
  x = input f32[b, d]
  c = input f32[b, d]
  s = input f32[b, d]
  %3 = slice(x, dim=1, start=0, stop=d/2)
  %4 = slice(x, dim=1, start=d/2, stop=d)
  %5 = neg(%4)
  %6 = concat(%5, %3, dim=1)
  %7 = mul(x, c)
  %8 = mul(%6, s)
  %9 = add(%7, %8)
  return %9
"""

LORA_CONCAT = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  a = input f32[d, r]
  c = input f32[r, n]
  %4 = matmul(x, a)
  %5 = custom(x, %4, w, c) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[1])
    %3 = load(3, imap=[1])
    %4 = concat(%0, %1, dim=1)
    %5 = concat(%2, %3, dim=0)
    %6 = matmul(%4, %5)
    %7 = store(%6, omap=[1])
  return %5
"""
"""R9: (x | x a) @ (w / c)."""

LORA_CONCAT_LOOP = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  a = input f32[d, r]
  c = input f32[r, n]
  %4 = custom(x, w, a, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[1])
    %4 = concat(%1, %2, dim=1)
    %5 = matmul(%0, %4)
    %6 = accum(%5)
    %7 = slice(%6, dim=1, start=0, stop=n/gx)
    %8 = slice(%6, dim=1, start=n/gx, stop=n/gx+r)
    %9 = matmul(%8, %3)
    %10 = add(%7, %9)
    %11 = store(%10, omap=[1])
  return %4
"""

TRANSPOSED = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = permute(%1, order=[1, 0])
    %3 = permute(%0, order=[1, 0])
    %4 = matmul(%2, %3)
    %5 = accum(%4)
    %6 = tanh(%5)
    %7 = store(%6, omap=[0])
  return %2
"""

HEADS = """sgraph
  x = input f32[b, d]
  w = input f32[d, 3*h*e]
  c = input f32[h, e]
  %3 = matmul(x, w)
  %4 = reshape(%3, dims=[b, 3, h, e])
  %5 = add(%4, c)
  %6 = permute(%5, order=[1, 2, 0, 3])
  %7 = slice(%6, dim=0, start=0, stop=1)
  %8 = slice(%6, dim=0, start=1, stop=2)
  %9 = slice(%6, dim=0, start=2, stop=3)
  %10 = reshape(%7, dims=[h, b, e])
  %11 = reshape(%8, dims=[h, b, e])
  %12 = reshape(%9, dims=[h, b, e])
  %13 = permute(%11, order=[0, 2, 1])
  %14 = custom(%10, %13, %12) grid[x=h]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0])
    %2 = load(2, imap=[0])
    %3 = matmul(%0, %1)
    %4 = max(%3, dim=2)
    %5 = sub(%3, %4)
    %6 = exp(%5)
    %7 = sum(%6, dim=2)
    %8 = div(%6, %7)
    %9 = matmul(%8, %2)
    %10 = permute(%9, order=[1, 0, 2])
    %11 = store(%10, omap=[1])
  %15 = reshape(%14, dims=[b, h*e])
  %16 = permute(%15, order=[1, 0])
  return %16
"""
"""Heads split, attended and merged; the result is transposed."""

MERGED_INSIDE = """sgraph
  x = input f32[b, t, d]
  w = input f32[t*d, n]
  %2 = custom(x, w) grid[x=gx, y=gy]
    %0 = load(0, imap=[-, 0])
    %1 = load(1, imap=[1, -])
    %2 = exp(%0)
    %3 = reshape(%2, dims=[b/gy, t*d])
    %4 = matmul(%3, %1)
    %5 = reshape(%3, dims=[b/gy*t, d])
    %6 = sum(%5, dim=1)
    %7 = reshape(%6, dims=[b/gy, t])
    %8 = max(%7, dim=1)
    %9 = mul(%4, %8)
    %10 = store(%9, omap=[1, 0])
  return %2
"""

REPEATED = """sgraph
  x = input f32[b, 1, d]
  y = input f32[b, t, d]
  %2 = expand(x, dim=1, size=t)
  %3 = custom(%2, y) grid[x=gx]
    %0 = load(0, imap=[2])
    %1 = load(1, imap=[2])
    %2 = max(%0, %1)
    %3 = sum(%2, dim=1)
    %4 = gelu(%3)
    %5 = expand(%4, dim=1, size=t)
    %6 = min(%5, %1)
    %7 = store(%6, omap=[2])
  return %3
"""

WINDOW = """sgraph
  x = input f32[m, s]
  %1 = band(rows=m, columns=s, low=-2, high=3, dtype=f32)
  %2 = mask(x, %1)
  %3 = custom(%2, %1) grid[x=gy] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = load(1, imap=[0], fmap=1)
    %2 = accum_max(%0, dim=1)
    %3 = accum_sum(%1, dim=1)
    %4 = abs(%2)
    %5 = max_scalar(%4, 1/8)
    %6 = pow_scalar(%5, 3/2)
    %7 = div(%6, %3)
    %8 = store(%7, omap=[0])
  return %3
"""

LATEST = """sgraph
  x = input f32[b, d]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = running_max(%0)
    %2 = running_max(%1, dim=1)
    %3 = mul(%0, %2)
    %4 = accum_sum(%3, dim=1)
    %5 = gelu_tanh(%4)
    %6 = accum_max(%1)
    %7 = add(%5, %6)
    %8 = erf(%7)
    %9 = permute(%8, order=[1, 0])
    %10 = store(%9, omap=[1])
    %11 = store(%4, omap=[0])
  %2 = result(%1, index=1)
  %3 = permute(%1, order=[1, 0])
  %4 = mul(%3, %2)
  return %4
"""
"""Running maxima of whole tiles, and values that depend on the way there."""

KEYS = (("m", ("gy", "tb")), ("s", ("f", "ks")))
WIDER = (
    Case("flash", FLASH, ("h", "gy", "tb", "d", "f", "ks", "e"), KEYS),
    Case("causal_flash", CAUSAL_FLASH, ("h", "gy", "tb", "d", "f", "ks", "e"), KEYS),
    Case(
        "split_kv", SPLIT_KV, ("m", "d", "gx", "f", "ks", "gy", "te"),
        (("s", ("gx", "f", "ks")), ("e", ("gy", "te"))),
    ),
    Case(
        "layernorm_linear", LAYERNORM_LINEAR, ("b", "f", "ks", "gx", "tn"),
        (("d", ("f", "ks")), ("n", ("gx", "tn"))),
    ),
    Case(
        "rope", ROPE, ("gy", "tb", "half", "gx", "tn"),
        (("b", ("gy", "tb")), ("n", ("gx", "tn")), ("d", ("half", "2"))),
    ),
    Case("rope_between", ROPE_BETWEEN, ("b", "half"), (("d", ("half", "2")),)),
    Case("lora_concat", LORA_CONCAT, ("b", "d", "r", "gx", "tn"), (("n", ("gx", "tn")),)),
    Case(
        "lora_concat_loop", LORA_CONCAT_LOOP, ("b", "f", "ks", "r", "gx", "tn"),
        (("d", ("f", "ks")), ("n", ("gx", "tn"))),
    ),
    Case("transposed", TRANSPOSED, ("b", "f", "ks", "gx", "tn"), (("d", ("f", "ks")), ("n", ("gx", "tn")))),
    Case("heads", HEADS, ("b", "d", "h", "e"), ()),
    Case(
        "merged_inside", MERGED_INSIDE, ("gy", "tb", "t", "d", "gx", "tn"),
        (("b", ("gy", "tb")), ("n", ("gx", "tn"))),
    ),
    Case("repeated", REPEATED, ("b", "t", "gx", "td"), (("d", ("gx", "td")),)),
    Case("window", WINDOW, ("gy", "tb", "f", "ks"), KEYS),
    Case("latest", LATEST, ("gx", "tb", "f", "ks"), (("b", ("gx", "tb")), ("d", ("f", "ks")))),
)  # fmt: skip


def legal(case: Case, sizes: dict[str, int]) -> bool:
    """Whether every row keeps an entry: a row that a band masks as a whole has no softmax."""
    match case.name:
        case "causal_flash":
            return sizes["s"] >= sizes["m"]
        case "window":
            return sizes["s"] >= sizes["m"]
        case _:
            return True
