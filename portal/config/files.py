"""Settings of users' files."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveFloat


class FileRoot(BaseModel):
    """A storage location of users' files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    title: Annotated[str, Field(min_length=1, max_length=100)]
    path: Annotated[str, Field(pattern=r"^(~|~?/[^\x00]*)$")]


HOME = FileRoot(name="home", title="Home", path="~")


def _check_unique(roots: list[FileRoot]) -> list[FileRoot]:
    if len({root.name for root in roots}) != len(roots):
        raise ValueError("each needs a different name")
    return roots


FileRoots = Annotated[list[FileRoot], Field(min_length=1), AfterValidator(_check_unique)]


class FileSettings(BaseModel):
    """The portal's settings of files, a part of all settings."""

    file_roots: FileRoots = [HOME]
    file_quota_command: list[str] = []
    file_trash_days: PositiveFloat = 30.0
    file_upload_days: PositiveFloat = 7.0
