"""How an environment is entered: a container, modules, or a virtualenv; and whether it can be.

`availability` looks at files. Paths are the nodes', and the portal sees them at the same place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

Kind = Literal["apptainer", "modules", "virtualenv"]
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ELSE = "Choose another environment, or tell your administrators."


@dataclass(frozen=True)
class Container:
    """An image, run by Apptainer. `path` is PATH inside; `binds` are folders of the node that are
    seen inside at the same place. `public_image` and `needs` are for one that isn't there."""

    image: Path
    path: str = SYSTEM_PATH
    binds: tuple[str, ...] = ()
    public_image: str | None = None
    needs: str | None = None

    kind: ClassVar[Kind] = "apptainer"

    def unavailable(self) -> str | None:
        """Why it can't be entered now, in sentences for its user; None if it can."""
        if not self.image.exists():
            return self._missing()
        if not os.access(self.image, os.R_OK):
            return f"The image of this environment, {self.image.name}, can't be read. {_ELSE}"
        return None

    def _missing(self) -> str:
        name = self.image.name
        if self.public_image is None:
            return f"The image of this environment, {name}, is not there. {_ELSE}"
        needs = f" It needs {self.needs}." if self.needs else ""
        return (
            f"The image of this environment can't be made from public packages.{needs} An"
            f" administrator can import {self.public_image} as {name}; until then choose another"
            " environment."
        )


@dataclass(frozen=True)
class Modules:
    """Environment modules, loaded on the node in this order. `init` is the file that makes the
    command `module` known to bash there; None where the site has said none."""

    names: tuple[str, ...]
    init: Path | None

    kind: ClassVar[Kind] = "modules"

    def unavailable(self) -> str | None:
        """Why it can't be entered now. Whether the modules are there only the node knows."""
        if self.init is None:
            return f"This portal is not set up for environment modules (modules_init). {_ELSE}"
        if not os.access(self.init, os.R_OK):
            return f"The file that starts environment modules, {self.init}, is not there. {_ELSE}"
        return None


@dataclass(frozen=True)
class Virtualenv:
    """A folder with programs in bin/: a virtualenv, or a conda environment. `path` follows it in
    PATH."""

    prefix: Path
    path: str = SYSTEM_PATH

    kind: ClassVar[Kind] = "virtualenv"

    @property
    def programs(self) -> Path:
        return self.prefix / "bin"

    def unavailable(self) -> str | None:
        """Why it can't be entered now."""
        if not self.programs.is_dir():
            return f"The folder of this environment, {self.prefix}, is not there. {_ELSE}"
        if not os.access(self.programs, os.R_OK | os.X_OK):
            return f"The folder of this environment, {self.prefix}, can't be read. {_ELSE}"
        return None


Runtime = Container | Modules | Virtualenv
