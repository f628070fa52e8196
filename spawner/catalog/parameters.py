"""Validation of a job's parameters against the template's JSON Schema, with messages for users.

Pure.

A valid value is safe to insert into a script by `launch_files.quote`; the script's form is decided
elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema

MAX_TEXT = 4096
MAX_ITEMS = 1000
Problem = tuple[str, str]
"""The field, `parameters.NAME`, and a sentence for its user."""

_KINDS = {
    "number": "a number",
    "integer": "a whole number",
    "string": "a string",
    "boolean": "yes or no",
    "array": "a list",
}


def check_values(
    schema: Mapping[str, Any], submitted: object
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the values with defaults filled in, and the problems.

    If there are problems, the values must not be used. `schema` is a template's: an object whose
    properties are the parameters.
    """
    if not isinstance(submitted, Mapping):
        return {}, [("parameters", "The parameters must be an object of names and values.")]
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    problems = [
        (f"parameters.{_printable(name)}", "This template has no such parameter.")
        for name in submitted
        if name not in properties
    ]
    values: dict[str, Any] = {}
    for name, rule in properties.items():
        if name not in submitted and "default" not in rule:
            problems.append((f"parameters.{name}", f"{rule['title']} must be filled in."))
            continue
        values[name] = restore_integers(submitted.get(name, rule.get("default")), rule)
        problem = next(find_problems(values[name], rule), None)
        if problem:
            problems.append((f"parameters.{name}", f"{rule['title']} {problem}."))
    return values, problems


def restore_integers(value: object, rule: Mapping[str, Any]) -> Any:
    """Return the value with whole floats as int where the rule permits: JSON has 5.0 for 5 too."""
    if isinstance(value, list):
        return [restore_integers(item, rule.get("items", {})) for item in value]
    if "integer" in permitted_types(rule) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def permitted_types(rule: Mapping[str, Any]) -> list[str]:
    """Return the types that a rule permits."""
    kinds: str | list[str] = rule.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def find_problems(value: object, rule: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of one value, each as the end of a sentence that begins with its title."""
    limits = _add_limits(rule)
    errors = list(jsonschema.Draft202012Validator(limits).iter_errors(value))
    for error in sorted(errors, key=lambda error: error.validator != "type"):
        path = error.absolute_path
        element = f"is wrong in element {path[0] + 1}, which " if path else ""
        yield f"{element}{_format_error(error, rule)}"
    if not errors:
        yield from _find_unwritable(value)


def _add_limits(rule: Mapping[str, Any]) -> dict[str, Any]:
    limits = dict(rule)
    kinds = permitted_types(rule)
    if "string" in kinds:
        limits.setdefault("maxLength", MAX_TEXT)
    if "array" in kinds:
        limits.setdefault("maxItems", MAX_ITEMS)
        limits["items"] = _add_limits(rule["items"])
    return limits


def _find_unwritable(value: object) -> Iterator[str]:
    """Yield values that JSON can represent but a program's argument cannot."""
    if isinstance(value, list):
        for item in value:
            yield from _find_unwritable(item)
    elif isinstance(value, str):
        if "\0" in value:
            yield "has a NUL character, which no program can be given"
        elif any("\ud800" <= character <= "\udfff" for character in value):
            yield "has a character that can't be written in UTF-8"
    elif isinstance(value, float) and not math.isfinite(value):
        yield "must be a finite number"


def _format_error(error: jsonschema.ValidationError, rule: Mapping[str, Any]) -> str:
    limit: Any = error.validator_value
    if error.validator == "type":
        return f"must be {_format_types(limit)}"
    if error.validator == "enum":
        return f"must be one of {', '.join('empty' if c is None else str(c) for c in limit)}"
    if error.validator == "pattern":
        about = rule.get("description")
        hint = f" ({about.rstrip('.')})" if about else ""
        return f"has the wrong format{hint}"
    if limit == 1 and error.validator in _COUNTS:
        return _LIMITS[str(error.validator)].format(limit).removesuffix("s")
    return _LIMITS[str(error.validator)].format(limit)


_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} elements",
    "maxItems": "must have at most {} elements",
    "uniqueItems": "must not have the same element twice",
}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


def _format_types(names: str | list[str]) -> str:
    listed = [names] if isinstance(names, str) else names
    text = " or ".join(_KINDS[name] for name in listed if name != "null")
    return f"{text}, or be left empty" if "null" in listed else text


def _printable(name: object) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(name))[:64]
