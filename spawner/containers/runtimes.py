"""Ways to enter an environment (container, modules or virtualenv), and checks of availability.

`unavailable` inspects files. Paths are the nodes', and the portal sees them at the same place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from spawner.containers import image_packages

Kind = Literal["apptainer", "modules", "virtualenv"]
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ELSE = "Choose another environment, or contact your administrators."


@dataclass(frozen=True)
class Container:
    """Image run by Apptainer.

    `path` is PATH inside; `binds` are folders of the node that appear inside at the same path.
    `public_image` and `needs` describe how to obtain a missing image.
    """

    image: Path
    path: str = SYSTEM_PATH
    binds: tuple[str, ...] = ()
    public_image: str | None = None
    needs: str | None = None

    kind: ClassVar[Kind] = "apptainer"

    def unavailable(self) -> str | None:
        """Return why it cannot be entered now, as sentences for the user; None if it can."""
        if not self.image.exists():
            return self._explain_missing()
        if not os.access(self.image, os.R_OK):
            return f"The image of this environment, {self.image.name}, can't be read. {_ELSE}"
        return None

    def versions(self) -> Mapping[str, str]:
        """Return the versions of its packages, as far as they are known."""
        return image_packages.versions_of(self.image)

    def _explain_missing(self) -> str:
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
    """Environment modules, loaded on the node in this order.

    `init` is the file that defines the command `module` for bash there; None if the site has not
    configured it.
    """

    names: tuple[str, ...]
    init: Path | None

    kind: ClassVar[Kind] = "modules"

    def unavailable(self) -> str | None:
        """Return why it cannot be entered now; only the node can check the modules themselves."""
        if self.init is None:
            return f"This portal is not set up for environment modules (modules_init). {_ELSE}"
        if not os.access(self.init, os.R_OK):
            return f"The file that starts environment modules, {self.init}, is not there. {_ELSE}"
        return None

    def versions(self) -> Mapping[str, str]:
        """Return an empty mapping: only the node knows the versions."""
        return {}


@dataclass(frozen=True)
class Virtualenv:
    """Folder with programs in bin/: a virtualenv or conda environment.

    PATH is `prefix`/bin followed by `path`.
    """

    prefix: Path
    path: str = SYSTEM_PATH

    kind: ClassVar[Kind] = "virtualenv"

    @property
    def programs(self) -> Path:
        return self.prefix / "bin"

    def unavailable(self) -> str | None:
        """Return why it cannot be entered now."""
        if not self.programs.is_dir():
            return f"The folder of this environment, {self.prefix}, is not there. {_ELSE}"
        if not os.access(self.programs, os.R_OK | os.X_OK):
            return f"The folder of this environment, {self.prefix}, can't be read. {_ELSE}"
        return None

    def versions(self) -> Mapping[str, str]:
        """Return an empty mapping: the folder is not searched."""
        return {}


Runtime = Container | Modules | Virtualenv
