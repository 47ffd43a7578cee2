"""Programs, candidates that equal them, and candidates that look as if they did.

The wrong ones are mistakes that a search can make or that published rule sets accept (U1 to U4: an
operand swap, a division moved through a matmul, a lost 1/n, a replicated sum). All run on one text
form, so a reader can take any of them and try it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family

PROGRAMS: dict[str, TensorProgram] = {}


def program(write: Callable[[ProgramBuilder], int]) -> Callable[[ProgramBuilder], int]:
    b = ProgramBuilder(write.__name__)
    PROGRAMS[write.__name__] = b.build(write(b))
    return write


@program
def rms_bare(b: ProgramBuilder) -> int:
    x, w = b.input("x", "b", 4096), b.input("w", 4096, 4096)
    return b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w)


@program
def rms_weight(b: ProgramBuilder) -> int:
    x, g, w = b.input("x", "b", 4096), b.input("g", 4096), b.input("w", 4096, 4096)
    return b.matmul(b.binary("mul", b.binary("div", x, b.reduce("rms", x, 1)), g), w)


@program
def rms_full(b: ProgramBuilder) -> int:
    x, g, w = b.input("x", "b", 4096), b.input("g", 4096), b.input("w", 4096, 4096)
    mean = b.reduce("mean", b.unary("square", x), 1)
    norm = b.unary("rsqrt", b.scalar("add", mean, "1/1000000"))
    return b.matmul(b.binary("mul", b.binary("mul", x, norm), g), w)


@program
def rms_mlp(b: ProgramBuilder) -> int:
    x, u, v = b.input("x", "b", 512), b.input("u", 512, 1024), b.input("v", 512, 1024)
    y = b.binary("div", x, b.reduce("rms", x, 1))
    return b.binary("mul", b.matmul(y, u), b.matmul(y, v))


@program
def matmul(b: ProgramBuilder) -> int:
    x, w = b.input("x", "b", 4096), b.input("w", 4096, 4096)
    return b.matmul(x, w)


@program
def gated_mlp(b: ProgramBuilder) -> int:
    x, u, v = b.input("x", "b", 512), b.input("u", 512, 512), b.input("v", 512, 512)
    return b.binary("mul", b.unary("silu", b.matmul(x, u)), b.matmul(x, v))


@program
def lora(b: ProgramBuilder) -> int:
    x, w = b.input("x", "m", 256), b.input("w", 256, 256)
    a, c = b.input("a", 256, 16), b.input("c", 16, 256)
    return b.binary("add", b.matmul(x, w), b.matmul(b.matmul(x, a), c))


@program
def attention(b: ProgramBuilder) -> int:
    q, k, v = b.input("q", "h", 64, 64), b.input("k", "h", 64, "t"), b.input("v", "h", "t", 64)
    e = b.unary("exp", b.matmul(q, k))
    return b.matmul(b.binary("div", e, b.reduce("sum", e, 2)), v)


@program
def ntrans(b: ProgramBuilder) -> int:
    h, x, alpha = b.input("h", "b", 1024), b.input("x", "b", 1024), b.input("alpha", 1024)
    y = b.binary("div", h, b.reduce("rms", h, 1))
    y = b.binary("add", b.binary("mul", b.binary("sub", y, x), alpha), x)
    return b.binary("div", y, b.reduce("rms", y, 1))


@program
def divided_linear(b: ProgramBuilder) -> int:
    x, y, w = b.input("x", "b", 4096), b.input("y", "b", 4096), b.input("w", 4096, 4096)
    return b.matmul(b.binary("div", x, y), w)


@program
def quotient(b: ProgramBuilder) -> int:
    x, y = b.input("x", "b", 64), b.input("y", "b", 64)
    return b.binary("div", x, y)


@program
def loop_free(b: ProgramBuilder) -> int:
    x, w = b.input("x", "b", 64), b.input("w", 64, 64)
    return b.unary("tanh", b.matmul(x, w))


@program
def variance(b: ProgramBuilder) -> int:
    x = b.input("x", "b", "d")
    centred = b.binary("sub", x, b.reduce("mean", x, 1))
    return b.reduce("mean", b.unary("square", centred), 1)


@dataclass(frozen=True)
class Case:
    """A candidate and what is true of it."""

    name: str
    program: str
    sgraph: SGraph
    right: bool


CASES: list[Case] = []


def numbered(text: str) -> str:
    """Block tensors that bear words, `$rms`, get the positions that the text form wants."""
    out: list[str] = []
    places: dict[str, str] = {}

    def place(found: re.Match[str]) -> str:
        return places[found.group()]

    for line in text.strip("\n").splitlines():
        if not line.startswith("    "):
            places.clear()
        elif (name := re.match(r" *(\$\w+) = ", line)) is not None:
            places[name.group(1)] = f"%{len(places)}"
        out.append(re.sub(r"\$\w+", place, line))
    return "\n".join(out)


def edited(text: str, **lines: str) -> str:
    """The text with the right-hand sides of some named lines replaced; `;` parts several lines."""
    for name, right in lines.items():
        found = re.search(rf"^    \${name} = .*$", text, re.MULTILINE)
        assert found, f"no line ${name}"
        *before, last = right.split("; ")
        new = "\n".join((*(f"    {line}" for line in before), f"    ${name} = {last}"))
        text = text.replace(found.group(), new)
    return text


def graph_of(program: str, text: str) -> SGraph:
    """The sGraph with that program's inputs and these further lines."""
    inputs = "\n".join(f"  {i.name} = input {i.type}" for i in PROGRAMS[program].inputs)
    return parse(f"sgraph\n{inputs}\n{numbered(text)}")


