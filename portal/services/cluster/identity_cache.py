"""Cache of a value that is recomputed only when its inputs are other objects."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class IdentityCache(Generic[T]):
    """The last value, and the very objects that it was computed from. For values that many requests
    derive from the same state of the cluster: they are computed once, not per request.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], T] | None = None
        self._computing = threading.Lock()

    @property
    def last(self) -> T | None:
        """The last value, whatever it was computed from; None before the first."""
        return None if self._last is None else self._last[1]

    def get_or_compute(self, *origins: object, make: Callable[[], T]) -> T:
        """Return the value of `make` for these objects, cached. Other threads wait for it: if all
        computed it, each would take as many times as long.
        """
        if (found := self._find(origins)) is not None:
            return found[1]
        with self._computing:
            if (found := self._find(origins)) is None:
                found = self._last = (origins, make())
        return found[1]

    def _find(self, origins: tuple[object, ...]) -> tuple[tuple[object, ...], T] | None:
        last = self._last
        if last is None or len(last[0]) != len(origins):
            return None
        return last if all(a is b for a, b in zip(last[0], origins, strict=True)) else None
