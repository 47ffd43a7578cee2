# pyright: basic
# torch's graphs and modes are untyped.
"""A trace of code whose calls do not depend on earlier ones.

torch.export reads a tensor that the code holds as a constant, and a number as part of the program. Where a call changes
them, the graph would give the result of the first call in every call.

    tensors             a call that reads one and replaces it, or writes into it, depends on earlier ones
    numbers, None,      the code is traced again with what the first call left there; another graph depends on earlier
    lengths of lists    calls, except where what differs are tensors that are computed once and kept
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.lower_aten import operator_name, user_line
from prism_explore.frontend.outside_state import Change, OutsideState, Place, put_again, put_back


@dataclass(frozen=True, slots=True)
class _Trace:
    program: Any
    """torch's."""
    changes: tuple[Change, ...]
    """What was different at the end of the call."""
    computed: tuple[Any, ...]
    """The tensors of these changes that depend on arguments."""

    @property
    def outside(self) -> list[Any]:
        """The tensors that are no arguments, whose values it reads."""
        is_read = {n.name for n in self.program.graph.nodes if n.users}
        specs = self.program.graph_signature.input_specs
        return [x for s in specs if s.arg.name in is_read and (x := self.program.constants.get(s.target)) is not None]


def stateless_trace(
    export: Callable[[], Any], module: Any, code: Callable[..., Any], name: str, *, may_replace: bool
) -> Any:
    """torch's program; what the trace changed outside of the arguments is as before.

    Args:
        export: traces `module`.
        module: that is called.
        code: the user's, which `module` calls or is.
        name: of the code.
        may_replace: whether a module may replace tensors that it reads; their new values are further results, as those
            of buffers are.

    Raises:
        UnsupportedOperator: a call depends on earlier ones.
    """
    import torch

    state = OutsideState(code, has_own_buffers=isinstance(code, torch.nn.Module))
    first = _traced(export, module, state)
    _check_writes(first, state, name)
    outside = first.outside
    replaced = [c.place for c in first.changes if any(c.before is x for x in outside)]
    own = set(code.modules()) if isinstance(code, torch.nn.Module) else set()
    if replaced and may_replace and all(place.part in own for place in replaced):
        with _as_buffers(replaced):
            return stateless_trace(export, module, code, name, may_replace=False)
    if replaced:
        raise UnsupportedOperator(
            f"{name} reads {replaced[0].path} and assigns a new tensor to it, so that a call depends on earlier ones; "
            f"take it as an argument and return the new one{_other_way(replaced[0], own)}"
        )
    kept = [c for c in first.changes if not isinstance(c.before, torch.Tensor)]
    if kept:
        _check_later_calls(first, kept, lambda: _traced(export, module, state), state, name)
    return first.program


def _other_way(place: Place, own: Container[Any]) -> str:
    if place.part is None:
        return ""
    return ", or take px.WholeProgram(...) " + ("with the same arguments" if place.part in own else "of the module")


def _traced(export: Callable[[], Any], module: Any, state: OutsideState) -> _Trace:
    import torch

    changes: list[Change] = []
    computed: dict[int, Any] = {}
    buffers: dict[Any, dict[str, Any]] = {}
    start = state.changes()
    # torch.export interprets a graph, and calls only the modules in it.
    is_graph = isinstance(module, torch.fx.GraphModule)
    called = list(module.modules()) if is_graph else [module]

    def before(part: Any, args: Any, kwargs: Any) -> None:
        computed.update((id(x), x) for x in _tensors((args, kwargs)))
        buffers.update((p, dict(p._buffers)) for p in ([part] if is_graph else part.modules()))

    def after(part: Any, *_: Any) -> None:
        changes[:] = state.changes()  # torch.export restores attributes of modules at its end
        _write_replaced({p: buffers[p] for p in ([part] if is_graph else part.modules()) if p is not module})

    hooks = [part.register_forward_pre_hook(before, with_kwargs=True) for part in called]
    hooks += [part.register_forward_hook(after) for part in called]
    try:
        with _computed_tensors(computed):
            program = export()
    finally:
        for hook in hooks:
            hook.remove()
        put_back(state.changes())
        for change in start:
            change.place.put(change.after)
    left = _tensors([c.after for c in changes])
    return _Trace(program, tuple(changes), tuple(x for x in left if id(x) in computed))


