"""Types of settings that more than one file of them uses."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
