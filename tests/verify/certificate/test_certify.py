"""Certificates: every lemma of the fused RMSNorm and linear layer is replayed from axioms."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import prism_explore.verify.certificate.certify as certificate
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CertificateReplayed, SaturationStepped
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import walk
from prism_explore.ir.ops import Concat, Permute, Reshape
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Proof, Verified
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.certificate.certify import certify, derivation, obligations
from prism_explore.verify.certificate.expressions import Add, At, Expr, Mul, Sum
from prism_explore.verify.certificate.lemma import CannotState, Statement, make_statement
from prism_explore.verify.certificate.readable import Line, equation_chain
from prism_explore.verify.checker.parser import ParsedLemma
from prism_explore.verify.checker.parser import parse as read
from prism_explore.verify.egraph.limits import Limits
from prism_explore.verify.normal_form.index import Radix, Var
from tests.soundness.programs import in_one_block
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.normal_form.test_rules import graph
from tests.verify.workloads import RIGHT, program_of, sgraph_of


def proved(of: Candidate) -> Verified:
    """As the prover would hand it over; `test_decide` tests that it does."""
    return Verified(of, Proof("normal form", "for all sizes", ()), ())


def dims(*sizes: int) -> tuple[Dim, ...]:
    return tuple(map(dim, sizes))


def named(name: str) -> Candidate:
    (case,) = [c for c in CASES if c.name == name]
    return candidate(PROGRAMS[case.program], case.sgraph)


# ---------------------------------------------------------------- R1 in every spelling
def spelled(weight: bool, eps: bool, root: str, grid: str) -> Candidate:
    """x / rms(x), or x / sqrt(mean(x²) + eps), times g or not, @ w; and its fused form."""
    b = ProgramBuilder("rmsnorm_linear")
    x = b.input("x", "b", 4096)
    g = b.input("g", 4096) if weight else None
    w = b.input("w", 4096, 4096)
    if eps:
        norm = b.unary("sqrt", b.scalar("add", b.reduce("mean", b.unary("square", x), 1), "1/1000000"))
    else:
        norm = b.reduce("rms", x, 1)
    y = b.binary("div", x, norm)
    program = b.build(b.matmul(y if g is None else b.binary("mul", y, g), w))

    rows = ", y=gy" if grid == "xy" else ""
    cut_rows, cut_columns, whole = ("[-, 0]", "[1, -]", "[-, -]") if rows else ("[-]", "[1]", "[-]")
    lines = [f"load(0, imap={cut_rows}, fmap=1)", f"load({2 if weight else 1}, imap={cut_columns}, fmap=0)"]

    def add(line: str) -> str:
        lines.append(line)
        return f"%{len(lines) - 1}"

    scaled = "%0"
    if weight:
        scaled = add("mul(%0, " + add(f"load(1, imap={whole}, fmap=0)") + ")")
    total = add("accum(" + add(f"matmul({scaled}, %1)") + ")")
    if root == "accum_rms":
        rms = add("accum_rms(%0, dim=1)")
    else:
        mean = add("accum_mean(" + add("square(%0)") + ", dim=1)")
        rms = add(f"sqrt({add(f'add_scalar({mean}, 1/1000000)') if eps else mean})")
    add(f"store({add(f'div({total}, {rms})')}, omap={'[1, 0]' if rows else '[1]'})")
    names = ["x", *(["g"] if weight else []), "w"]
    inputs = [f"  {i.name} = input {i.type}" for i in program.inputs]
    body = [f"    %{n} = {line}" for n, line in enumerate(lines)]
    here = f"%{len(names)}"
    head = f"  {here} = custom({', '.join(names)}) grid[x=gx{rows}] loop[i=f]"
    return candidate(program, parse("\n".join(["sgraph", *inputs, head, *body, f"  return {here}"])))


SPELLINGS = [
    (weight, eps, root, grid)
    for weight in (False, True)
    for eps in (False, True)
    for root in ("accum_rms", "accum_mean and sqrt")
    for grid in ("x", "xy")
    if not (eps and root == "accum_rms")  # accum_rms has no place for eps
]


@pytest.mark.parametrize(("weight", "eps", "root", "grid"), SPELLINGS)
def test_every_lemma_of_r1_is_replayed(weight: bool, eps: bool, root: str, grid: str) -> None:
    of = spelled(weight, eps, root, grid)

    lemmas = certify(proved(of), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


FURTHER = (
    "rms_two_kernels",
    "rms_partial_sums_side_by_side",
    "rms_squares_summed_tile_by_tile",
    "division_before_the_matmul",
    "replicated_blocks_write_the_same",
    "mlp_silu_spelled_with_exp",
    "lora_merged_weight",
    "attention_split_over_keys",
    "variance_in_one_pass",
)


@pytest.mark.parametrize("name", FURTHER)
def test_every_lemma_of_other_programs_is_replayed(name: str) -> None:
    lemmas = certify(proved(named(name)), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


@pytest.mark.parametrize(
    "name",
    ["causal_attention-R10-pages", "causal_groups-R7-rows-first", "causal_groups-R10-merged-in-the-block"],
)
def test_every_lemma_is_replayed_where_rows_are_merged_or_keys_come_in_pages(name: str) -> None:
    """A number of three digits is there over two of them; what is known of sizes lets others be read off."""
    (entry,) = [e for e in RIGHT if e.name == name]

    lemmas = certify(proved(candidate(program_of(entry.workload), sgraph_of(entry))), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


def test_every_lemma_is_replayed_where_pairs_of_numbers_share_scales_in_groups() -> None:
    """A weight of 4 bits: some terms of the product need the two digits of a position in a group, and others none."""
    b = ProgramBuilder("linear_int4")
    x, q, s = b.input("x", "b", 24), b.input("q", 4, 12, dtype="u8"), b.input("s", 4, 3)
    high = b.unary("floor", b.scalar("mul", q, "1/16"))
    low = b.binary("sub", q, b.scalar("mul", high, 16))
    pairs = b.add(Concat(2), *(b.add(Reshape(dims(4, 12, 1)), half) for half in (low, high)))
    groups = b.add(Reshape(dims(4, 3, 8)), b.scalar("add", pairs, -8))
    scaled = b.binary("mul", groups, b.add(Reshape(dims(4, 3, 1)), s))
    weight = b.add(Permute((1, 0)), b.add(Reshape(dims(4, 24)), scaled))
    program = b.build(b.matmul(x, weight))

    lemmas = certify(proved(candidate(program, in_one_block(program))), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


@pytest.mark.parametrize("outermost", ["rms({}, dim=1)", "mean(square(tanh({})), dim=1)"])
def test_copies_of_a_sum_over_blocks_share_the_digit_that_it_leaves(outermost: str) -> None:
    # Copies are read at (j, i) and (j', i), so that (j, i) is no axis which one of them could run over.
    blocks = "sum(sum(reshape(permute(x, order=[1, 0]), dims=[m, n/2, 2]), dim=1), dim=0)"
    program = TensorProgram("copies", graph(outermost.format(f"reshape({blocks}, dims=[1, 2])")))

    lemmas = certify(proved(candidate(program, program.graph)), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


# ---------------------------------------------------------------- what a certificate holds
@pytest.fixture(scope="module")
def journal() -> Journal:
    return Journal()


@pytest.fixture(scope="module")
def certified(journal: Journal) -> Verified:
    return certify(proved(named("rms_fused_full")), journal)


def test_there_is_one_lemma_per_tensor_and_one_for_the_results(certified: Verified) -> None:
    graph, program = certified.candidate.sgraph, certified.candidate.family.program.graph
    computed = sum(len(path) == 2 for path, _ in walk(graph)) + len(program.nodes) - len(program.inputs)

    tensors = [x.tensor for x in certified.proof.lemmas]

    assert computed + 1 == len(tensors) == len(set(tensors))
    assert ["program.%3", "k3.b0", "k3", "goal"] == [tensors[n] for n in (0, 7, -2, -1)]


def test_the_rest_of_the_verdict_stays(certified: Verified) -> None:
    before = proved(named("rms_fused_full"))

    assert (before.candidate, before.trials) == (certified.candidate, certified.trials)
    assert (before.proof.method, before.proof.claim) == (certified.proof.method, certified.proof.claim)


def test_loads_and_stores_need_no_axiom(certified: Verified) -> None:
    moved = [x for x in certified.proof.lemmas if x.operation.startswith(("load", "store"))]

    assert 4 == len(moved)
    assert {()} == {x.axioms for x in moved}


def test_the_accumulator_needs_to_know_what_digits_are(certified: Verified) -> None:
    (accum,) = [x for x in certified.proof.lemmas if x.operation == "accum(%4)"]

    assert ("sum by digits",) == accum.axioms


def test_listed_axioms_are_rows_of_the_table(certified: Verified) -> None:
    known = {a.name for a in AXIOMS}

    assert {name for x in certified.proof.lemmas for name in x.axioms} <= known


def test_it_is_noted(certified: Verified, journal: Journal) -> None:
    (noted,) = [e for e in journal.events if isinstance(e, CertificateReplayed)]
    subjects = {e.subject for e in journal.events if isinstance(e, SaturationStepped)}

    assert "f1.c1" == noted.candidate
    assert [(x.tensor, x.axioms, x.replayed) for x in certified.proof.lemmas] == [
        (tensor, axioms, replayed) for tensor, _, _, axioms, replayed, _ in noted.lemmas
    ]
    assert {f"f1.c1 {x.tensor}" for x in certified.proof.lemmas if x.axioms} == subjects


def test_two_certificates_are_the_same(certified: Verified, journal: Journal) -> None:
    again = Journal()

    assert certified == certify(proved(named("rms_fused_full")), again)
    assert journal.events == again.events


def test_the_derivation_reads_from_the_program_to_the_candidate(
    certified: Verified, golden: Callable[..., None]
) -> None:
    golden("verify/derivation_rms_fused_full", derivation(certified))


@pytest.mark.parametrize("name", ["rmsnorm_linear-R1", "attention-R10"])
def test_the_derivation_of_a_workload_is_a_chain_of_steps(name: str, golden: Callable[..., None]) -> None:
    (entry,) = [e for e in RIGHT if e.name == name]
    done = certify(proved(candidate(program_of(entry.workload), sgraph_of(entry))), Journal())

    golden(f"verify/derivation_{name}", derivation(done))


def test_a_chain_ends_where_the_lemma_ends_and_names_axioms_in_each_line(certified: Verified) -> None:
    for x in certified.proof.lemmas:
        first, *others = equation_chain(x.statement) or (Line(""),)
        assert () == first.axioms
        assert all(line.axioms for line in others)
        assert {name for line in others for name in line.axioms} <= set(x.axioms)


def test_a_derivation_without_lemmas_says_so() -> None:
    assert derivation(proved(named("rms_fused"))).endswith("There is no certificate yet; `certify` makes one.")


def no_derivation(statement: Statement) -> None:
    """As if none had been found."""


def test_a_limit_that_is_hit_is_told_and_not_called_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no derivation is found egglog searches, and a search has limits."""
    monkeypatch.setattr(certificate, "derive", no_derivation)
    done = certify(proved(named("rms_fused")), Journal(), Limits(iterations=1, seconds=30.0))
    missing = [x for x in done.proof.lemmas if not x.replayed]

    assert {"egglog: limit of 1 iterations"} == {x.note for x in missing}
    assert {()} == {x.axioms for x in missing}
    assert "for these the proof rests on the normal form alone" in derivation(done)