def case(name: str, program: str, text: str, right: bool = True) -> None:
    CASES.append(Case(name, program, graph_of(program, text), right))


def wrong(name: str, program: str, text: str) -> None:
    case(name, program, text, right=False)


def candidate(of: TensorProgram, sgraph: SGraph, name: str = "f1.c1") -> Candidate:
    """As `instantiate` would hand it over."""
    uses: tuple[tuple[AxisUse, ...], ...] = ((),) * len(sgraph.customs)
    family = Family(name.split(".")[0], of, sgraph)
    return Candidate(name, family, sgraph, uses, sgraph.conditions())


# ---------------------------------------------------------------- RMSNorm and a linear layer
R1_BARE = """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $w = load(1, imap=[1], fmap=0)
    $xw = matmul($x, $w)
    $sum = accum($xw)
    $rms = accum_rms($x, dim=1)
    $y = div($sum, $rms)
    $out = store($y, omap=[1])
  return %2
"""
R1_FULL = """
  %3 = custom(x, g, w) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $g = load(1, imap=[-], fmap=0)
    $w = load(2, imap=[1], fmap=0)
    $xg = mul($x, $g)
    $xgw = matmul($xg, $w)
    $sum = accum($xgw)
    $xx = square($x)
    $mean = accum_mean($xx, dim=1)
    $eps = add_scalar($mean, 1/1000000)
    $rms = sqrt($eps)
    $y = div($sum, $rms)
    $out = store($y, omap=[1])
  return %3
"""
case("rms_fused", "rms_bare", R1_BARE)
case("rms_fused_full", "rms_full", R1_FULL)
case("rms_fused_weight", "rms_weight", edited(R1_FULL, eps="mul_scalar($mean, 1)"))
case(
    "rms_fused_sum_then_scale",
    "rms_full",
    edited(R1_FULL, mean="$squares = accum_sum($xx, dim=1); mul_scalar($squares, 1/4096)"),
)
case(
    "rms_grid_over_rows_too",
    "rms_full",
    R1_FULL.replace("grid[x=gx]", "grid[x=gx, y=gy]")
    .replace("load(0, imap=[-]", "load(0, imap=[-, 0]")
    .replace("load(1, imap=[-]", "load(1, imap=[-, -]")
    .replace("load(2, imap=[1]", "load(2, imap=[1, -]")
    .replace("omap=[1]", "omap=[1, 0]"),
)
case(
    "rms_two_kernels",
    "rms_bare",
    """
  %2 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = accum_rms(%0, dim=1)
    %2 = store(%1, omap=[0])
  %3 = custom(x, %2, w) grid[x=hx] loop[i=h]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[1], fmap=0)
    %3 = div(%0, %1)
    %4 = matmul(%3, %2)
    %5 = accum(%4)
    %6 = store(%5, omap=[1])
  return %3
""",
)
case(
    "rms_partly_unfused",
    "rms_bare",
    """
  %2 = rms(x, dim=1)
  %3 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  %4 = div(%3, %2)
  return %4
""",
)
case(
    "rms_normalised_rows_stay_in_the_block",
    "rms_bare",
    """
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[1])
    %2 = rms(%0, dim=1)
    %3 = div(%0, %2)
    %4 = matmul(%3, %1)
    %5 = store(%4, omap=[1])
  return %2
""",
)
case(
    "rms_partial_sums_side_by_side",
    "rms_bare",
    """
  %2 = custom(x, w) grid[x=h] loop[i=f]
    %0 = load(0, imap=[1], fmap=1)
    %1 = load(1, imap=[0], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  %3 = custom(%2, x) grid[] loop[i=h]
    %0 = load(0, imap=[], fmap=1)
    %1 = load(1, imap=[], fmap=1)
    %2 = accum(%0)
    %3 = accum_rms(%1, dim=1)
    %4 = div(%2, %3)
    %5 = store(%4, omap=[])
  return %3
""",
)
case(
    "rms_eps_added_to_every_square",
    "rms_full",
    edited(R1_FULL, mean="$e = add_scalar($xx, 1/1000000); accum_mean($e, dim=1)", eps="mul_scalar($mean, 1)"),
)
case(
    "rms_squares_summed_tile_by_tile",
    "rms_bare",
    edited(R1_BARE, rms="$xx = square($x); $mean = mean($xx, dim=1); $all = accum_mean($mean, dim=1); sqrt($all)"),
)

