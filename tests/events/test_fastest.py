"""Who is called: decided by the rows of one run, for torch only beyond the noise, the same for the same rows."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.claim import claim
from prism_explore.events.fastest import CALLABLE, COMPILED, EAGER, LIBRARY, OURS, ROOFLINE, find_faster_baseline
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured, Event
from prism_explore.events.ledger import ledger
from prism_explore.tune.runner.baseline_table import AUTOTUNED
from prism_explore.tune.runner.timing import quantile, ratios
from prism_explore.widgets.panels.context import Folds, ViewState, search_info
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.tables import baselines_table
from prism_explore.widgets.views.tuning import tuning_scene
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import story


def rows(**times_us: list[float]) -> list[BaselineMeasured]:
    """What a run with these times per round notes; the names are those of `NAMES`."""
    ours = times_us["ours"]
    found: list[BaselineMeasured] = []
    for name, times in times_us.items():
        to = ratios(times, ours)
        spread = (median(to), quantile(to, 0.25), quantile(to, 0.75))
        found.append(BaselineMeasured(NAMES[name], median(times) * 1e-6, 0.0, 0.0, len(times), "", *spread))
    return found


NAMES = {
    "ours": OURS,
    "eager": EAGER,
    "compiled": COMPILED,
    "frozen": AUTOTUNED,
    "library": LIBRARY,
    "roofline": ROOFLINE,
}
STEADY = [100.0] * 8


@pytest.mark.parametrize(
    ("eager", "wins"),
    [
        ([80.0] * 8, True),
        ([99.0] * 8, True),  # a little, in every round
        ([80.0] * 7 + [300.0], True),  # one bad round is noise
        ([80.0] * 5 + [130.0] * 3, False),  # faster in the median, not beyond the noise
        ([100.0] * 8, False),  # a tie
        ([120.0] * 8, False),
    ],
)
def test_torch_is_called_where_it_was_faster_in_three_quarters_of_the_rounds(eager: list[float], wins: bool) -> None:
    found = find_faster_baseline(rows(ours=STEADY, eager=eager))

    assert wins == (found is not None)
    if found is not None:
        assert EAGER == found.baseline.name
        assert 1e-4 == pytest.approx(found.kernel_s)


def test_the_fastest_of_torch_s_ways_is_called_and_says_by_how_much() -> None:
    found = find_faster_baseline(rows(ours=STEADY, eager=[80.0] * 8, compiled=[50.0] * 8))

    assert found is not None
    said = "torch.compile took 50 µs and the kernel 100 µs in one run, 0.50 times as long"
    assert f"{said} (0.50 to 0.50 in half of the rounds)" == str(found)


def test_what_a_call_cannot_run_is_not_called() -> None:
    fast = [50.0] * 8

    assert find_faster_baseline(rows(ours=STEADY, frozen=fast, roofline=fast)) is None


def test_a_library_call_that_was_faster_is_called_where_its_code_is_at_hand() -> None:
    found = rows(ours=STEADY, eager=[80.0] * 8, library=[50.0] * 8)
    best, without = find_faster_baseline(found), find_faster_baseline(found, available=(EAGER, COMPILED))

    assert best is not None and LIBRARY == best.baseline.name
    assert without is not None and EAGER == without.baseline.name


def test_without_times_the_kernel_is_called() -> None:
    assert find_faster_baseline(()) is None
    assert find_faster_baseline([BaselineMeasured(EAGER, 1e-6, 1e-6, 1e-6, 24)]) is None
    assert (
        find_faster_baseline([BaselineMeasured(n, 0.0, 0.0, 0.0, 0, "no compiler") for n in (OURS, *CALLABLE)]) is None
    )


def test_more_can_be_asked_of_the_kernel_and_less() -> None:
    slower, faster = rows(ours=STEADY, eager=[80.0] * 8), rows(ours=STEADY, eager=[150.0] * 8)

    assert find_faster_baseline(slower, 0.0) is None
    assert find_faster_baseline(faster) is None
    assert find_faster_baseline(faster, 2.0) is not None


TIMES = st.lists(st.integers(1, 40).map(float), min_size=12, max_size=12)


@given(TIMES, TIMES, TIMES)
def test_whoever_is_called_was_not_slower_and_nobody_called_was_clearly_faster(
    ours: list[float], eager: list[float], compiled: list[float]
) -> None:
    found = find_faster_baseline(rows(ours=ours, eager=eager, compiled=compiled))
    # The plain truth counts rounds; the quartile lies between the ninth and the tenth of twelve.
    won = {
        name: sum(t < o for t, o in zip(times, ours, strict=True))
        for name, times in ((EAGER, eager), (COMPILED, compiled))
    }
    if found is None:
        assert all(n <= 9 for n in won.values())
    else:
        assert won[found.baseline.name] >= 9
        assert found.baseline.ratio < 1
    assert found == find_faster_baseline(reversed(rows(ours=ours, eager=eager, compiled=compiled)))


# ---------------------------------------------------------------- wherever the best is shown
SLOWER = (*story(), *rows(ours=STEADY, eager=[80.0] * 8))
FASTER = (*story(), *rows(ours=STEADY, eager=[120.0] * 8))
SAID = "torch eager took 80 µs and the kernel 100 µs in one run, 0.80 times as long"


def test_claim_table_and_picture_say_that_torch_is_called() -> None:
    book = ledger(SLOWER)

    assert book.faster_baseline is not None and EAGER == book.faster_baseline.baseline.name
    assert f"Torch was faster beside it: {SAID}" in claim(SLOWER)
    assert f"Torch was faster: {SAID}" in tuning_scene(ledger(SLOWER)).desc
    assert ["faster: best() runs it"] == [row[-1] for row in baselines_table(book).rows if row[0] == EAGER]


def test_the_explorer_says_it_beside_the_time() -> None:
    def shown(facts: tuple[Event, ...]) -> str:
        folds, journal = Folds(), Journal(clock=lambda: 0.0)
        for fact in facts:
            folds.add(journal.append(fact))
        return sections(search_info(FakeSession()), folds, ViewState()).result.sentence

    assert "torch eager was faster, so best() runs it" in shown(SLOWER)
    assert "best() runs it" not in shown(FASTER)


def test_where_the_kernel_was_faster_nothing_of_this_is_said() -> None:
    book = ledger(FASTER)

    assert book.faster_baseline is None
    assert "Torch was faster" not in claim(FASTER) + tuning_scene(ledger(FASTER)).desc
    assert [""] == [row[-1] for row in baselines_table(book).rows if row[0] == EAGER]
