"""Rendering of this cluster's configuration for portal, hub and launcher. Pure: text only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cluster.config.addresses import LOCALHOST
from cluster.config.description import Layout, PresetSpec
from cluster.config.render import Cluster, ConfigFile
from cluster.config.render_modules import INIT

# the first uid of the directory's users; the launcher never acts for a lower one
MIN_UID = 20000
NODE_TABLE = "nodes.yaml"


def render_portal(cluster: Cluster, *, with_pages: bool) -> dict[str, ConfigFile]:
    """Return the files of STATE/etc by name. They contain paths of secret files, but no secrets."""
    return {
        "portal.toml": ConfigFile(toml(portal_settings(cluster, with_pages=with_pages))),
        "hub.toml": ConfigFile(toml(hub_settings(cluster))),
        NODE_TABLE: ConfigFile(node_table(cluster)),
    }


def node_table(cluster: Cluster) -> str:
    """Render the operator's table of nodes.

    A node has only one network here. To show a real cluster's table, the names in the other two
    networks are in a reserved domain (RFC 2606).
    """
    lines = ["# Addresses of the nodes. infiniband and management are examples: see docs/demo.md."]
    for index, node in enumerate(cluster.layout.nodes):
        # in loopback mode all nodes share an address, which is of no use
        shared = cluster.addresses.mode == "loopback"
        in_band = "" if shared else f"in_band: {cluster.addresses.node(index)}, "
        other_addresses = f"infiniband: {node.name}-ib.example, management: {node.name}-bmc.example"
        lines.append(f"{node.name}: {{{in_band}{other_addresses}}}")
    return "\n".join(lines) + "\n"


def launcher_conf(cluster: Cluster) -> str:
    fields = {
        "min_uid": MIN_UID,
        "slurm_bin_dir": "/usr/bin",
        "slurm_conf": str(cluster.paths.slurm_conf),
        "umask": "0022",
    }
    return json.dumps(fields) + "\n"


def home_directory_conf(cluster: Cluster) -> str:
    fields = {
        "base": str(cluster.paths.home),
        "archive": str(cluster.paths.archived_homes),
        "skeleton": "/etc/skel",
        "min_uid": MIN_UID,
    }
    return json.dumps(fields) + "\n"


def portal_settings(cluster: Cluster, *, with_pages: bool) -> dict[str, Any]:
    paths, addresses = cluster.paths, cluster.addresses
    secrets = paths.portal_home / "secrets"
    settings = {
        "public_url": addresses.base_url,
        "notebook_url": addresses.notebook_url,
        "tensorboard_url": addresses.tensorboard_url,
        "node_url": addresses.node_url,
        "listen_host": LOCALHOST,
        "listen_port": addresses.ports["portal"],
        "hub_url": f"http://{LOCALHOST}:{addresses.ports['hub']}",
        "state_dir": str(paths.portal_home),
        "hub_token_file": str(secrets / "hub_token"),
        "internal_secret_file": str(secrets / "internal_secret"),
        "launcher_path": str(paths.launcher),
        "min_uid": MIN_UID,
        "runtime_dir": str(paths.runtime),
        "image_dir": str(paths.images),
        "catalog_dir": str(paths.catalog),
        "app_dir": str(paths.apps),
        "modules_init": str(INIT),
        "image_import_dir": str(paths.imported),
        "image_import_auth_file": str(secrets / "registry_auth.json"),
        "node_table_file": str(paths.etc / NODE_TABLE),
        **_package_settings(cluster),
        **_registry_settings(cluster),
        **_slurm_settings(cluster),
        **_directory_settings(cluster),
        **_home_settings(cluster),
    }
    if with_pages:
        settings["frontend_dir"] = str(paths.app / "frontend" / "dist")
    if cluster.layout.most_gpus:
        settings["notice"] = (
            "A demonstration on one machine: its GPUs are device nodes without hardware."
        )
    settings["presets"] = [_to_preset_setting(preset) for preset in cluster.layout.presets]
    return settings


def _package_settings(cluster: Cluster) -> dict[str, Any]:
    """Return the setting of the package index for pip on the nodes."""
    url = cluster.addresses.package_url
    return {"pip_index_url": url} if url else {}


def _registry_settings(cluster: Cluster) -> dict[str, Any]:
    """Return the setting that permits a plain-HTTP registry for trials.

    A cluster created by an older version has no port for it.
    """
    port = cluster.addresses.ports.get("registry")
    return {"image_import_plain_registries": [f"{LOCALHOST}:{port}"]} if port else {}


def _slurm_settings(cluster: Cluster) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "cluster_name": cluster.layout.name,
        "slurm_conf": str(cluster.paths.slurm_conf),
    }
    gpu_nodes = {node.name for node in cluster.layout.nodes if node.gpus}
    partitions = cluster.layout.partitions
    default = next((part.name for part in partitions if part.default), None)
    with_gpus = [part.name for part in partitions if gpu_nodes and gpu_nodes >= set(part.nodes)]
    without = [part.name for part in partitions if not gpu_nodes & set(part.nodes)]
    if default:
        settings["default_partition"] = default
        settings["service_partition"] = without[0] if without else default
    if with_gpus:
        settings["default_gpu_partition"] = with_gpus[0]
    if cluster.layout.accounts:
        settings["default_slurm_account"] = cluster.layout.accounts[0].name
    return settings


def _directory_settings(cluster: Cluster) -> dict[str, Any]:
    layout, addresses = cluster.layout, cluster.addresses
    everyone, *_ = (group.name for group in layout.groups)
    ldaps = f"ldaps://{addresses.host('directory')}:{addresses.ports['ldaps']}"
    return {
        "ldap_urls": [ldap_url(cluster), ldaps],
        "ldap_start_tls": True,
        "ldap_ca_file": str(cluster.paths.tls / "ca.crt"),
        "ldap_bind_dn": bind_dn(layout),
        "ldap_bind_password_file": str(
            cluster.paths.portal_home / "secrets" / "ldap_bind_password"
        ),
        "ldap_write_dn": bind_dn(layout),
        "ldap_write_password_file": str(
            cluster.paths.portal_home / "secrets" / "ldap_bind_password"
        ),
        "ldap_home_template": f"{cluster.paths.home}/{{username}}",
        "ldap_user_base": f"ou=people,{layout.suffix}",
        "ldap_group_base": f"ou=groups,{layout.suffix}",
        "ldap_admin_groups": ["portal-admins"],
        "ldap_user_groups": [everyone],
        "default_login_group": everyone,
    }


def _home_settings(cluster: Cluster) -> dict[str, Any]:
    program = ["sudo", "-n", str(cluster.paths.home_directory)]
    fields = ["{username}", "{uid}", "{gid}", "{home}"]
    return {
        "home_command": [*program, "create", *fields],
        "home_archive_command": [*program, "archive", *fields],
        "home_delete_command": [*program, "delete", *fields],
    }


def ldap_url(cluster: Cluster) -> str:
    return f"ldap://{cluster.addresses.host('directory')}:{cluster.addresses.ports['ldap']}"


def bind_dn(layout: Layout) -> str:
    return f"cn=portal,ou=services,{layout.suffix}"


def _to_preset_setting(preset: PresetSpec) -> dict[str, Any]:
    resources = {
        "partition": preset.partition,
        "gpus": preset.gpus,
        "cpus": preset.cpus,
        "memory_gb": preset.memory_gb,
        "time_limit_minutes": preset.time_limit_minutes,
    }
    texts = {"name": preset.name, "title": preset.title, "description": preset.description}
    return {**texts, "resources": resources}


def hub_settings(cluster: Cluster) -> dict[str, Any]:
    ports, home = cluster.addresses.ports, cluster.paths.hub_home
    return {
        "public_url": cluster.addresses.base_url,
        "notebook_url": cluster.addresses.notebook_url,
        "hub_bind_url": f"http://{LOCALHOST}:{ports['hub']}",
        "node_url": cluster.addresses.node_url,
        "portal_url": f"http://{LOCALHOST}:{ports['portal']}",
        "hub_token_file": str(home / "secrets" / "hub_token"),
        "internal_secret_file": str(home / "secrets" / "internal_secret"),
        "cookie_secret_file": str(home / "secrets" / "cookie_secret"),
        "db_url": f"sqlite:///{home}/hub.db",
        "cookie_name": "portal_session",
    }


def toml(values: Mapping[str, Any]) -> str:
    """Render TOML from plain values, lists of them, and inline tables."""
    return "".join(f"{key} = {_render_value(value)}\n" for key, value in values.items())


def _render_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_render_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{key} = {_render_value(item)}" for key, item in value.items()) + "}"
        )
    return json.dumps(value)  # strings, numbers and booleans are the same in TOML and JSON
