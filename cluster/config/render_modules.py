"""Rendering of environments without containers: two Lmod modules, and the catalog entries for them.

Pure: text only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cluster.config.render import TEMPLATES, Cluster, ConfigFile, template

INIT = Path("/etc/profile.d/lmod.sh")  # its location in Debian's package
MODULEPATH = Path("/etc/lmod/modulespath")  # the list of module folders that it reads


def render_modules(cluster: Cluster) -> dict[str, ConfigFile]:
    """Return the files of STATE/etc by name. `modulespath` is bind-mounted over Debian's."""
    folder = f"{cluster.paths.etc}/modules\n"
    return {"modulespath": ConfigFile(folder), **_render_folder(cluster, "modules", "*/*.lua")}


def render_catalog(cluster: Cluster) -> dict[str, ConfigFile]:
    """Return the files of STATE/catalog by name."""
    files = _render_folder(cluster, "catalog", "*.yaml")
    return {name.replace("catalog/", "environments/"): file for name, file in files.items()}


def _render_folder(cluster: Cluster, kind: str, pattern: str) -> dict[str, ConfigFile]:
    values: Mapping[str, str] = {"science": str(cluster.paths.science)}
    names = [str(path.relative_to(TEMPLATES)) for path in sorted((TEMPLATES / kind).glob(pattern))]
    return {name: ConfigFile(template(name).substitute(values)) for name in names}
