"""The harness itself: a trivial notebook runs from end to end, offline, and failures are seen."""

from __future__ import annotations

import sys

import pytest

from tests.browser.lab import CellError, Lab, LabPage

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]


def test_a_notebook_runs_from_end_to_end_in_the_python_of_the_tests(lab: Lab, lab_page: LabPage) -> None:
    name = lab.write_notebook("sum.ipynb", ["import sys\na = 20 + 1", "print('twice', 2 * a)"])
    lab_page.open(name)
    lab_page.run_all()

    assert lab_page.wait_for_output("twice 42").inner_text().strip() == "twice 42"
    assert lab_page.python("a") == "21"
    assert lab_page.python("print(sys.prefix, end='')") == sys.prefix
    assert lab_page.page_errors == []


def test_a_widget_is_drawn_and_its_clicks_reach_python(lab: Lab, lab_page: LabPage) -> None:
    source = """
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
      const button = document.createElement('button');
      button.id = 'counter';
      const draw = () => { button.textContent = 'clicks: ' + model.get('clicks'); };
      button.onclick = () => { model.set('clicks', model.get('clicks') + 1); model.save_changes(); };
      model.on('change:clicks', draw);
      draw();
      el.append(button);
    } };
    '''
    clicks = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
"""
    name = lab.write_notebook("counter.ipynb", [source])
    lab_page.open(name)
    lab_page.run_all()
    button = lab_page.page.locator("#counter")
    button.click()
    button.filter(has_text="clicks: 1").wait_for()

    assert lab_page.python("counter.clicks") == "1"
    lab_page.python("counter.clicks = 7")
    button.filter(has_text="clicks: 7").wait_for()


def test_a_cell_that_raises_fails_the_test(lab: Lab, lab_page: LabPage) -> None:
    name = lab.write_notebook("raises.ipynb", ["1 / 0", "2"])
    lab_page.open(name)

    with pytest.raises(CellError, match="ZeroDivisionError"):
        lab_page.run_all()


def test_a_request_that_leaves_the_server_is_written_down(lab: Lab, lab_page: LabPage) -> None:
    lab_page.page.goto(f"{lab.address}/login")
    lab_page.page.evaluate("() => fetch('http://outside.invalid/').catch(() => undefined)")
    seen = list(lab_page.left_the_server)
    lab_page.left_the_server.clear()

    assert seen == ["http://outside.invalid/"]
