"""The cluster's status, as JSON and as text."""

from __future__ import annotations

from typing import Any

from cluster.config.paths import Paths
from cluster.config.render_portal import bind_dn, ldap_url
from cluster.errors import ClusterError
from cluster.handle import ClusterHandle, notes
from cluster.host import namespaces
from cluster.host.confinement import Confinement, assess
from cluster.host.control import send_command


def status(handle: ClusterHandle) -> dict[str, Any]:
    """Return the complete status as JSON values; paths and addresses also while it is down."""
    cluster, paths = handle.cluster, handle.paths
    addresses = cluster.addresses
    head = namespaces.find_head(paths)
    running = head is not None
    return {
        "up": running and paths.ready.exists(),
        "base_url": addresses.base_url,
        "notebook_url": addresses.notebook_url,
        "tensorboard_url": addresses.tensorboard_url,
        "mode": addresses.mode,
        "subnet": addresses.subnet,
        "head": addresses.head,
        "node_url": addresses.node_url,
        "ports": dict(addresses.ports),
        "notes": notes(cluster),
        "confinement": {
            item.resource: {"confined": item.confined, "detail": item.detail}
            for item in assess(cluster)
        },
        "services": _list_services(paths, head) if head is not None else [],
        "nodes": _list_nodes(handle, running),
        "slurm_conf": str(paths.slurm_conf),
        "ldap": {
            "url": ldap_url(cluster),
            "ldaps_url": f"ldaps://{addresses.head}:{addresses.ports['ldaps']}",
            "ca_file": str(paths.tls / "ca.crt"),
            "suffix": cluster.layout.suffix,
            "bind_dn": bind_dn(cluster.layout),
            "bind_password_file": str(paths.etc / "ldap-portal-password"),
        },
        "log": str(paths.log),
    }


def _list_services(paths: Paths, head: int) -> list[dict[str, Any]]:
    """Return the services as the head's supervisor reports them, with the machine's pids."""
    services: dict[str, dict[str, Any]] = send_command(paths.control(), "status")["services"]
    pids = namespaces.machine_pids(head)
    return [{"name": name, **item, "pid": pids.get(item["pid"])} for name, item in services.items()]


def _list_nodes(handle: ClusterHandle, running: bool) -> list[dict[str, Any]]:
    cluster = handle.cluster
    states = _fetch_slurm_states(handle) if running else {}
    return [
        {
            "name": node.name,
            "address": cluster.addresses.node(index),
            "gpus": node.gpus,
            "gpu_type": node.gpu_type if node.gpus else None,
            "state": states.get(node.name),
            # for experiments that cut the network: ip link set CABLE down
            "cable": handle.paths.cable(index) if cluster.addresses.mode == "veth" else None,
        }
        for index, node in enumerate(cluster.layout.nodes)
    ]


def _fetch_slurm_states(handle: ClusterHandle) -> dict[str, str]:
    """Return each node's state in Slurm, empty if slurmctld does not answer quickly."""
    try:
        render_lines = handle.on_head(
            ["sinfo", "-h", "-N", "-o", "%N %T"], timeout_s=2
        ).splitlines()
    except ClusterError:
        return {}
    return dict(line.split() for line in render_lines)


def _render_table(rows: list[tuple[str, str, str]]) -> str:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"  {a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows)


def render_lines(report: dict[str, Any]) -> str:
    """Render the status as text."""
    if not report["up"]:
        return "down"
    services = [
        (item["name"], item["state"], f"for {item['uptime_s']:.0f} s" if item["pid"] else "")
        for item in report["services"]
    ]
    nodes = [
        (node["name"], node["state"] or "unknown", _describe_gpus(node)) for node in report["nodes"]
    ]
    parts = [
        f"up at {report['base_url']}, notebooks at {report['notebook_url']},"
        f" TensorBoards at {report['tensorboard_url']}",
        f"services\n{_render_table(services)}",
        f"nodes in {report['subnet']}\n{_render_table(nodes)}",
        *(f"note: {note}" for note in report["notes"]),
        *confinement_lines(report),
    ]
    return "\n".join(parts)


def confinement_lines(report: dict[str, Any]) -> list[str]:
    """Render the confinement part of the status."""
    items = report["confinement"].items()
    return [f"jobs' {Confinement(name, **item).line}" for name, item in items]


def _describe_gpus(node: dict[str, Any]) -> str:
    return f"{node['address']}" + (f"  {node['gpus']} × {node['gpu_type']}" if node["gpus"] else "")
