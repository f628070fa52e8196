"""What runs on the nodes without a container: two modules for Lmod, and the site's own
environments that use them. Pure text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cluster.render import TEMPLATES, Cluster, ConfigFile, template

INIT = Path("/etc/profile.d/lmod.sh")  # as Debian's package has it
MODULEPATH = Path("/etc/lmod/modulespath")  # the list of folders that it reads


def render_modules(cluster: Cluster) -> dict[str, ConfigFile]:
    """File name in STATE/etc → what it holds. `modulespath` is bound over Debian's own."""
    folder = f"{cluster.paths.etc}/modules\n"
    return {"modulespath": ConfigFile(folder), **_filled(cluster, "modules", "*/*.lua")}


def render_catalog(cluster: Cluster) -> dict[str, ConfigFile]:
    """File name in STATE/catalog → what it holds."""
    files = _filled(cluster, "catalog", "*.yaml")
    return {name.replace("catalog/", "environments/"): file for name, file in files.items()}


def _filled(cluster: Cluster, kind: str, pattern: str) -> dict[str, ConfigFile]:
    values: Mapping[str, str] = {"science": str(cluster.paths.science)}
    names = [str(path.relative_to(TEMPLATES)) for path in sorted((TEMPLATES / kind).glob(pattern))]
    return {name: ConfigFile(template(name).substitute(values)) for name in names}
