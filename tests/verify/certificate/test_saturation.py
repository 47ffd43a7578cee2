"""egglog in a process of its own: it says why it stopped, and nothing it does can hurt the caller."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

import prism_explore.verify.egraph.client as client_module
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import SaturationStepped
from prism_explore.ir.dims import dim
from prism_explore.verify.certificate.expressions import (
    Add,
    At,
    Call,
    Exp,
    Expr,
    FreshAxes,
    Inv,
    Mul,
    Num,
    Sqrt,
    from_normal_form,
)
from prism_explore.verify.certificate.lemma import Statement, make_statement
from prism_explore.verify.certificate.saturation import prove_equal, search_problem
from prism_explore.verify.egraph.client import GRACE_S, STARTING_S, EgglogClient, Pool, Problem
from prism_explore.verify.egraph.limits import (
    Crashed,
    IterationLimit,
    Limits,
    MemoryLimit,
    NodeLimit,
    Proved,
    Saturated,
    TimeLimit,
    explain,
)
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.lower_graph import lower
from tests.verify.corpus import CASES, PROGRAMS, Case

LETTERS = tuple(At(c, ()) for c in "abcdefghijkl")
A, B, C = LETTERS[:3]
PLENTY = Limits(seconds=30.0)


@pytest.fixture(scope="module")
def client() -> Iterator[EgglogClient]:
    with EgglogClient() as r:
        yield r


def goal(left: Expr, right: Expr) -> Problem:
    return search_problem(Statement((), left, right))


def explosive() -> Problem:
    """A sum of twelve terms, squared, against something it is not equal to."""
    total = LETTERS[0]
    for letter in LETTERS[1:]:
        total = Add(total, letter)
    return goal(Mul(Mul(total, total), Mul(total, total)), LETTERS[0])


def test_two_sides_that_meet_are_proved(client: EgglogClient) -> None:
    run = client.prove(goal(Mul(A, Add(B, C)), Add(Mul(C, A), Mul(B, A))), PLENTY)

    assert run.stop == Proved()
    assert run.equal


def test_iteration_0_is_what_was_put_in(client: EgglogClient) -> None:
    first = client.prove(goal(Mul(A, B), C), PLENTY).steps[0]

    assert (0, 4, 4, ()) == (first.iteration, first.nodes, first.classes, first.matches)


def test_equal_texts_need_no_iteration(client: EgglogClient) -> None:
    assert len(client.prove(goal(A, A), PLENTY).steps) == 1


def test_saturation_is_told_from_a_limit(client: EgglogClient) -> None:
    assert client.prove(goal(Mul(A, B), C), PLENTY).stop == Saturated()


def test_the_iteration_limit_holds(client: EgglogClient) -> None:
    run = client.prove(explosive(), Limits(iterations=2, seconds=30.0))

    assert run.stop == IterationLimit(2)
    assert [0, 1, 2] == [s.iteration for s in run.steps]


def test_the_node_limit_holds(client: EgglogClient) -> None:
    run = client.prove(explosive(), Limits(iterations=50, nodes=500, seconds=30.0))

    assert run.stop == NodeLimit(500)
    assert run.steps[-1].nodes > 500 >= run.steps[-2].nodes


def test_the_time_limit_holds_even_inside_an_iteration() -> None:
    with EgglogClient() as r:
        r.prove(goal(A, A), PLENTY)
        began = cpu_of_children()
        run = r.prove(explosive(), Limits(iterations=10**6, nodes=10**9, seconds=0.3))
        took = cpu_of_children() - began

    assert run.stop == TimeLimit(0.3)
    assert took < 0.3 + GRACE_S + 2.0, "its start is part of it"


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_process_that_others_keep_from_working_is_waited_for() -> None:
    with EgglogClient() as r:
        assert r.prove(goal(A, A), PLENTY).equal
        assert r.pid is not None
        os.kill(r.pid, signal.SIGSTOP)
        again = threading.Timer(0.2 + GRACE_S + 0.5, os.kill, (r.pid, signal.SIGCONT))
        again.start()
        run = r.prove(goal(A, A), Limits(seconds=0.2))
        again.join()

    assert run.equal


def test_the_memory_limit_holds() -> None:
    limits = Limits(iterations=10**6, nodes=10**9, seconds=60.0, memory_bytes=300 << 20)
    with EgglogClient(limits.memory_bytes) as r:
        run = r.prove(explosive(), limits)

    assert run.stop == MemoryLimit(300 << 20)


def test_a_text_that_egglog_refuses_ends_the_run_and_not_the_process(client: EgglogClient) -> None:
    run = client.prove(Problem("(nonsense", "(At 1)", ""), PLENTY)

    assert isinstance(run.stop, Crashed)
    assert client.prove(goal(A, A), PLENTY).equal


def test_a_panic_ends_the_run_and_not_the_process(client: EgglogClient) -> None:
    run = client.prove(Problem("(prove (= 1 1))", '(At "a")', '(At "a")'), PLENTY)

    assert isinstance(run.stop, Crashed)
    assert client.prove(goal(A, A), PLENTY).equal


def test_a_process_that_was_killed_is_started_anew() -> None:
    with EgglogClient() as r:
        assert r.prove(explosive(), Limits(iterations=10**6, nodes=10**9, seconds=0.2)).stop == TimeLimit(0.2)
        assert r.prove(goal(A, A), PLENTY).equal


def test_a_process_that_dies_before_its_first_question_is_told_and_started_anew() -> None:
    with EgglogClient() as r:
        r.start()
        assert r.pid is not None
        os.kill(r.pid, signal.SIGKILL)
        assert isinstance(r.prove(goal(A, A), PLENTY).stop, Crashed)
        assert r.prove(goal(A, A), PLENTY).equal


def test_each_reason_to_stop_is_a_sentence() -> None:
    assert "limit of 12 iterations" == explain(IterationLimit(12))
    assert "limit of 20000 e-nodes" == explain(NodeLimit(20000))
    assert "limit of 0.5 s" == explain(TimeLimit(0.5))
    assert "limit of 3072 MiB of memory" == explain(MemoryLimit(3 << 30))


def test_axioms_that_are_not_needed_are_left_out(client: EgglogClient) -> None:
    run = client.minimize(goal(Mul(A, Add(B, C)), Add(Mul(A, C), Mul(A, B))), PLENTY)

    assert ("add commutes", "distribute") == run.axioms


def test_what_is_left_suffices_and_nothing_of_it_can_go(client: EgglogClient) -> None:
    this = goal(Mul(Sqrt(Exp(A)), Sqrt(Exp(A))), Mul(Num(Fraction(1)), Inv(Inv(Exp(A)))))
    kept = client.minimize(this, PLENTY).axioms

    assert client.prove(this, PLENTY, kept).equal
    assert not any(client.prove(this, PLENTY, tuple(k for k in kept if k != name)).equal for name in kept[1:])


def test_two_runs_take_the_same_steps(client: EgglogClient) -> None:
    def steps() -> object:
        return client.prove(explosive(), Limits(iterations=3, seconds=30.0)).steps

    assert steps() == steps()


def test_time_is_up_when_it_is_up_also_for_a_process_that_had_to_start() -> None:
    """One iteration of this goal takes longer than any patience: x/x = 1 for x = relu(a), which may be 0."""
    relu = Call("relu", A)
    quotient = goal(Mul(relu, Inv(relu)), Num(Fraction(1)))
    limits = Limits(iterations=50, nodes=10**6, seconds=0.5)

    with EgglogClient() as r:
        for _ in range(2):
            started = cpu_of_children()
            run = r.prove(quotient, limits)
            assert run.stop == TimeLimit(0.5)
            assert cpu_of_children() - started < 0.5 + GRACE_S + STARTING_S / 2


# ---------------------------------------------------------------- normal forms


def test_forms_that_spell_silu_differently_are_proved_equal_and_noted() -> None:
    algebra = Algebra()
    x = algebra.read("x", (dim("n"),))
    named = algebra.apply("silu", x)
    spelled = algebra.mul(x, algebra.power(algebra.add(algebra.constant(1), algebra.exp(algebra.scale(x, -1))), -1))
    journal = Journal()

    run = prove_equal(named, spelled, PLENTY, journal, "f1.c1")

    assert named != spelled
    assert run.stop == Proved()
    noted = [e for e in journal.events if isinstance(e, SaturationStepped)]
    assert [s.iteration for s in run.steps if s.iteration] == [e.iteration for e in noted]
    assert {"f1.c1"} == {e.subject for e in noted}
    assert noted[0].matches


def test_forms_that_differ_are_not_proved_equal() -> None:
    algebra = Algebra()
    x = algebra.read("x", (dim("n"),))

    run = prove_equal(algebra.apply("silu", x), algebra.apply("relu", x), PLENTY)

    assert run.stop == Saturated()


def test_what_cannot_be_stated_is_not_tried() -> None:
    algebra = Algebra()
    cube_root = algebra.power(algebra.exp(algebra.read("x", (dim("n"),))), Fraction(1, 3))
    third = algebra.power(algebra.size(dim("n")), Fraction(1, 3))

    run = prove_equal(third, cube_root, PLENTY)

    assert "exponent 1/3 is not made of square roots" == explain(run.stop)
    assert () == run.steps


def stated_forms(case: Case) -> Problem | None:
    """The two results' normal forms as a goal; None where there is a race and so no form."""
    algebra, program = Algebra(), PROGRAMS[case.program].graph
    try:
        goal_form = lower(program, algebra).values[program.output]
        found = lower(case.sgraph, algebra).values[case.sgraph.output]
    except NoNormalForm:
        return None
    fresh = FreshAxes()
    return search_problem(make_statement(from_normal_form(found, fresh), from_normal_form(goal_form, fresh)))


