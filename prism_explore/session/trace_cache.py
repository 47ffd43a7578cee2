"""Stored traces: the program of a torch function that was traced before is read from a file.

Tracing a function imports most of torch, which takes seconds; reading a file takes a millisecond. A trace is stored for
functions whose identity is known (`frontend/code_identity.py`) and whose arguments are tensors by position. The name of
the file is a digest of the function, the types of its inputs, the versions of Python and torch, and the code of this
package. A file that is damaged is not used, and written anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prism_explore.errors import PrismError
from prism_explore.frontend import Binding, Traced
from prism_explore.frontend.code_identity import code_identity
from prism_explore.frontend.export import tensor_type
from prism_explore.ir.text import parse_program, show
from prism_explore.session.code_digest import code_digest, digest_of, version_of
from prism_explore.session.small_files import TRACES, SmallFiles


class TraceCache:
    """The traces in one folder."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read or created yet.

        Args:
            folder: of the files; it is created when the first trace is stored.
        """
        self._files = SmallFiles(folder, TRACES)

    def find(self, code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None) -> Traced | None:
        """The stored trace of a function; None if there is none.

        Args:
            code: the function.
            inputs: per argument its type or an example tensor.
            name: of the program; by default that of the function.
        """
        digest = _digest(code, inputs, name)
        text = None if digest is None else self._files.find(digest)
        if text is None:
            return None
        try:
            return read_trace(text, code)
        except (ValueError, PrismError):
            return None

    def store(self, traced: Traced, code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None) -> None:
        """Store a trace, if its function has an identity; arguments are those of `find`."""
        is_plain = traced.form is None and traced.call is None and not traced.parameters and traced.operators
        digest = _digest(code, inputs, name) if is_plain else None
        if digest is not None:
            self._files.store(digest, trace_text(traced))


def _digest(code: Callable[..., Any], inputs: Mapping[str, Any], name: str | None) -> str | None:
    """What names the file of a trace; None for a function without an identity."""
    identity = code_identity(code)
    if identity is None:
        return None
    types = [[argument, str(tensor_type(given, argument))] for argument, given in inputs.items()]
    called = getattr(getattr(code, "func", code), "__name__", "")
    versions = [sys.version, version_of("torch")]
    return digest_of([identity, types, name, called, versions, code_digest()])


def trace_text(traced: Traced) -> str:
    """The text of a trace, for `read_trace`."""
    bindings = [[b.name, b.source, b.permute, b.bits] for b in traced.bindings]
    return json.dumps([show(traced.program), bindings, traced.arguments, traced.operators])


def read_trace(text: str, code: Callable[..., Any]) -> Traced:
    """The trace in a file.

    Raises:
        ValueError: the file is damaged.
        PrismError: it has no program.
    """
    try:
        plain: Any = json.loads(text)
        program, bindings, arguments, operators = plain
        read = tuple(Binding(str(n), str(source), tuple(map(int, o)), str(bits)) for n, source, o, bits in bindings)
        return Traced(parse_program(str(program)), read, code, tuple(map(str, arguments)), operators=str(operators))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
