# pyright: basic
# torch's modes are untyped.
"""The user's source lines in a trace that runs the code; torch records them only where it reads the bytecode."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parents[1])


def source_lines() -> Any:
    """A context in which each operator that torch traces gets the line that called it, as its `stack_trace`."""
    import torch
    from torch.fx import traceback
    from torch.overrides import TorchFunctionMode

    of_torch = str(Path(torch.__file__).parent)

    class SourceLines(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            frame: FrameType | None = sys._getframe(1)
            # Code that torch generates has no file.
            while frame is not None and frame.f_code.co_filename.startswith((of_torch, "<string>", "<eval_with")):
                frame = frame.f_back
            if frame is None or frame.f_code.co_filename.startswith(_PACKAGE):
                return func(*args, **(kwargs or {}))
            path, number = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(path, number).strip()
            with traceback.preserve_node_meta():
                stack = f'File "{path}", line {number}, in {frame.f_code.co_name}\n    {text}'
                traceback.current_meta["stack_trace"] = stack
                return func(*args, **(kwargs or {}))

    return SourceLines()
