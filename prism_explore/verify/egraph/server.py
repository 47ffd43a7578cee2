"""The egglog process: JSON requests on standard input, JSON answers on standard output, one on each line.

    python -m prism_explore.verify.egraph.server MEMORY_BYTES

The first line is the table of axioms and conditions; the others are requests as in `engine`. It is a process of its own
because an iteration of egglog cannot be interrupted, may use all memory, and raises no `Exception` where it panics. The
process has a memory limit, and the client may kill it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from types import ModuleType
from typing import Any


def import_egglog_bindings_only() -> None:
    """Make `from egglog import bindings` load the bindings only.

    The package also imports a code formatter, IPython and telemetry for its high-level interface; without them the
    process starts in a tenth of the time.
    """
    found = importlib.util.find_spec("egglog")
    if found is not None and found.submodule_search_locations is not None:
        package = ModuleType("egglog")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["egglog"] = package


def main() -> None:
    """Read the table, report that it is ready, then answer requests until standard input ends."""
    if len(sys.argv) > 1:
        import resource

        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # so that the output of a library does not mix with the answers

    def write(part: dict[str, Any]) -> None:
        answers.write(json.dumps(part) + "\n")
        answers.flush()

    import_egglog_bindings_only()  # and not `axioms`, whose tables load numpy: the client sends the rows
    from prism_explore.verify.egraph.engine import RuleLibrary, answer

    library = RuleLibrary.of(json.loads(sys.stdin.readline()))
    write({"ready": True})
    for line in sys.stdin:
        try:
            for part in answer(json.loads(line), library):
                write(part)
        except BaseException as error:  # egglog's panics are no Exceptions
            write({"done": {"stop": "crashed", "detail": f"{type(error).__name__}: {error}"[:500]}})


if __name__ == "__main__":
    main()