def test_a_candidate_that_was_never_equal_gets_no_last_lemma() -> None:
    """Whoever calls a wrong candidate verified finds no certificate for it."""
    done = certify(proved(named("rms_lost_one_over_n_U3")), Journal(), Limits(iterations=6, seconds=30.0))

    assert not done.proof.lemmas[-1].replayed
    assert "goal" == done.proof.lemmas[-1].tensor


def test_obligations_are_stated_in_the_order_of_the_graphs() -> None:
    of = named("rms_two_kernels")

    tensors = [o.tensor for o in obligations(of.family.program, of.sgraph)]

    assert tensors[-2:] == ["k3", "goal"]
    assert tensors.index("k2") < tensors.index("k3.b0")


# ---------------------------------------------------------------- names
N, F, TILE = dim("n"), dim("f"), dim("n/f")
ROW = Var("p0", dim("b"))


def x(*index: Var | Radix) -> Expr:
    return At("x", index)


def test_a_sum_by_tiles_and_a_sum_at_once_run_over_one_axis() -> None:
    outer, inner, whole = Var("s0", F), Var("s1", TILE), Var("s2", N)
    left = Sum(outer, Sum(inner, x(ROW, Radix((outer, inner)))))

    stated = make_statement(left, Sum(whole, x(ROW, whole)))

    assert "(sum k1.hi (sum k1.lo (at x p0 k1)))" in stated.text
    assert '(axis k1 "n" k1.hi k1.lo)' in stated.text
    assert "(right (sum k1 (at x p0 k1)))" in stated.text


