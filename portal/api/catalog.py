"""Route of the catalog for administrators: the source file of each entry, and problems with
files.
"""

from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portal.context import AppContext
from portal.services.catalog.available import check_app, check_environment
from portal.services.jobs import prepare
from portal.web.dependencies import ContextDep, Reader
from spawner.catalog.app import App
from spawner.catalog.environment import Environment
from spawner.catalog.template import Template

router = APIRouter(prefix="/admin", tags=["admin"])


class CatalogFile(BaseModel):
    """An environment, a template or an app, and the file it was read from.

    `origin` distinguishes files shipped with this software from the site's own.
    """

    name: str
    title: str
    file: str
    origin: Literal["shipped", "site"]
    available: bool
    unavailable_reason: str | None


class CatalogOut(BaseModel):
    """The catalog. `problems` are lines of the form `file: field: what is wrong`.

    A file with a problem is used in its last valid version; if it never was valid, it is not in the
    lists.
    """

    environments: list[CatalogFile]
    templates: list[CatalogFile]
    apps: list[CatalogFile]
    problems: list[str]


@router.get("/catalog")
def admin_catalog(_reader: Reader, context: ContextDep) -> CatalogOut:
    """Return the catalog in use now. Changed files are read again within seconds."""
    snapshot = context.catalog.snapshot
    return CatalogOut(
        environments=[
            _to_file(context, item.file, item.value, check_environment(context, item.value))
            for item in snapshot.environments.values()
            if item.value
        ],
        templates=[
            _to_file(context, item.file, item.value, prepare.check_template(context, item.value))
            for item in snapshot.templates.values()
            if item.value
        ],
        apps=[
            _to_file(context, item.file, item.value, check_app(context, item.value))
            for item in snapshot.apps.values()
            if item.value
        ],
        problems=list(context.catalog.problems),
    )


def _to_file(
    context: AppContext,
    file: Path,
    shown: Environment | Template | App,
    usable: tuple[bool, str | None],
) -> CatalogFile:
    return CatalogFile(
        name=shown.name,
        title=shown.title,
        file=str(file),
        origin="site" if context.catalog.is_of_site(file) else "shipped",
        available=usable[0],
        unavailable_reason=usable[1],
    )