@pytest.mark.parametrize("case", [c for c in CASES if not c.right], ids=lambda c: c.name)
def test_a_wrong_candidate_is_not_proved(case: Case, client: EgglogClient) -> None:
    this = stated_forms(case)

    assert this is None or not client.prove(this, Limits(iterations=8, nodes=4000, seconds=30.0)).equal


# ---------------------------------------------------------------- the caller's process
def test_the_callers_process_never_loads_egglog() -> None:
    script = (
        "import os, sys; before = dict(os.environ)\n"
        "from prism_explore.verify.egraph.client import EgglogClient, Limits, Problem\n"
        "with EgglogClient() as r:\n"
        "    print(r.prove(Problem('', '(At \"a\")', '(At \"a\")'), Limits(seconds=30.0)).equal)\n"
        "print('egglog' in sys.modules, dict(os.environ) == before)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ["True", "False True"] == ran.stdout.splitlines()


def test_closing_ends_the_process() -> None:
    r = EgglogClient()
    r.prove(goal(A, A), PLENTY)
    pid = r.pid
    assert pid is not None

    r.close()

    assert r.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# ---------------------------------------------------------------- processes that are kept
def test_a_process_that_was_lent_is_lent_again() -> None:
    pool = Pool()
    with pool.lease() as first:
        assert first.prove(goal(A, A), PLENTY).equal
    with pool.lease() as again:
        assert first is again
        assert first.pid == again.pid is not None
    pool.close()
    assert first.pid is None


def test_two_callers_at_once_get_two_processes() -> None:
    pool = Pool()
    with pool.lease() as first, pool.lease() as second:
        assert first is not second
        assert first.prove(goal(A, A), PLENTY).equal
        assert second.prove(goal(A, A), PLENTY).equal
    pool.close()


def test_threads_do_not_meet_in_one_process() -> None:
    pool = Pool(kept=1)
    told: list[bool] = []

    def ask() -> None:
        with pool.lease() as r:
            told.append(r.prove(goal(Mul(A, B), Mul(B, A)), PLENTY).equal)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    pool.close()

    assert [True] * 4 == told


def test_no_more_processes_wait_than_are_to_be_kept() -> None:
    pool = Pool(kept=1)
    with pool.lease() as first, pool.lease() as second:
        for r in (first, second):
            r.prove(goal(A, A), PLENTY)
    assert 1 == sum(r.pid is not None for r in (first, second))
    pool.close()


def test_a_process_that_was_killed_comes_back_to_the_pool_and_works() -> None:
    pool = Pool()
    with pool.lease() as r:
        assert r.prove(explosive(), Limits(iterations=10**6, nodes=10**9, seconds=0.2)).stop == TimeLimit(0.2)
    with pool.lease() as r:
        assert r.prove(goal(A, A), PLENTY).equal
    pool.close()


def test_a_process_is_replaced_when_it_has_answered_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_REQUESTS", 1)
    pool = Pool()
    with pool.lease() as first:
        first.prove(goal(A, A), PLENTY)
    assert first.pid is None
    pool.close()


def test_the_last_resort_costs_milliseconds_once_a_process_waits() -> None:
    algebra = Algebra()
    x = algebra.read("x", (dim("n"),))
    forms = algebra.apply("silu", x), algebra.apply("relu", x)
    prove_equal(*forms, PLENTY)

    began = time.monotonic()
    prove_equal(*forms, PLENTY)

    assert time.monotonic() - began < 0.5


def test_an_interpreter_that_ends_leaves_no_process() -> None:
    script = (
        "from prism_explore.verify.egraph.client import shared_client, Problem\n"
        "from prism_explore.verify.egraph.limits import Limits\n"
        "with shared_client() as r:\n"
        "    r.prove(Problem('', '(At \"a\")', '(At \"a\")'), Limits(seconds=30.0))\n"
        "    print(r.pid)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    with pytest.raises(ProcessLookupError):
        os.kill(int(ran.stdout), 0)


def test_an_equation_under_a_root_gets_its_hints(client: EgglogClient) -> None:
    """√(x²/5120) = √5/160 √(x²) needs 5120 = 1024 * 5, which no axiom comes up with."""
    square = Mul(A, A)
    left = Sqrt(Mul(Num(Fraction(1, 5120)), square))
    right = Mul(Mul(Num(Fraction(1, 160)), Sqrt(Num(Fraction(5)))), Sqrt(square))

    assert client.prove(search_problem(make_statement(left, right)), PLENTY).equal
    assert not client.prove(goal(left, right), PLENTY).equal
