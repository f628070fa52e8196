"""A value that is made anew only when what it is made from is something else."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """The last value, and the very objects it was made from. For what many ask of the same look at
    the cluster: it is made once, not once for each of them."""

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], T] | None = None

    def of(self, *origins: object, make: Callable[[], T]) -> T:
        """What `make` gave for these objects. Two threads may both make it, and both are right."""
        last = self._last
        if last is not None and len(last[0]) == len(origins):
            before, value = last
            if all(a is b for a, b in zip(before, origins, strict=True)):
                return value
        made = make()
        self._last = (origins, made)
        return made
