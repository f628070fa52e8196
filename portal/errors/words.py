"""Conversion of pydantic's validation errors to messages for users. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from portal.errors.base import FieldError

MAX_FIELD_ERRORS = 50

# Messages by pydantic's error type; {…} comes from the error's context.
_MESSAGES = {
    "missing": "This is required.",
    "extra_forbidden": "Unknown field.",
    "int_parsing": "This must be a whole number.",
    "int_type": "This must be a whole number.",
    "int_from_float": "This must be a whole number.",
    "int_parsing_size": "This number is too large.",
    "float_parsing": "This must be a number.",
    "float_type": "This must be a number.",
    "finite_number": "This must be a number.",
    "string_type": "This must be text.",
    "string_too_long": "This may have at most {max_length} characters.",
    "string_too_short": "This must have at least {min_length} characters.",
    "string_pattern_mismatch": "This doesn't have the required format.",
    "string_unicode": "This isn't valid text.",
    "bool_type": "This must be true or false.",
    "bool_parsing": "This must be true or false.",
    "greater_than": "This must be greater than {gt}.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than": "This must be less than {lt}.",
    "less_than_equal": "This may be at most {le}.",
    "literal_error": "This must be one of: {expected}.",
    "enum": "This must be one of: {expected}.",
    "datetime_type": "This must be a time such as 2026-01-31T08:00:00Z.",
    "datetime_parsing": "This must be a time such as 2026-01-31T08:00:00Z.",
    "datetime_from_date_parsing": "This must be a time such as 2026-01-31T08:00:00Z.",
    "timezone_aware": "This time needs a time zone, for example 2026-01-31T08:00:00Z.",
    "uuid_parsing": "This isn't a valid ID.",
    "uuid_type": "This isn't a valid ID.",
    "json_invalid": "The request isn't valid JSON.",
    "json_type": "The request isn't valid JSON.",
    "model_attributes_type": "This must be an object with named fields.",
    "model_type": "This must be an object with named fields.",
    "dict_type": "This must be an object with named fields.",
    "list_type": "This must be a list.",
    "too_long": "This may have at most {max_length} entries.",
    "too_short": "This must have at least {min_length} entries.",
}


def field_errors(problems: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """Convert pydantic's errors to field errors: `("body", "resources", "gpus")` →
    `resources.gpus`.

    The submitted values are never repeated.
    """
    return [
        FieldError(_field_name(item["loc"], item["type"]), _describe(item))
        for item in problems[:MAX_FIELD_ERRORS]
    ]


def _field_name(loc: Sequence[Any], kind: str) -> str:
    source, *rest = loc or ("body",)
    if kind == "json_invalid" or not rest:
        return str(source)
    return ".".join(str(part)[:100] for part in rest)


def _describe(item: Mapping[str, Any]) -> str:
    if item["type"] == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "string_too_short" and item["ctx"]["min_length"] == 1:
        return _MESSAGES["missing"]
    words = _MESSAGES.get(item["type"])
    context = {
        key: f"{value:g}" if isinstance(value, float) else value
        for key, value in item.get("ctx", {}).items()
    }
    return words.format(**context) if words else f"{item['msg']}."
