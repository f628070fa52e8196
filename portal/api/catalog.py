"""The catalog for administrators: what comes from which file, and what is wrong with files."""

from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.deps import PartsDep, Reader
from portal.parts import Parts
from portal.services.catalog.available import availability
from portal.services.jobs import recipes
from spawner.catalog import Environment
from spawner.templates import Template

router = APIRouter(prefix="/admin", tags=["admin"])


class CatalogFile(BaseModel):
    """An environment or a template, and the file it was read from; `origin` says whether that is
    the one this software came with or the site's own."""

    name: str
    title: str
    file: str
    origin: Literal["shipped", "site"]
    available: bool
    unavailable_reason: str | None


class CatalogOut(BaseModel):
    """`problems` are lines of the form `file: field: what is wrong`. A file with a problem is used
    as it last was without one; if it never was, it is not in the lists."""

    environments: list[CatalogFile]
    templates: list[CatalogFile]
    problems: list[str]


@router.get("/catalog")
def admin_catalog(_reader: Reader, parts: PartsDep) -> CatalogOut:
    """The catalog as it is used now. Changed files are read again within seconds."""
    stock = parts.catalog.stock
    return CatalogOut(
        environments=[
            _file(parts, item.file, item.value, availability(parts, item.value))
            for item in stock.environments.values()
            if item.value
        ],
        templates=[
            _file(parts, item.file, item.value, recipes.availability_of(parts, item.value))
            for item in stock.templates.values()
            if item.value
        ],
        problems=list(parts.catalog.problems),
    )


def _file(
    parts: Parts, file: Path, shown: Environment | Template, usable: tuple[bool, str | None]
) -> CatalogFile:
    return CatalogFile(
        name=shown.name,
        title=shown.title,
        file=str(file),
        origin="site" if parts.catalog.is_of_site(file) else "shipped",
        available=usable[0],
        unavailable_reason=usable[1],
    )
