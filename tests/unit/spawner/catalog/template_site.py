"""Templates of a site, created by the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spawner.catalog.template import Template, TemplateError, load_template, parameters_schema

SOUND: dict[str, Any] = {
    "title": "Mine",
    "description": "Counts.",
    "environment": "python3",
    "parameters": {"count": {"type": "integer", "title": "Count", "default": 3, "minimum": 1}},
    "script": 'in_env seq "$count"\n',
}
LIST = {"type": "array", "title": "Some", "items": {"type": "integer"}, "default": [1, 2]}


def empty_site(folder: Path) -> Path:
    for name in ("templates", "jobs", "starters"):
        (folder / name).mkdir()
    return folder


def put(site: Path, name: str = "mine", **changes: Any) -> Path:
    path = site / "templates" / f"{name}.yaml"
    fields = {field: value for field, value in (SOUND | changes).items() if value is not ...}
    path.write_text(yaml.safe_dump(fields, allow_unicode=True))
    return path


def problems_of(path: Path, *folders: Path) -> str:
    with pytest.raises(TemplateError) as error:
        load_template(path, [path.parent.parent, *folders])
    assert all(problem.startswith(f"{path}: ") for problem in error.value.problems)
    return str(error.value).replace(f"{path}: ", "")


def template_of(**parameters: dict[str, Any]) -> Template:
    schema = parameters_schema({name: {"title": name, **rule} for name, rule in parameters.items()})
    return Template("t", "T", "…", "python3", "true", parameters=schema)
