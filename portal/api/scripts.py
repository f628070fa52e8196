"""Route that imports a script written for sbatch into the form of a job."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn
from portal.errors import FieldError, invalid_input
from portal.web.dependencies import CurrentUser
from spawner.catalog.jobscript import MAX_SCRIPT_BYTES
from spawner.catalog.own_script import ScriptRefused, check_text
from spawner.catalog.sbatch_import import ImportedScript, import_script

router = APIRouter(tags=["scripts"])


class ScriptIn(BaseModel):
    """A script with #SBATCH lines."""

    model_config = ConfigDict(extra="forbid")

    script: Annotated[str, Field(min_length=1)]


class ImportedOptionOut(BaseModel):
    """An option of an #SBATCH line: turned into a field, passed on to Slurm, or left out.

    `note`: why it was left out, or how the field differs from the option.
    """

    line: int
    text: str
    outcome: Literal["field", "passed", "left_out"]
    note: str | None


class ImportedScriptOut(BaseModel):
    """The script without the options that became fields, and the values of these fields.

    Options that were left out stay in the script as comments (`##SBATCH`).
    """

    script: str
    name: str | None
    resources: dict[str, str | int | float]
    options: list[ImportedOptionOut]


@router.post("/scripts/import")
async def import_sbatch_script(body: ScriptIn, _user: CurrentUser) -> ImportedScriptOut:
    """Turn the options of a script's #SBATCH lines into the fields of a job.

    Nothing is submitted. A script without #SBATCH lines is returned unchanged, except for Windows
    line endings.
    """
    imported = _import(body.script)
    return ImportedScriptOut(
        script=imported.script,
        name=imported.name,
        resources=_checked(imported.resources),
        options=[ImportedOptionOut(**vars(option)) for option in imported.options],
    )


def _import(script: str) -> ImportedScript:
    try:
        check_text(script, MAX_SCRIPT_BYTES)
        return import_script(script)
    except ScriptRefused as error:
        raise invalid_input([FieldError(error.field, error.message)]) from error


def _checked(resources: dict[str, Any]) -> dict[str, Any]:
    """Return the resources as a job's. All are valid: the importer has the same limits."""
    return JobResourcesIn.model_validate(resources).model_dump(exclude_none=True)