wrong(
    "rms_of_a_tile",
    "rms_bare",
    """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = rms(%0, dim=1)
    %3 = div(%0, %2)
    %4 = matmul(%3, %1)
    %5 = accum(%4)
    %6 = store(%5, omap=[1])
  return %2
""",
)
wrong("rms_root_before_the_accumulator", "rms_bare", edited(R1_BARE, rms="$tile = rms($x, dim=1); accum($tile)"))
wrong("rms_lost_one_over_n_U3", "rms_full", edited(R1_FULL, mean="accum_sum($xx, dim=1)"))
wrong(
    "rms_mean_of_the_tile_only",
    "rms_bare",
    edited(R1_BARE, rms="$xx = square($x); $mean = mean($xx, dim=1); $all = accum($mean); sqrt($all)"),
)
wrong("rms_forgot_eps", "rms_full", edited(R1_FULL, eps="mul_scalar($mean, 1)"))
wrong(
    "rms_eps_in_every_iteration",
    "rms_full",
    edited(
        R1_FULL,
        mean="$tile = mean($xx, dim=1); $e = add_scalar($tile, 1/1000000); accum($e)",
        eps="mul_scalar($mean, 1)",
    ),
)
wrong("rms_forgot_the_weight", "rms_full", edited(R1_FULL, xg="mul_scalar($x, 1)"))
wrong("rms_swapped_division", "rms_bare", edited(R1_BARE, y="div($rms, $sum)"))
wrong(
    "rms_race",
    "rms_bare",
    """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[1], fmap=1)
    %1 = load(1, imap=[0], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[-])
  %3 = rms(x, dim=1)
  %4 = div(%2, %3)
  return %4
""",
)
wrong(
    "rms_wrong_loop_dim_of_the_weight",
    "matmul",
    """
  %2 = custom(x, w) grid[x=g] loop[i=g]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[0], fmap=1)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  return %2
""",
)
wrong(
    "matmul_wrong_omap",
    "matmul",
    """
  %2 = custom(x, w) grid[x=g, y=g] loop[i=f]
    %0 = load(0, imap=[-, 0], fmap=1)
    %1 = load(1, imap=[1, -], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %2
""",
)
wrong(
    "matmul_weight_cut_the_other_way",
    "matmul",
    """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[-])
  %3 = custom(%2, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  return %3
""",
)

# ---------------------------------------------------------------- U1, U2, U4
case(
    "quotient_in_blocks",
    "quotient",
    """
  %2 = custom(x, y) grid[x=gx]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[1])
    %2 = div(%0, %1)
    %3 = store(%2, omap=[1])
  return %2
""",
)
wrong(
    "operand_swap_U1",
    "quotient",
    """
  %2 = custom(x, y) grid[x=gx]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[1])
    %2 = div(%1, %0)
    %3 = store(%2, omap=[1])
  return %2
""",
)
wrong(
    "division_moved_through_a_matmul_U2",
    "divided_linear",
    """
  %3 = custom(x, y, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1])
    %2 = load(2, imap=[1], fmap=0)
    %3 = matmul(%0, %2)
    %4 = div(%3, %1)
    %5 = accum(%4)
    %6 = store(%5, omap=[1])
  return %3
""",
)
case(
    "division_before_the_matmul",
    "divided_linear",
    """
  %3 = custom(x, y, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=1)
    %2 = load(2, imap=[1], fmap=0)
    %3 = div(%0, %1)
    %4 = matmul(%3, %2)
    %5 = accum(%4)
    %6 = store(%5, omap=[1])
  return %3
""",
)
MATMUL = """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $w = load(1, imap=[1], fmap=0)
    $xw = matmul($x, $w)
    $sum = accum($xw)
    $out = store($sum, omap=[1])
  return %2
"""
case("matmul_split", "matmul", MATMUL)
wrong("replicated_accumulation_U4", "matmul", MATMUL.replace(", fmap=1", "").replace(", fmap=0", ""))
case(
    "replicated_blocks_write_the_same", "matmul", MATMUL.replace("imap=[1]", "imap=[-]").replace("omap=[1]", "omap=[-]")
)
case(
    "no_blocks_at_all",
    "loop_free",
    """
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[1])
    %2 = matmul(%0, %1)
    %3 = tanh(%2)
    %4 = store(%3, omap=[1])
  return %2
""",
)
wrong(
    "tanh_before_the_sum",
    "loop_free",
    """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = tanh(%2)
    %4 = accum(%3)
    %5 = store(%4, omap=[1])
  return %2
""",
)

