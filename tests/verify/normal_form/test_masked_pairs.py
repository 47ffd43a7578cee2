"""Small programs under masks that are equal, and each a wrong one beside it: pieces, maxima, and several masks.

Every pair is proved and its certificate replays in full; every wrong one is not proved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, Family, Refuted, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.prover import Prover

QKV = "q: h, s, d; k: h, d, s; v: h, s, e"
CACHED = "q: h, s, d; old: h, d, c; k: h, d, s; v: h, c, e; w: h, s, e"
MASKED = "x: b, n; m: b, n"
TWO = "x: b, n; y: b, k; m: b, n; l: b, k"
SEEN = "$keep = band(rows=s, columns=s, high=0, dtype=f32)"


@dataclass(frozen=True)
class Pair:
    """Two graphs in lines that end with semicolons; the last name is the result."""

    inputs: str
    program: str
    right: str
    wrong: str


def graph(inputs: str, text: str) -> str:
    """The text form, names that begin with a dollar as positions."""
    given = [line.split(":") for line in inputs.split(";")]
    lines = [f"{name.strip()} = input f32[{dims.strip()}]" for name, dims in given]
    names: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.split(";"))):
        name, right = line.split(" = ", 1)
        right = re.sub(r"\$\w+", lambda found: names[found.group()], right)
        names[name] = f"%{len(lines)}"
        lines.append(f"{names[name]} = {right}")
    return "\n  ".join([*lines, f"return %{len(lines) - 1}"])


def candidate(pair: Pair, text: str) -> tuple[TensorProgram, Candidate]:
    program = parse_program(f"program p\n  {graph(pair.inputs, pair.program)}")
    sgraph = parse(f"sgraph\n  {graph(pair.inputs, text)}")
    return program, Candidate("f1.c1", Family("f1", program, sgraph), sgraph, (), sgraph.conditions())


def softmax(scores: str, values: str) -> str:
    """With a maximum taken off."""
    return (
        f"$m = max({scores}, dim=2); $d = sub({scores}, $m); $e = exp($d); $z = sum($e, dim=2); "
        f"$n = matmul($e, {values}); $o = div($n, $z)"
    )


def plain(scores: str, values: str) -> str:
    """The same without a maximum."""
    return f"$e = exp({scores}); $z = sum($e, dim=2); $n = matmul($e, {values}); $o = div($n, $z)"


SCORES = f"$s = matmul(q, k); {SEEN}; $t = mask($s, $keep)"
TWO_SCORES = f"$s = matmul(q, old); $r = matmul(q, k); {SEEN}; $t = mask($r, $keep)"
JOINED = f"{TWO_SCORES}; $all = concat($s, $t, dim=2); $vw = concat(v, w, dim=1); {softmax('$all', '$vw')}"
APART = (
    f"{TWO_SCORES}; $a = max($s, dim=2); $b = max($t, dim=2); $m = max($a, $b); "
    "$d = sub($s, $m); $f = sub($t, $m); $e = exp($d); $g = exp($f); $y = sum($e, dim=2); $z = sum($g, dim=2); "
    "$l = add($y, $z); $i = matmul($e, v); $j = matmul($g, w); $n = add($i, $j); $o = div($n, $l)"
)
CUT = "$a = slice($t, dim={dim}, start=0, stop=s/2); $b = slice($t, dim={dim}, start=s/2, stop=s); $c = concat({order})"
SIDES = "$s = mask(x, m); $t = mask(y, l); $c = concat($s, $t, dim=1); "
WEIGHTS = "$e = exp($c); $z = sum($e, dim=1); $o = div($e, $z)"
ROWS = "$s = mask(x, m); $m = max($s, dim=1); "
BELOW = f"{ROWS}$d = sub($s, $m); $o = exp($d)"

PAIRS: dict[str, Pair] = {
    "new keys masked beside those in a cache, the two apart": Pair(
        CACHED,
        JOINED,
        APART,
        APART.replace("$g = exp($f)", "$g = exp($d)").replace("$j = matmul($g, w)", "$j = matmul($e, v)"),
    ),
    "new keys masked beside those in a cache, one mask for both": Pair(
        CACHED,
        JOINED,
        "$kk = concat(old, k, dim=2); $s = matmul(q, $kk); $keep = band(rows=s, columns=c+s, high=c, dtype=f32); "
        f"$t = mask($s, $keep); $vw = concat(v, w, dim=1); {plain('$t', '$vw')}",
        "$kk = concat(old, k, dim=2); $s = matmul(q, $kk); $keep = band(rows=s, columns=c+s, high=0, dtype=f32); "
        f"$t = mask($s, $keep); $vw = concat(v, w, dim=1); {plain('$t', '$vw')}",
    ),
    "masked scores cut along the keys and joined": Pair(
        QKV,
        f"{SCORES}; {softmax('$t', 'v')}",
        f"{SCORES}; {CUT.format(dim=2, order='$a, $b, dim=2')}; {softmax('$c', 'v')}",
        f"{SCORES}; {CUT.format(dim=2, order='$b, $a, dim=2')}; {softmax('$c', 'v')}",
    ),
    "masked scores cut along the queries and joined": Pair(
        QKV,
        f"{SCORES}; {plain('$t', 'v')}",
        f"{SCORES}; {CUT.format(dim=1, order='$a, $b, dim=1')}; {softmax('$c', 'v')}",
        f"{SCORES}; {CUT.format(dim=1, order='$b, $a, dim=1')}; {softmax('$c', 'v')}",
    ),
    "two masks side by side are one": Pair(
        TWO,
        f"{SIDES}{WEIGHTS}",
        f"$xy = concat(x, y, dim=1); $ml = concat(m, l, dim=1); $c = mask($xy, $ml); {WEIGHTS}",
        f"$xy = concat(x, y, dim=1); $ml = concat(l, m, dim=1); $c = mask($xy, $ml); {WEIGHTS}",
    ),
    "scaled side by side": Pair(
        TWO,
        f"{SIDES}$d = mul_scalar($c, 1/8); $o = exp($d)",
        "$x = mul_scalar(x, 1/8); $y = mul_scalar(y, 1/8); $s = mask($x, m); $t = mask($y, l); "
        "$e = exp($s); $f = exp($t); $o = concat($e, $f, dim=1)",
        "$x = mul_scalar(x, 1/8); $s = mask($x, m); $t = mask(y, l); "
        "$e = exp($s); $f = exp($t); $o = concat($e, $f, dim=1)",
    ),
    "masked beside what is not": Pair(
        TWO,
        "$s = mask(x, m); $c = concat($s, y, dim=1); $o = max($c, dim=1)",
        "$s = mask(x, m); $a = max($s, dim=1); $b = max(y, dim=1); $o = max($a, $b)",
        "$t = mask(y, l); $a = max(x, dim=1); $b = max($t, dim=1); $o = max($a, $b)",
    ),
    "one of two masks is what both keep": Pair(
        "x: b, n; m: b, n; l: b, n",
        "$s = mask(x, m); $t = mask($s, l); $o = max($t, dim=1)",
        "$k = mul(m, l); $t = mask(x, $k); $o = max($t, dim=1)",
        "$k = add(m, l); $t = mask(x, $k); $o = max($t, dim=1)",
    ),
    "a window is a causal mask and another": Pair(
        QKV,
        "$s = matmul(q, k); $keep = band(rows=s, columns=s, low=-3, high=0, dtype=f32); $t = mask($s, $keep); "
        f"{plain('$t', 'v')}",
        f"{SCORES}; $back = band(rows=s, columns=s, low=-3, dtype=f32); $u = mask($t, $back); {softmax('$u', 'v')}",
        f"{SCORES}; $back = band(rows=s, columns=s, low=-2, dtype=f32); $u = mask($t, $back); {softmax('$u', 'v')}",
    ),
    "no entry is above the maximum": Pair(
        MASKED,
        BELOW,
        f"{ROWS}$l = min($s, $m); $d = sub($l, $m); $o = exp($d)",
        f"{ROWS}$l = min($s, $m); $o = exp($l)",
    ),
    "the maximum is above no entry": Pair(
        MASKED,
        BELOW,
        f"{ROWS}$l = max($s, $m); $d = sub($s, $l); $o = exp($d)",
        f"{ROWS}$l = max($s, $m); $d = sub($l, $m); $o = exp($d)",
    ),
    "a difference from the maximum is not above 0": Pair(
        MASKED,
        BELOW,
        f"{ROWS}$d = sub($s, $m); $l = min_scalar($d, 0); $o = exp($l)",
        f"{ROWS}$d = sub($s, $m); $l = min_scalar($d, -1); $o = exp($l)",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_equal_is_proved_and_every_lemma_replayed(name: str) -> None:
    program, right = candidate(PAIRS[name], PAIRS[name].right)

    verdict = Prover(program, saturation=None).verify(right, Journal())

    assert isinstance(verdict, Verified), verdict
    lemmas = certify(verdict, Journal()).proof.lemmas
    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_not_is_refuted(name: str) -> None:
    program, wrong = candidate(PAIRS[name], PAIRS[name].wrong)

    verdict = Prover(program, saturation=None).verify(wrong, Journal())

    assert isinstance(verdict, Refuted), verdict