def test_two_axes_at_work_in_one_place_get_two_names() -> None:
    a, b, c = Var("s0", N), Var("s1", N), Var("s2", N)
    square = Mul(Sum(a, x(ROW, a)), Sum(a, x(ROW, a)))
    double = Sum(b, Sum(c, Mul(x(ROW, b), x(ROW, c))))

    stated = make_statement(square, double)

    assert "(sum k1 (sum k1~1 (mul (at x p0 k1) (at x p0 k1~1))))" in stated.text
    assert "(renamed (sum k1 (at x p0 k1)) (sum k1~1 (at x p0 k1~1)))" in stated.text


def test_nested_sums_that_do_not_meet_share_a_name() -> None:
    inner, outer = Var("s0", N), Var("s1", N)
    both = Sum(outer, Mul(x(ROW, outer), Sum(inner, x(ROW, inner))))

    assert "(sum k1 (mul (at x p0 k1) (sum k1 (at x p0 k1))))" in make_statement(both, both).text


def test_an_axis_cut_in_two_ways_is_two_axes() -> None:
    tiles = dim("n/g")
    a, b, c, d = Var("s0", F), Var("s1", TILE), Var("s2", dim("g")), Var("s3", tiles)
    left = Sum(a, Sum(b, x(ROW, Radix((a, b)))))
    right = Sum(c, Sum(d, x(ROW, Radix((c, d)))))

    stated = make_statement(left, right)

    names = [axis.name for axis in stated.axes if axis.digits]
    assert ["k1", "k1~1"] == names


