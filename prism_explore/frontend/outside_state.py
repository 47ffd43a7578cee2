# pyright: basic
# torch's classes are untyped, and values of users have any type.
"""What a call of the code changes outside of its arguments: attributes, closures, globals, lists and dicts.

torch runs the code with tensors without data. A tensor or number that the code holds is a constant of the graph, and
what it assigns in its place would stay there: a tensor without data in the user's object. So the places that the code
can reach are compared after the run, and put back. What a second run would read there decides whether a call depends on
earlier ones.

Attributes of objects, items of lists and dicts, variables of closures and globals that code names are places; what only
functions of other modules or classes reach is not.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

MOST_OBJECTS = 50_000
"""That are visited; a model of a thousand layers has 30,000."""
MOST_ITEMS = 4096
"""Of a list or dict whose items are places; larger ones are data."""
_FOREIGN = ("torch", "numpy", "prism_explore")
"""Packages whose objects and functions hold no state of the user."""
MISSING = object()
"""In the place of an attribute, an item or a global that is not there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where code can put a value outside of its arguments."""

    path: str
    """As a user would write it: `self.state`, `cache['k']`."""
    owner: Any
    """A dict of variables or attributes, a list, a dict, or the cell of a closure."""
    key: Any
    part: Any = None
    """The module whose attribute it is."""

    def value(self) -> Any:
        """What is there now; `MISSING` where nothing is."""
        match self.owner:
            case dict() as owner:
                return owner.get(self.key, MISSING)
            case list() as owner:
                return owner[self.key] if self.key < len(owner) else MISSING
            case cell:
                return _in_cell(cell)

    def put(self, value: Any) -> None:
        """Put a value there; `MISSING` removes what is there. Items of a list are removed from its end."""
        match self.owner:
            case dict() as owner if value is MISSING:
                owner.pop(self.key, None)
            case dict() as owner:
                owner[self.key] = value
            case list() as owner if value is MISSING:
                del owner[self.key :]
            case list() as owner:
                owner[self.key : self.key + 1] = [value]
            case cell if value is MISSING:
                del cell.cell_contents
            case cell:
                cell.cell_contents = value


@dataclass(frozen=True, slots=True)
class Change:
    """What a call puts in the place of another value."""

    place: Place
    before: Any
    after: Any


class OutsideState:
    """The values of all places that the code can reach, when this was made.

    Args:
        code: a function or module.
        has_own_buffers: whether what a module assigns to its buffers is left out, as torch.export has their new values
            as results.
    """

    def __init__(self, code: Callable[..., Any], *, has_own_buffers: bool) -> None:
        self._owners = list(_owners(code, has_own_buffers))
        self._before = {id(owner): {p.key: (p, p.value()) for p in places()} for owner, places in self._owners}

    def place_of(self, value: Any) -> Place | None:
        """Where a value was; None where it was in none of the places."""
        return next((p for b in self._before.values() for p, x in b.values() if x is value), None)

    def changes(self) -> list[Change]:
        """What is different now."""
        found: list[Change] = []
        for owner, places in self._owners:
            before = self._before[id(owner)]
            now = {p.key: p for p in places()}
            for key, place in (now | {k: p for k, (p, _) in before.items()}).items():
                old, new = before[key][1] if key in before else MISSING, place.value()
                if not _is_same(old, new):
                    found.append(Change(place, old, new))
        return found


def put_back(changes: Sequence[Change]) -> None:
    """Put what was there before into each place."""
    for change in reversed(changes):
        change.place.put(change.before)


def put_again(changes: Sequence[Change]) -> list[Any]:
    """Put what a call put into each place, with zeros in the place of tensors without data.

    Returns:
        What was put there.
    """
    import torch
    from torch.utils import _pytree

    def with_data(x: Any) -> Any:
        match x:
            case torch.SymInt() | torch.SymFloat() | torch.SymBool():
                return x.node.hint
            case torch.Tensor():
                return torch.zeros([int(with_data(n)) for n in x.shape], dtype=x.dtype, device=x.device)
            case _:
                return x

    found = [c.after if c.after is MISSING else _pytree.tree_map(with_data, c.after) for c in changes]
    for change, value in zip(changes, found, strict=True):
        change.place.put(value)
    return found


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, bool | int | float | str | bytes | None):
        return type(a) is type(b) and (a == b or (a != a and b != b))
    return a is b


def _in_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value yet
        return MISSING


def _owners(code: Any, has_own_buffers: bool) -> Iterator[tuple[Any, Callable[[], list[Place]]]]:
    """Each owner of places that the code can reach, and what lists its places."""
    import torch

    base = frozenset(vars(torch.nn.Module()))
    seen = dict[int, Any]()
    """What was visited; objects are kept, as another one could get the address of one that is gone."""
    open_values: list[tuple[str, Any, bool]] = [("self", code, has_own_buffers)]
    while open_values and len(seen) < MOST_OBJECTS:
        path, value, is_own = open_values.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        found: list[tuple[Any, Callable[[], list[Place]], bool]] = []
        match value:
            case torch.Tensor() | type() | ModuleType():
                pass
            case torch.nn.Module():
                own, form = vars(value), f"{path}.{{}}"
                found.append((own, partial(_places_of, own, form, value, base), is_own))
                for part in ("_modules",) if is_own else ("_modules", "_parameters", "_buffers"):
                    found.append((own[part], partial(_places_of, own[part], form, value), is_own))
                open_values += [(path, f, False) for f in _functions_of(type(value))]
            case FunctionType():
                if not _is_foreign(value.__module__):
                    found += [(o, places, False) for o, places in _variables(value)]
                    open_values += [(path, x, False) for x in (value.__defaults__, value.__kwdefaults__) if x]
            case MethodType():
                open_values += [("self", value.__self__, is_own), (path, value.__func__, False)]
            case partial():
                open_values += [(path, x, False) for x in (value.func, value.args, value.keywords)]
            case dict():
                if type(value) in (dict, OrderedDict, defaultdict) and len(value) <= MOST_ITEMS:  # others may compute
                    found.append((value, partial(_places_of, value, f"{path}[{{!r}}]"), False))
            case list():
                if type(value) is list and len(value) <= MOST_ITEMS:
                    found.append((value, partial(_items_of, value, path), False))
            case tuple():
                open_values += [(f"{path}[{n}]", x, False) for n, x in enumerate(value)]
            case _ if type(value).__dictoffset__ and not _is_foreign(type(value).__module__):
                found.append((vars(value), partial(_places_of, vars(value), f"{path}.{{}}"), False))
            case _:
                pass
        for owner, places, is_own_part in found:
            if id(owner) not in seen or owner is value:
                seen[id(owner)] = owner
                yield owner, places
                open_values += [(p.path, p.value(), is_own_part) for p in places()]


def _places_of(owner: dict[Any, Any], path: str, part: Any = None, without: Container[Any] = ()) -> list[Place]:
    return [Place(path.format(key), owner, key, part) for key in list(owner) if key not in without]


def _items_of(owner: list[Any], path: str) -> list[Place]:
    return [Place(f"{path}[{n}]", owner, n) for n in range(len(owner))]


def _variables(function: FunctionType) -> Iterator[tuple[Any, Callable[[], list[Place]]]]:
    """The variables of a function's closure, and the globals that its code names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        place = Place(name, cell, None)
        yield cell, lambda place=place: [place]
    names = sorted(_names_in(function.__code__))
    variables: dict[str, Any] = function.__globals__
    for name in names:
        if not isinstance(variables.get(name), type | ModuleType):
            place = Place(name, variables, name)
            # Each name is an owner by itself: the other variables of a module are no concern of this code.
            yield place, lambda place=place: [place]


def _functions_of(kind: type) -> list[Any]:
    """The methods that the user's class and its parents define."""
    return [f for c in kind.__mro__ if not _is_foreign(c.__module__) for f in vars(c).values()]


def _names_in(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return {*code.co_names}.union(*map(_names_in, inner))


def _is_foreign(module: str | None) -> bool:
    package = (module or "").partition(".")[0]
    return package in _FOREIGN or (package in sys.stdlib_module_names and package != "__main__")