# ---------------------------------------------------------------- two weights, two accumulators
MLP = """
  %3 = custom(x, u, v) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $u = load(1, imap=[1], fmap=0)
    $v = load(2, imap=[1], fmap=0)
    $xu = matmul($x, $u)
    $xv = matmul($x, $v)
    $a = accum($xu)
    $b = accum($xv)
    $s = silu($a)
    $y = mul($s, $b)
    $out = store($y, omap=[1])
  return %3
"""
case("mlp_fused", "gated_mlp", MLP)
wrong("mlp_swapped_weights", "gated_mlp", edited(MLP, s="silu($b)", y="mul($s, $a)"))
case(
    "mlp_silu_spelled_with_exp",
    "gated_mlp",
    edited(MLP, s="$e = exp($a); $above = mul($a, $e); $below = add_scalar($e, 1); div($above, $below)"),
)
case("mlp_silu_as_x_times_sigmoid", "gated_mlp", edited(MLP, s="$h = sigmoid($a); mul($a, $h)"))
wrong("mlp_silu_in_the_loop", "gated_mlp", edited(MLP, a="$early = silu($xu); accum($early)", s="mul_scalar($a, 1)"))
wrong(
    "mlp_product_in_the_loop",
    "gated_mlp",
    """
  %3 = custom(x, u, v) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[1], fmap=0)
    %3 = matmul(%0, %1)
    %4 = matmul(%0, %2)
    %5 = silu(%3)
    %6 = mul(%5, %4)
    %7 = accum(%6)
    %8 = store(%7, omap=[1])
  return %3
""",
)
RMS_MLP = """
  %3 = custom(x, u, v) grid[x=gx] loop[i=f]
    $x = load(0, imap=[-], fmap=1)
    $u = load(1, imap=[1], fmap=0)
    $v = load(2, imap=[1], fmap=0)
    $xu = matmul($x, $u)
    $xv = matmul($x, $v)
    $a = accum($xu)
    $b = accum($xv)
    $rms = accum_rms($x, dim=1)
    $ab = mul($a, $b)
    $rr = mul($rms, $rms)
    $y = div($ab, $rr)
    $out = store($y, omap=[1])
  return %3
"""
case("rms_mlp_one_division", "rms_mlp", RMS_MLP)
case("rms_mlp_divided_twice", "rms_mlp", edited(RMS_MLP, rr="div($ab, $rms)", y="div($rr, $rms)"))
wrong("rms_mlp_divided_once", "rms_mlp", edited(RMS_MLP, y="div($ab, $rms)"))
LORA = """
  %4 = custom(x, w, a, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[1])
    %4 = matmul(%0, %1)
    %5 = accum(%4)
    %6 = matmul(%0, %2)
    %7 = accum(%6)
    %8 = matmul(%7, %3)
    %9 = add(%5, %8)
    %10 = store(%9, omap=[1])
  return %4
"""
case("lora_two_accumulators", "lora", LORA)
wrong(
    "lora_replicated_accumulation",
    "lora",
    """
  %4 = custom(x, w, a, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[-])
    %3 = load(3, imap=[1])
    %4 = load(0, imap=[-])
    %5 = matmul(%0, %1)
    %6 = matmul(%4, %2)
    %7 = matmul(%6, %3)
    %8 = add(%5, %7)
    %9 = accum(%8)
    %10 = store(%9, omap=[1])
  return %4
""",
)
case(
    "lora_merged_weight",
    "lora",
    """
  %4 = matmul(a, c)
  %5 = add(w, %4)
  %6 = custom(x, %5) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  return %6
""",
)

