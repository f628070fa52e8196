"""The response model of paginated lists."""

from typing import Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """One page of a list; `next_cursor` is the cursor of the next page, null on the last one."""

    items: list[T]
    next_cursor: str | None = None
