"""A context for tests that use only parts of it."""

from dataclasses import MISSING, fields
from typing import Any

from portal.context import AppContext


def partial_context(**parts: Any) -> AppContext:
    """Return a context with these parts; other required ones are None."""
    required = (
        one.name
        for one in fields(AppContext)
        if one.default is MISSING and one.default_factory is MISSING
    )
    return AppContext(**{**dict.fromkeys(required), **parts})
