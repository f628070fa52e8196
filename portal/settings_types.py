"""Types of settings that more than one file of them uses, or that want checking of their own."""

import string
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

HOME_PLACES = frozenset({"username", "uid", "gid", "home"})


def _absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


def _home_command(value: list[str]) -> list[str]:
    """Arguments in which `{username}` and the like are filled in, and nothing else."""
    for argument in value:
        try:
            parsed = list(string.Formatter().parse(argument))
        except ValueError as error:
            raise ValueError(f"must have its braces in pairs: {argument[:200]}") from error
        for _, place, form, conversion in parsed:
            if place is not None and (place not in HOME_PLACES or form or conversion):
                known = ", ".join(f"{{{name}}}" for name in sorted(HOME_PLACES))
                raise ValueError(f"can only fill in {known}")
    return value


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
HomeCommand = Annotated[list[str], AfterValidator(_home_command)]
