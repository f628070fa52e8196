"""The values that request fields accept, for every route."""

import types
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from portal.web.fields import DateTime, Line, Lines
from tests.portal.api.test_routes import routes


def body_models() -> dict[str, type[BaseModel]]:
    """Return the models of all request bodies, including nested ones."""
    found: dict[str, type[BaseModel]] = {}
    for route in routes():
        field = getattr(route, "body_field", None)
        if field is not None:
            _collect(field.field_info.annotation, found)
    return found


def _collect(annotation: Any, found: dict[str, type[BaseModel]]) -> None:
    for kind in _types(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__name__ not in found:
            found[kind.__name__] = kind
            for field in kind.model_fields.values():
                _collect(field.annotation, found)


def _types(annotation: Any) -> Iterator[Any]:
    inner = typing.get_args(annotation)
    if not inner or typing.get_origin(annotation) is typing.Literal:
        yield annotation
    for one in inner:
        yield from _types(one)


def _plain_kinds(annotation: Any) -> set[Any]:
    """Return the types of a field, without container types."""
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return {kind for one in typing.get_args(annotation) for kind in _plain_kinds(one)}
    if typing.get_origin(annotation) is Annotated:
        return _plain_kinds(typing.get_args(annotation)[0])
    return {annotation}


def _takes(field: FieldInfo, value: object) -> bool:
    whole: Any = field.annotation
    if field.metadata:
        whole = Annotated[whole, *field.metadata]
    try:
        TypeAdapter(whole).validate_python(value)
    except ValidationError:
        return False
    return True


def test_numbers_and_switches_in_bodies_are_not_texts() -> None:
    models = body_models()
    assert {"SetupIn", "ResourcesIn", "AnnouncementIn", "LimitIn"} <= models.keys()
    lax = [
        f"{name}.{attribute}"
        for name, model in models.items()
        for attribute, field in model.model_fields.items()
        if _plain_kinds(field.annotation) & {int, bool, float}
        and str not in _plain_kinds(field.annotation)
        and (_takes(field, "1") or _takes(field, "true"))
    ]
    assert sorted(lax) == []


DATE_TIME = TypeAdapter(DateTime)


@pytest.mark.parametrize(
    "value",
    [0, 0.5, "0", "1700000000", True, None, "2026-01-31", "2026-01-31T08:00:00", "now"],
)
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(ValidationError):
        DATE_TIME.validate_python(value)


def test_a_time_is_in_utc() -> None:
    found = DATE_TIME.validate_python("2026-01-31T08:00:00+02:00")
    assert (found, found.tzinfo) == (datetime(2026, 1, 31, 6, tzinfo=UTC), UTC)


def test_texts_keep_what_can_be_seen() -> None:
    line, lines = TypeAdapter(Line), TypeAdapter(Lines)
    for text in ("维护　公告", "مرحبا", "👩‍🔬", "a b"):
        assert line.validate_python(text) == text
    assert lines.validate_python("a\r\n\tb") == "a\r\n\tb"
    for hidden in ("\0", "\n", "\x7f", "\x85", "\u202e", "\u2069", "\u2028", "\ud800"):
        with pytest.raises(ValidationError):
            line.validate_python(f"a{hidden}b")
