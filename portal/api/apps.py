"""Route of the catalog's apps, for pages that offer them before a session is chosen."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portal.web.dependencies import ContextDep, CurrentUser
from spawner.catalog.app import resolve_programs

router = APIRouter(tags=["environments"])


class CatalogAppOut(BaseModel):
    """An app that this site declares.

    `input` is what starting it needs, `extensions` the endings of names that it accepts; empty: any
    file. `environments` are those whose sessions offer it; a session that was started before the
    app was declared does not.
    """

    name: str
    title: str
    description: str
    input: Literal["file", "command"] | None
    extensions: list[str]
    environments: list[str]


class CatalogAppsOut(BaseModel):
    """The apps of this site."""

    items: list[CatalogAppOut]


@router.get("/apps")
def list_apps(_user: CurrentUser, context: ContextDep) -> CatalogAppsOut:
    """Return all apps of this site that sessions of an environment offer, sorted by name.

    An app whose program is still to be installed in `app_dir` is not among them.
    """
    environments = context.catalog.environments.values()
    found = [
        CatalogAppOut(
            name=app.name,
            title=app.title,
            description=app.description,
            input=app.input,
            extensions=list(app.extensions),
            environments=[each.name for each in environments if app.is_offered_in(each)],
        )
        for app in resolve_programs(context.catalog.apps.values(), context.settings.app_dir)
    ]
    return CatalogAppsOut(items=[app for app in found if app.environments])
