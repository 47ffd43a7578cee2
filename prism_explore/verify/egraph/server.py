"""The process that talks to egglog: one request per line in, one or more answers per line out.

    python -m prism_explore.verify.egraph.server MEMORY_BYTES

One iteration of egglog cannot be interrupted and may ask for all memory there is, and where it panics it
raises what `except Exception` does not catch. Here none of this can hurt anybody: the process has a memory
limit, and whoever asked (`rewriter.Rewriter`) may kill it. What is asked and answered: `egraph`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from types import ModuleType
from typing import Any


def leave_out_the_rest_of_egglog() -> None:
    """Make `from egglog import bindings` load the bindings alone.

    The package's own first lines load a code formatter, IPython and telemetry for its high-level
    interface; without them a process is ready in a tenth of the time.
    """
    found = importlib.util.find_spec("egglog")
    if found is not None and found.submodule_search_locations is not None:
        package = ModuleType("egglog")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["egglog"] = package


def main() -> None:
    """Say that it is ready, then answer until the requests end."""
    if len(sys.argv) > 1:
        import resource

        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers

    def write(part: dict[str, Any]) -> None:
        answers.write(json.dumps(part) + "\n")
        answers.flush()

    leave_out_the_rest_of_egglog()
    from prism_explore.verify.egraph.engine import Library, answer

    library = Library()
    write({"ready": True})
    for line in sys.stdin:
        try:
            for part in answer(json.loads(line), library):
                write(part)
        except BaseException as error:  # egglog's panics are no Exceptions
            write({"done": {"stop": "crashed", "detail": f"{type(error).__name__}: {error}"[:500]}})


if __name__ == "__main__":
    main()