# ---------------------------------------------------------------- attention without max, nTrans, variance
ATTENTION = """
  %3 = custom(q, k, v) grid[x=gh, y=gq] loop[i=f]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, -], fmap=2)
    %2 = load(2, imap=[0, -], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = matmul(%4, %2)
    %6 = accum(%5)
    %7 = accum_sum(%4, dim=2)
    %8 = div(%6, %7)
    %9 = store(%8, omap=[0, 1])
  return %3
"""
case("attention_one_kernel", "attention", ATTENTION)
case(
    "attention_split_over_keys",
    "attention",
    """
  %3 = custom(q, k, v) grid[x=gh, y=s] loop[i=f]
    %0 = load(0, imap=[0, -])
    %1 = load(1, imap=[0, 2], fmap=2)
    %2 = load(2, imap=[0, 1], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = matmul(%4, %2)
    %6 = accum(%5)
    %7 = store(%6, omap=[0, 2])
  %4 = custom(q, k) grid[x=gh, y=s] loop[i=f]
    %0 = load(0, imap=[0, -])
    %1 = load(1, imap=[0, 2], fmap=2)
    %2 = matmul(%0, %1)
    %3 = exp(%2)
    %4 = accum_sum(%3, dim=2)
    %5 = store(%4, omap=[0, 2])
  %5 = custom(%3, %4) grid[x=gh] loop[i=s]
    %0 = load(0, imap=[0], fmap=2)
    %1 = load(1, imap=[0], fmap=2)
    %2 = accum(%0)
    %3 = accum(%1)
    %4 = div(%2, %3)
    %5 = store(%4, omap=[0])
  return %5
""",
)
wrong(
    "attention_accumulates_then_exponentiates",
    "attention",
    """
  %3 = custom(q, k, v) grid[x=gh, y=gq] loop[i=f]
    %0 = load(0, imap=[0, 1], fmap=2)
    %1 = load(1, imap=[0, -], fmap=1)
    %2 = load(2, imap=[0, -])
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = accum(%4)
    %6 = sum(%5, dim=2)
    %7 = div(%5, %6)
    %8 = matmul(%7, %2)
    %9 = store(%8, omap=[0, 1])
  return %3
""",
)
case(
    "attention_scores_accumulated_over_channels",
    "attention",
    """
  %3 = custom(q, k, v) grid[x=gh, y=gq] loop[i=f]
    %0 = load(0, imap=[0, 1], fmap=2)
    %1 = load(1, imap=[0, -], fmap=1)
    %2 = load(2, imap=[0, -])
    %3 = matmul(%0, %1)
    %4 = accum(%3)
    %5 = exp(%4)
    %6 = sum(%5, dim=2)
    %7 = div(%5, %6)
    %8 = matmul(%7, %2)
    %9 = store(%8, omap=[0, 1])
  return %3
""",
)
wrong(
    "attention_normalised_per_tile",
    "attention",
    """
  %3 = custom(q, k, v) grid[x=gh, y=gq] loop[i=f]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, -], fmap=2)
    %2 = load(2, imap=[0, -], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = sum(%4, dim=2)
    %6 = div(%4, %5)
    %7 = matmul(%6, %2)
    %8 = accum(%7)
    %9 = store(%8, omap=[0, 1])
  return %3
""",
)
case(
    "ntrans_one_kernel",
    "ntrans",
    """
  %3 = custom(h, x, alpha) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0])
    %2 = load(2, imap=[-])
    %3 = rms(%0, dim=1)
    %4 = div(%0, %3)
    %5 = sub(%4, %1)
    %6 = mul(%5, %2)
    %7 = add(%6, %1)
    %8 = rms(%7, dim=1)
    %9 = div(%7, %8)
    %10 = store(%9, omap=[0])
  return %3
""",
)
wrong(
    "ntrans_of_half_a_row",
    "ntrans",
    """
  %3 = custom(h, x, alpha) grid[x=gx]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[1])
    %2 = load(2, imap=[0])
    %3 = rms(%0, dim=1)
    %4 = div(%0, %3)
    %5 = sub(%4, %1)
    %6 = mul(%5, %2)
    %7 = add(%6, %1)
    %8 = rms(%7, dim=1)
    %9 = div(%7, %8)
    %10 = store(%9, omap=[1])
  return %3
""",
)
VARIANCE = """
  %1 = custom(x) grid[x=gx] loop[i=f]
    $x = load(0, imap=[0], fmap=1)
    $xx = square($x)
    $mm = accum_mean($xx, dim=1)
    $m = accum_mean($x, dim=1)
    $m2 = square($m)
    $v = sub($mm, $m2)
    $out = store($v, omap=[0])
  return %1
"""
case("variance_in_one_pass", "variance", VARIANCE)
wrong("variance_forgot_the_mean", "variance", edited(VARIANCE, v="sub($mm, $m)"))
