"""A property that is computed at its first access and kept in the instance.

It is `functools.cached_property` without its lock, which Python 3.11 takes at every first access and which Python 3.12
removed. Use it in hot loops of one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):
    """A decorator of methods.

    >>> class Tile:
    ...     @lazy_property
    ...     def bytes(self) -> int:
    ...         print("computed")
    ...         return 4096
    >>> tile = Tile()
    >>> tile.bytes + tile.bytes
    computed
    8192
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> lazy_property[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value

    if TYPE_CHECKING:  # an instance may be assigned another value, which goes into its dictionary

        def __set__(self, instance: object, value: T) -> None: ...