def _write_replaced(buffers: Mapping[Any, Mapping[str, Any]]) -> None:
    """Write into the buffers of modules what a call assigned to them: torch.export sees only that of the outermost one.

    Args:
        buffers: of each module, before the call.

    Raises:
        UnsupportedOperator: what was assigned has another shape or dtype.
    """
    replaced = [
        (part, name, old, new)
        for part, before in buffers.items()
        for name, old in before.items()
        if (new := part._buffers.get(name)) is not old and old is not None and new is not None
    ]
    olds = [old for _, _, old, _ in replaced]
    values = [new.clone() if any(new is old for old in olds) else new for *_, new in replaced]
    for (part, name, old, new), value in zip(replaced, values, strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise UnsupportedOperator(
                f"{type(part).__name__} assigns {new.dtype} {tuple(new.shape)} to its buffer {name!r}, which is "
                f"{old.dtype} {tuple(old.shape)}; take it as an argument and return the new one"
            )
        old.copy_(value)
        part._buffers[name] = old


def _check_writes(trace: _Trace, state: OutsideState, name: str) -> None:
    """Check that the code writes into no tensor that it holds.

    Raises:
        UnsupportedOperator: it does, and the tensor is no buffer of the module.
    """
    held = {
        s.arg.name: trace.program.constants.get(s.target)
        for s in trace.program.graph_signature.input_specs
        if s.kind.name == "CONSTANT_TENSOR"
    }
    for node in trace.program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable or not hasattr(node.args[0], "op"):
            continue
        written: Any = node.args[0]
        while written.op == "call_function" and _is_view(written):
            written = written.args[0]
        if written.name in held and (place := state.place_of(held[written.name])) is not None:
            raise UnsupportedOperator(
                f"{name} writes into {place.path} ({operator_name(node.target)}), so that a call depends on earlier "
                f"ones; take it as an argument and return the new value{_other_way(place, ())}; used at "
                f"{user_line(node) or 'an unknown line'}"
            )


def _is_view(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    returned = schema.returns[0] if schema is not None and schema.returns else None
    return returned is not None and returned.alias_info is not None


def _check_later_calls(
    first: _Trace, kept: Sequence[Change], trace: Callable[[], _Trace], state: OutsideState, name: str
) -> None:
    """Check that later calls compute what the first one does, though it changes numbers, None, or lengths of lists.

    Raises:
        UnsupportedOperator: they do not.
    """
    earlier, changes = first, list(kept)
    try:
        for _ in range(2):
            left, tensors = _tensors([c.after for c in changes]), _tensors(put_again(changes))
            depends = {n for n, x in enumerate(left) if any(x is y for y in earlier.computed)}
            later = trace()
            read = {n for n, x in enumerate(tensors) if any(x is y for y in later.outside)}
            if not read & depends and str(later.program.graph) == str(earlier.program.graph):
                return
            if read & depends or not read:
                break
            # What reads what was kept is compared with a third call, which reads the same.
            earlier, changes = later, [c for c in later.changes if not isinstance(c.before, _tensor_class())]
    except UnsupportedOperator:
        raise
    except Exception as failure:
        raise UnsupportedOperator(
            f"{name} changes {_paths(kept)} at each call, and cannot be traced as the second call would run "
            f"({type(failure).__name__}); take it as an argument and return the new value"
        ) from failure
    finally:
        put_back(state.changes())
    raise UnsupportedOperator(
        f"{name} reads {_paths(kept)} and changes it, so that a call depends on earlier ones; take it as an argument "
        "and return the new value"
    )


def _paths(changes: Sequence[Change]) -> str:
    paths = list(dict.fromkeys(c.place.path for c in changes))
    return ", ".join(paths[:3]) + (" and others" if len(paths) > 3 else "")


def _tensor_class() -> Any:
    import torch

    return torch.Tensor


def _tensors(values: Any) -> list[Any]:
    from torch.utils import _pytree

    return [x for x in _pytree.tree_leaves(values) if isinstance(x, _tensor_class())]


def _computed_tensors(known: dict[int, Any]) -> Any:
    """A context in which what is computed from known tensors, by their identity, becomes known."""
    from torch.overrides import TorchFunctionMode

    class ComputedTensors(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            read = _tensors((args, kwargs))
            if any(id(x) in known for x in read):
                name = str(getattr(func, "__name__", ""))
                is_written = name == "__setitem__" or name.startswith("__i") or name.endswith("_")
                known.update((id(x), x) for x in _tensors((result, read[:1] if is_written else ())))
            return result

    return ComputedTensors()


@contextmanager
def _as_buffers(places: Sequence[Place]) -> Generator[None]:
    """Attributes of modules as buffers meanwhile: torch.export has the new values of buffers as results."""
    for place in places:
        tensor = getattr(place.part, place.key)
        delattr(place.part, place.key)
        place.part.register_buffer(place.key, tensor, persistent=False)
    try:
        yield
    finally:
        for place in places:
            tensor = getattr(place.part, place.key)
            delattr(place.part, place.key)
            setattr(place.part, place.key, tensor)