def test_an_axis_and_a_pair_at_work_in_one_place_are_two_axes() -> None:
    whole, outer, inner = Var("s0", N), Var("s1", F), Var("s2", TILE)
    pair = Sum(outer, Sum(inner, x(ROW, Radix((outer, inner)))))
    left = Sum(whole, Sum(outer, Mul(x(ROW, whole), Sum(inner, x(ROW, Radix((outer, inner)))))))

    stated = make_statement(left, Mul(Sum(whole, x(ROW, whole)), pair))

    assert "(sum k1 (sum k1~1.hi (mul (at x p0 k1) (sum k1~1.lo (at x p0 k1~1)))))" in stated.text


def test_a_digit_shared_by_two_axes_is_one_coordinate() -> None:
    loop, i, j = Var("s0", F), Var("s1", TILE), Var("s2", TILE)
    body = Mul(x(ROW, Radix((loop, i))), At("y", (ROW, Radix((loop, j)))))
    stated = make_statement(Sum(loop, Sum(i, Sum(j, body))), Sum(loop, Sum(i, Sum(j, body))))

    shared = [a.digits[0] for a in stated.axes if a.digits]
    assert 2 == len(shared)
    assert 1 == len(set(shared))


def test_too_many_axes_of_one_kind_are_not_stated() -> None:
    axes = [Var(f"s{n}", N) for n in range(8)]
    body: Expr = x(ROW, axes[0])
    for a in axes[1:]:
        body = Mul(body, x(ROW, a))
    for a in axes:
        body = Sum(a, body)

    with pytest.raises(CannotState, match="axes run over one dim at once"):
        make_statement(body, body)


def test_a_statement_reads_back_as_the_checker_reads_it() -> None:
    a = Var("s0", N)
    stated = make_statement(Sum(a, Add(x(ROW, a), x(ROW, a))), Sum(a, x(ROW, a)))

    reading = ParsedLemma(read(stated.text))

    assert ("sum", "k1", ("add", ("at", "x", "p0", "k1"), ("at", "x", "p0", "k1"))) == reading.left
    assert {"p0": dim("b"), "k1": N} == reading.extents


def test_a_cut_that_can_only_be_one_is_one_in_the_certificate_too():
    """A slice of a tile that is as long as the whole dim leaves the grid no other number; blocks do not race then."""
    b = ProgramBuilder("halves_exchanged")
    x = b.input("x", "b", 64)
    program = b.build(b.concat(b.slice(x, 1, 32, 64), b.slice(x, 1, 0, 32), 1))
    graph = parse(
        """sgraph
  x = input f32[b, 64]
  %1 = custom(x) grid[x=gx, y=gy]
    %0 = load(0, imap=[1, 0])
    %1 = slice(%0, dim=1, start=32, stop=64)
    %2 = slice(%0, dim=1, start=0, stop=32)
    %3 = concat(%1, %2, dim=1)
    %4 = store(%3, omap=[-, 0])
  return %1"""
    )
    lemmas = certify(proved(candidate(program, graph)), Journal()).proof.lemmas

    assert 9 == len(lemmas)
    assert [] == [x.tensor for x in lemmas if not x.replayed]
